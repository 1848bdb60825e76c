"""Nulls: how the value of a measure becomes a p-value."""

from caltest.nulls import cluster, exact, formula, resampled, row_sums
from caltest.nulls.base import Null

REGISTRY: dict[str, Null] = {
    null.key: null
    for null in (
        exact.NULL,
        resampled.CONSISTENCY,
        resampled.BOOTSTRAP,
        formula.ASYMPTOTIC,
        row_sums.CONVOLUTION,
        row_sums.SADDLEPOINT,
        formula.CLOSED_FORM,
        formula.DISTRIBUTION_FREE,
        cluster.NULL,
    )
}

__all__ = ["REGISTRY", "Null"]
