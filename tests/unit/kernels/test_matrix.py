"""Matrix-valued kernels are sums of kappa(s, t) A."""

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.kernels import Diagonal, Exponential, Gaussian, Product, Scaled, Sum, as_matrix_kernel

E, G = Exponential(1.0), Gaussian(2.0)
A = np.array([[2.0, 1.0], [1.0, 3.0]])
B = np.array([[1.0, -0.5], [-0.5, 1.0]])


def written_out(kernel, m=2):
    """Return the terms as (factors, matrix as nested lists)."""
    return [(term.factors, term.matrix.tolist()) for term in kernel.terms(m)]


def test_product_distributes_over_sums():
    """A product of sums has a term for each choice of summands."""
    kernel = Product(Sum(Scaled(E, A), Scaled(G, B)), Scaled(E, B))
    assert written_out(kernel) == [((E, E), (A * B).tolist()), ((G, E), (B * B).tolist())]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Scaled(E, A), f"{E} times a matrix"),
        (Diagonal([E, G]), f"diagonal of ({E}; {G})"),
        (Sum(E, Scaled(G)), f"sum of ({E}; {G})"),
        (Product(E, E), f"product of ({E}; {E})"),
    ],
)
def test_kernel_prints_its_parts(kernel, words):
    assert str(kernel) == words


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Scaled(E, [[1.0, 0.0]]), "matrix must be square; got shape"),
        (lambda: Scaled(E, [[1.0, 2.0], [0.0, 1.0]]), "matrix must be symmetric"),
        (lambda: Scaled(E, [[1.0, 2.0], [2.0, 1.0]]), "semi-definite; got smallest eigenvalue -1"),
        (lambda: Scaled(E, [[np.nan, 0.0], [0.0, 1.0]]), "matrix must be finite"),
        (lambda: Scaled(E, A).terms(3), r"matrix must be \(3, 3\), .* got shape \(2, 2\)"),
        (lambda: Diagonal([E, G]).terms(3), "kernels must be 3, one for each class .*; got 2"),
        (
            lambda: Scaled(Exponential),
            "kernel must be a ScalarKernel; got the class Exponential; add",
        ),
        (lambda: Scaled(Scaled(E)), "kernel must be a ScalarKernel; got a Scaled"),
        (lambda: Diagonal([E, 1.0]), "kernels must be a ScalarKernel; got a float"),
        (lambda: Diagonal([]), "kernels must be a list of at least one ScalarKernel"),
        (Sum, "kernels must be a list of at least one Kernel"),
        (lambda: Product(E, "gaussian"), "kernels must be a Kernel; got a str"),
        (lambda: as_matrix_kernel("exponential"), "kernel must be a MatrixKernel; got a str"),
    ],
)
def test_kernel_refuses_what_is_none(make, message):
    """The property of a matrix that is missing; a class, a number and a name are told apart."""
    with pytest.raises(InvalidInput, match=message):
        make()
