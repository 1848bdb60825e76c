"""Bounds of matrix-valued kernels hold, and are attained where they are exact."""

import math
from itertools import product

import numpy as np
import pytest

from caltest.errors import NotApplicable
from caltest.kernels import Diagonal, Exponential, Gaussian, Product, Scaled, Sum, as_matrix_kernel
from caltest.kernels.simplex import error_bound, kernel_norm

A = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
E = Exponential(0.5)
KERNELS = {
    "identity": Scaled(E),
    "matrix": Scaled(E, A),
    "diagonal": Diagonal([E, Gaussian(0.2), E]),
    "sum": Sum(E, Scaled(Gaussian(0.3, metric="tv"), A)),
    "product": Product(Scaled(E, A), Scaled(Gaussian(0.3), A)),
}
ORDERS = [(1.0, q) for q in (1.0, 2.0, math.inf)] + [(2.0, 2.0), (2.0, math.inf), (math.inf,) * 2]


def kernel_matrices(kernel, rng, size=20):
    """Return k(s, t) for random s, t and for s = t, by the definition of the profiles."""
    rows = rng.dirichlet(np.full(3, 0.3), (size, 2))
    rows[0, 1] = rows[0, 0]
    for s, t in rows:
        distances = {"tv": abs(s - t).sum() / 2, "euclidean": np.linalg.norm(s - t)}
        total = np.zeros((3, 3))
        for term in as_matrix_kernel(kernel).terms(3):
            scaled = [np.array([distances[f.metric] / f.bandwidth]) for f in term.factors]
            kappa = math.prod(f.profile(r)[0] for f, r in zip(term.factors, scaled, strict=True))
            total += kappa * term.matrix
        yield total


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(("p", "q"), ORDERS)
def test_kernel_norm_bounds_the_image_of_unit_vectors(name, p, q):
    """||k(s, t) c||_q <= K ||c||_p for every s, t and c."""
    rng = np.random.default_rng(0)
    bound = kernel_norm(KERNELS[name], 3, p, q)
    vectors = [*rng.normal(size=(20, 3)), *map(np.array, product([-1.0, 0.0, 1.0], repeat=3))]
    for k in kernel_matrices(KERNELS[name], rng):
        for c in vectors:
            image = np.linalg.norm(k @ c, ord=q)
            assert image <= bound * np.linalg.norm(c, ord=p) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [(1.0, 1.0, 3.5), (1.0, 2.0, 5.25**0.5), (1.0, math.inf, 2.0), (2.0, 2.0, None)],
)
def test_kernel_norm_of_a_matrix_is_its_operator_norm(p, q, expected):
    """It is attained at s = t: the largest column (p = 1), the largest eigenvalue (p = q = 2)."""
    expected = np.linalg.eigvalsh(A)[-1] if expected is None else expected
    assert kernel_norm(Scaled(E, A), 3, p, q) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("p", "q"), [(2.0, 1.0), (math.inf, 1.0), (math.inf, 2.0), (3.0, 3.0)])
def test_kernel_norm_refuses_the_orders_that_are_hard(p, q):
    """Those norms are NP-hard or have no closed form."""
    with pytest.raises(NotApplicable, match="is hard to compute; use p = 1, q = inf or p = q = 2"):
        kernel_norm(Scaled(E), 3, p, q)


@pytest.mark.parametrize("name", KERNELS)
def test_error_bound_bounds_every_term(name):
    """|delta' k(s, t) delta~| <= B for any two residuals of predictions."""
    rng = np.random.default_rng(1)
    bound = error_bound(KERNELS[name], 3)
    residuals = np.vstack([np.eye(3)[i] - rng.dirichlet(np.full(3, 0.2), 10) for i in range(3)])
    residuals = np.vstack([residuals, *(np.eye(3)[i] - np.eye(3) for i in range(3))])
    for k in kernel_matrices(KERNELS[name], rng):
        assert np.abs(residuals @ k @ residuals.T).max() <= bound * (1 + 1e-12)
