"""Matrix-valued kernels on the probability simplex."""

from caltest.kernels.fitted import FittedKernel
from caltest.kernels.matrix import Diagonal, MatrixKernel, Product, Scaled, Sum, as_matrix_kernel
from caltest.kernels.norms import error_bound, kernel_norm
from caltest.kernels.scalar import (
    Exponential,
    Gaussian,
    Kernel,
    Matern32,
    Matern52,
    RationalQuadratic,
    ScalarKernel,
)

__all__ = [
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
