"""Nulls: how the value of a measure becomes a p-value."""

from caltest.nulls import base, cluster, exact, resampled, row_sums
from caltest.nulls.base import Null

REGISTRY: dict[str, Null] = {
    null.key: null
    for null in (
        exact.NULL,
        resampled.CONSISTENCY,
        resampled.BOOTSTRAP,
        base.ASYMPTOTIC,
        row_sums.CONVOLUTION,
        row_sums.SADDLEPOINT,
        base.CLOSED_FORM,
        base.DISTRIBUTION_FREE,
        cluster.NULL,
    )
}

__all__ = ["REGISTRY", "Null"]
