"""Matrix-valued kernels on the probability simplex."""

from caltest.kernels.fitted import FittedKernel
from caltest.kernels.matrix import (
    Diagonal,
    MatrixKernel,
    Product,
    Scaled,
    Sum,
    as_matrix_kernel,
    error_bound,
    kernel_norm,
)
from caltest.kernels.scalar import (
    Exponential,
    Gaussian,
    Kernel,
    Matern32,
    Matern52,
    RationalQuadratic,
    ScalarKernel,
)

REGISTRY: dict[str, type[ScalarKernel]] = {
    "exponential": Exponential,
    "gaussian": Gaussian,
    "matern32": Matern32,
    "matern52": Matern52,
    "rational-quadratic": RationalQuadratic,
}

__all__ = [
    "REGISTRY",
    "Diagonal",
    "Exponential",
    "FittedKernel",
    "Gaussian",
    "Kernel",
    "Matern32",
    "Matern52",
    "MatrixKernel",
    "Product",
    "RationalQuadratic",
    "ScalarKernel",
    "Scaled",
    "Sum",
    "as_matrix_kernel",
    "error_bound",
    "kernel_norm",
]
