"""Checks of kernels: bandwidths, matrices, numbers of kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from caltest.errors import invalid
from caltest.validation.arrays import Floats, as_numbers, read_only
from caltest.validation.options import check_choice, check_positive

Instance = TypeVar("Instance")

RULES = ("median", "mean")
RELATIVE_TOLERANCE = 1e-10


def check_bandwidth(bandwidth: object) -> str | float:
    """Check a rule or a positive number."""
    if isinstance(bandwidth, str):
        return check_choice(bandwidth, RULES, "bandwidth")
    return check_positive(bandwidth, "bandwidth")


def check_instance(
    value: object, kind: type[Instance], name: str, remedy: str = "see caltest.kernels"
) -> Instance:
    """Check that `value` is a `kind`, not the class itself or something else."""
    if isinstance(value, kind):
        return value
    got = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
    remedy = "add parentheses" if isinstance(value, type) else remedy
    raise invalid(f"{name} must be a {kind.__name__}", got, remedy)


def check_instances(values: object, kind: type[Instance], name: str) -> tuple[Instance, ...]:
    """Check that there is at least one value, and that every one is a `kind`."""
    if not isinstance(values, list | tuple) or not values:
        rule = f"{name} must be a list of at least one {kind.__name__}"
        raise invalid(rule, repr(values), "see caltest.kernels")
    return tuple(check_instance(value, kind, name) for value in values)


def check_psd(matrix: object, name: str) -> Floats:
    """Check a symmetric positive semi-definite matrix."""
    values = as_numbers(matrix, name).astype(np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise invalid(f"{name} must be square", f"shape {values.shape}", "pass an (m, m) array")
    if not np.isfinite(values).all():
        raise invalid(f"{name} must be finite", "nan or infinity", "pass finite numbers")
    size = np.abs(values).max()
    if np.abs(values - values.T).max() > RELATIVE_TOLERANCE * size:
        raise invalid(f"{name} must be symmetric", "an asymmetric matrix", "pass (A + A.T) / 2")
    values = (values + values.T) / 2
    smallest = np.linalg.eigvalsh(values)[0]
    if smallest < -RELATIVE_TOLERANCE * size:
        rule = f"{name} must be positive semi-definite"
        raise invalid(rule, f"smallest eigenvalue {smallest:.3g}", "pass B @ B.T for some B")
    return read_only(values)


def check_order(matrix: Floats, m: int, name: str) -> None:
    """Check that a kernel matrix is as large as the number of classes under the lens."""
    if len(matrix) != m:
        rule = f"{name} must be ({m}, {m}), as the predictions have {m} classes under this lens"
        raise invalid(rule, f"shape {matrix.shape}", "pass one row and column per class")


def check_count(kernels: Sequence[object], m: int, name: str) -> None:
    """Check that there is one kernel for each class under the lens."""
    if len(kernels) != m:
        rule = f"{name} must be {m}, one for each class under this lens"
        raise invalid(rule, f"{len(kernels)}", "pass one scalar kernel per class")
