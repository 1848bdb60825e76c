"""Units whose residuals are summed (rows, or cells of equal rows), sums of them, statistics."""

# ruff: noqa: F403 - all names, whichever file they stand in

from caltest.units.sums import *
from caltest.units.units import *
