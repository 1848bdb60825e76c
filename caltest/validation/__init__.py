"""Every argument check there is; nothing else checks.

A check returns what it checked, converted and read-only, or raises `InvalidInput` with a message of
three parts: the argument and its rule, the value and its place, the remedy. Rows count from 0.
"""

from caltest.validation.arrays import as_array, as_numbers, check_column, read_only
from caltest.validation.binning import (
    check_distance,
    check_distances,
    check_optional_integer,
    check_power,
)
from caltest.validation.calibrators import check_binary, check_labels_given
from caltest.validation.kernels import (
    check_bandwidth,
    check_count,
    check_instance,
    check_instances,
    check_order,
    check_psd,
)
from caltest.validation.labels import check_class, check_classes, check_labels, listing
from caltest.validation.lenses import (
    check_callable,
    check_classes_of_groups,
    check_grouping,
    check_induced,
    check_rank,
)
from caltest.validation.locations import check_locations, check_points
from caltest.validation.options import (
    check_choice,
    check_generator,
    check_groups,
    check_integer,
    check_jobs,
    check_level,
    check_not_empty,
    check_not_label,
    check_pair,
    check_positive,
    check_rows,
    check_seed,
    check_separator,
    check_unused,
    check_weights,
)
from caltest.validation.probs import (
    check_logits,
    check_not_classified,
    check_not_swapped,
    check_probs,
)

__all__ = [
    "as_array",
    "as_numbers",
    "check_bandwidth",
    "check_binary",
    "check_callable",
    "check_choice",
    "check_class",
    "check_classes",
    "check_classes_of_groups",
    "check_column",
    "check_count",
    "check_distance",
    "check_distances",
    "check_generator",
    "check_grouping",
    "check_groups",
    "check_induced",
    "check_instance",
    "check_instances",
    "check_integer",
    "check_jobs",
    "check_labels",
    "check_labels_given",
    "check_level",
    "check_locations",
    "check_logits",
    "check_not_classified",
    "check_not_empty",
    "check_not_label",
    "check_not_swapped",
    "check_optional_integer",
    "check_order",
    "check_pair",
    "check_points",
    "check_positive",
    "check_power",
    "check_probs",
    "check_psd",
    "check_rank",
    "check_rows",
    "check_seed",
    "check_separator",
    "check_unused",
    "check_weights",
    "listing",
    "read_only",
]
