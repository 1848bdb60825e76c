"""Units whose residuals are summed (rows, or cells of equal rows), sums of them, statistics."""

from caltest.units.sums import *
from caltest.units.units import *
