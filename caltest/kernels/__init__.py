"""Matrix-valued kernels on the probability simplex."""

# ruff: noqa: F403, F405, PLE0604 - the file of the kernels says in its __all__ what is public

from caltest.kernels import simplex
from caltest.kernels.fitted import FittedKernel
from caltest.kernels.simplex import *

REGISTRY: dict[str, type[ScalarKernel]] = {
    "exponential": Exponential,
    "gaussian": Gaussian,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational-quadratic": RationalQuadratic,
}

__all__ = ["REGISTRY", "FittedKernel", *simplex.__all__]
