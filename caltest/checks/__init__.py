"""Argument checks that two or more folders share; others stand beside what they check.

A check returns what it checked, converted and read-only, or raises `InvalidInput` with a message of
three parts: the argument and its rule, the value and its place, the remedy. Rows count from 0.
"""

from caltest.checks.arrays import *
from caltest.checks.options import *
from caltest.checks.schemas import *
from caltest.checks.suspicions import *
