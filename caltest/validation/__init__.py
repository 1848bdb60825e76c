"""Argument checks that two or more folders share; others stand beside what they check.

A check returns what it checked, converted and read-only, or raises `InvalidInput` with a message of
three parts: the argument and its rule, the value and its place, the remedy. Rows count from 0.
"""

from caltest.validation.arrays import as_array, as_numbers, check_column, read_only
from caltest.validation.calibrators import check_calibrator
from caltest.validation.labels import check_class, check_classes, check_labels, listing
from caltest.validation.options import (
    check_choice,
    check_finite,
    check_flag,
    check_generator,
    check_groups,
    check_instance,
    check_integer,
    check_jobs,
    check_level,
    check_light_bounds,
    check_not_empty,
    check_not_family,
    check_not_label,
    check_optional_integer,
    check_pair,
    check_positive,
    check_random_state,
    check_rows,
    check_seed,
    check_separator,
    check_share,
    check_tolerance,
    check_unused,
    check_weights,
)
from caltest.validation.probs import (
    check_logits,
    check_not_classified,
    check_not_swapped,
    check_probs,
)
from caltest.validation.schemas import check_schema

__all__ = [
    "as_array",
    "as_numbers",
    "check_calibrator",
    "check_choice",
    "check_class",
    "check_classes",
    "check_column",
    "check_finite",
    "check_flag",
    "check_generator",
    "check_groups",
    "check_instance",
    "check_integer",
    "check_jobs",
    "check_labels",
    "check_level",
    "check_light_bounds",
    "check_logits",
    "check_not_classified",
    "check_not_empty",
    "check_not_family",
    "check_not_label",
    "check_not_swapped",
    "check_optional_integer",
    "check_pair",
    "check_positive",
    "check_probs",
    "check_random_state",
    "check_rows",
    "check_schema",
    "check_seed",
    "check_separator",
    "check_share",
    "check_tolerance",
    "check_unused",
    "check_weights",
    "listing",
    "read_only",
]
