"""Nulls: how the value of a measure becomes a p-value."""

from caltest.nulls import (
    asymptotic,
    bootstrap,
    closed_form,
    cluster,
    consistency,
    convolution,
    distribution_free,
    exact,
    saddlepoint,
)
from caltest.nulls.base import Null

REGISTRY: dict[str, Null] = {
    module.NULL.key: module.NULL
    for module in (
        exact,
        consistency,
        bootstrap,
        asymptotic,
        convolution,
        saddlepoint,
        closed_form,
        distribution_free,
        cluster,
    )
}

__all__ = ["REGISTRY", "Null"]
