"""Kernels on the probability simplex, scalar ones and matrix-valued ones.

A scalar kernel is kappa(s, t) = profile(d(s, t) / bandwidth), and a matrix-valued one is a sum of
terms kappa(s, t) A, A psd.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import ClassVar

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid
from caltest.types import Floats

__all__ = [
    "Diagonal",
    "Exponential",
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

RELATIVE_TOLERANCE = 1e-10
Metric = str | Callable[[Floats, Floats], float]
METRIC_NAMES = {
    "tv": "total variation",
    "euclidean": "Euclidean distance",
    "logit": "logit distance",
}
RULES = ("auto", "median", "mean", "weighted-median")


class Kernel(ABC):
    """A kernel on the simplex: scalar, or matrix-valued."""

    @abstractmethod
    def is_psd(self, m: int) -> bool:
        """Tell whether the kernel is known to be positive semi-definite for m classes."""


@dataclass(frozen=True)
class ScalarKernel(Kernel):
    r"""A kernel that depends on the distance only: :math:`\kappa(s, t) = \phi(d(s, t) / \nu)`.

    Parameters
    ----------
    bandwidth : {"auto", "median", "mean", "weighted-median"} or float, default "auto"
        :math:`\nu > 0`, in units of the distance. The rules are taken over the distances between
        the predictions that are tested. "weighted-median" gives the pair of rows i, j the weight
        :math:`v_i v_j`, :math:`v_i = \sum_k p_{ik} (1 - p_{ik})`, so that predictions that are all
        but certain, whose labels hold next to no information, do not set the scale. "auto" is the
        weighted median for two classes, hence under one-dimensional lenses, and the median for
        more.
    metric : {"tv", "euclidean", "logit"} or callable
        "tv" is half the city-block distance; "logit" is the absolute difference of log odds and
        needs two classes (one-dimensional lenses); a callable takes two rows and returns a number
        and is meant for small n.

    Raises
    ------
    InvalidInput
        If the bandwidth is not positive, or the rule or metric is unknown.

    Notes
    -----
    Over total variation only `Exponential` is positive semi-definite for more than two classes
    (it is a product of one-dimensional Laplace kernels); the other profiles are so over the
    Euclidean distance, their default.
    """

    bandwidth: str | float = "auto"
    metric: Metric = "euclidean"

    title: ClassVar[str]
    rate: ClassVar[float] = 0.0
    polynomial: ClassVar[tuple[float, ...]] = ()  # profile(r) = sum_k c_k (rate r)^k exp(-rate r)
    psd_over_tv: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.bandwidth, str):
            checks.check_choice(self.bandwidth, RULES, "bandwidth")
        else:
            checks.check_positive(self.bandwidth, "bandwidth")
        if not callable(self.metric):
            checks.check_choice(self.metric, METRIC_NAMES, "metric")

    @abstractmethod
    def profile(self, r: Floats) -> Floats:
        """Return phi(r) for scaled distances r >= 0; `r` may be overwritten."""

    @property
    def metric_name(self) -> str:
        """The metric in words."""
        if callable(self.metric):
            return getattr(self.metric, "__name__", "custom metric")
        return METRIC_NAMES[self.metric]

    def __str__(self) -> str:
        return f"{self.title} of {self.metric_name}"

    def is_psd(self, m: int) -> bool:
        if callable(self.metric):
            return False
        return m == 2 or self.metric != "tv" or self.psd_over_tv


@dataclass(frozen=True)
class Exponential(ScalarKernel):
    """exp(-r), the Laplace kernel; over total variation the default of Widmann et al. (2019).

    Examples
    --------
    >>> from caltest.kernels import Exponential
    >>> print(Exponential())
    exponential of total variation
    """

    metric: Metric = "tv"

    title, rate, polynomial = "exponential", 1.0, (1.0,)
    psd_over_tv: ClassVar[bool] = True

    def profile(self, r: Floats) -> Floats:
        np.negative(r, out=r)
        return np.exp(r, out=r)


@dataclass(frozen=True)
class Gaussian(ScalarKernel):
    """exp(-r^2 / 2), the squared exponential.

    Examples
    --------
    >>> from caltest.kernels import Gaussian
    >>> print(Gaussian())
    Gaussian of Euclidean distance
    """

    title: ClassVar[str] = "Gaussian"

    def profile(self, r: Floats) -> Floats:
        np.multiply(r, r, out=r)
        r *= -0.5
        return np.exp(r, out=r)


@dataclass(frozen=True)
class Matern32(ScalarKernel):
    """(1 + sqrt(3) r) exp(-sqrt(3) r).

    Examples
    --------
    >>> from caltest.kernels import Matern32
    >>> print(Matern32(metric="logit"))
    Matern 3/2 of logit distance
    """

    title, rate, polynomial = "Matern 3/2", 3.0**0.5, (1.0, 1.0)

    def profile(self, r: Floats) -> Floats:
        r *= self.rate
        return np.asarray((1.0 + r) * np.exp(-r))


@dataclass(frozen=True)
class Matern52(ScalarKernel):
    """(1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r).

    Examples
    --------
    >>> from caltest.kernels import Matern52
    >>> print(Matern52())
    Matern 5/2 of Euclidean distance
    """

    title, rate, polynomial = "Matern 5/2", 5.0**0.5, (1.0, 1.0, 1.0 / 3.0)

    def profile(self, r: Floats) -> Floats:
        r *= self.rate
        return np.asarray((1.0 + r + r * r / 3.0) * np.exp(-r))


@dataclass(frozen=True)
class RationalQuadratic(ScalarKernel):
    """(1 + r^2 / (2 alpha))^(-alpha), a scale mixture of Gaussians.

    Parameters
    ----------
    alpha : float, default 1.0
        Shape, > 0; the Gaussian is its limit for large alpha.

    Examples
    --------
    >>> from caltest.kernels import RationalQuadratic
    >>> print(RationalQuadratic(alpha=2.0))
    rational quadratic of Euclidean distance, alpha = 2
    """

    alpha: float = 1.0

    title: ClassVar[str] = "rational quadratic"

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.check_positive(self.alpha, "alpha")

    def profile(self, r: Floats) -> Floats:
        return np.asarray((1.0 + r * r / (2.0 * self.alpha)) ** -self.alpha)

    def __str__(self) -> str:
        return f"{super().__str__()}, alpha = {self.alpha:g}"


@dataclass(frozen=True)
class Term:
    """kappa(s, t) A, where kappa is the product of scalar kernels and A is (m, m) and psd."""

    factors: tuple[ScalarKernel, ...]
    matrix: Floats


class MatrixKernel(Kernel):
    """A matrix-valued kernel k(s, t) in R^(m x m) on the simplex of m classes."""

    @abstractmethod
    def terms(self, m: int) -> tuple[Term, ...]:
        """Write the kernel for m classes as a sum of kappa(s, t) A."""

    @abstractmethod
    def __str__(self) -> str:
        """Return the kernel in words."""

    def is_psd(self, m: int) -> bool:
        return all(factor.is_psd(m) for term in self.terms(m) for factor in term.factors)


class Scaled(MatrixKernel):
    """kappa(s, t) A: one scalar kernel and one positive semi-definite matrix.

    Parameters
    ----------
    kernel : ScalarKernel
        kappa.
    matrix : (m, m) array, optional
        A, symmetric and positive semi-definite; the identity by default.

    Raises
    ------
    InvalidInput
        If the matrix is not square, symmetric, finite and positive semi-definite.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification,
    section 4: kernels k = kappa M.

    Examples
    --------
    >>> from caltest.kernels import Exponential, Scaled
    >>> print(Scaled(Exponential()))
    exponential of total variation
    """

    def __init__(self, kernel: ScalarKernel, matrix: object = None) -> None:
        self.kernel = checks.check_instance(kernel, ScalarKernel, "kernel")
        self.matrix = None if matrix is None else check_psd(matrix)

    def terms(self, m: int) -> tuple[Term, ...]:
        if self.matrix is None:
            return (Term((self.kernel,), identity(m)),)
        if len(self.matrix) != m:
            rule = f"matrix must be ({m}, {m}), as the predictions have {m} classes under this lens"
            raise invalid(rule, f"shape {self.matrix.shape}", "pass one row and column per class")
        return (Term((self.kernel,), self.matrix),)

    def __str__(self) -> str:
        return str(self.kernel) + ("" if self.matrix is None else " times a matrix")


class Composed(MatrixKernel):
    """A kernel that is made of others, each of which may be scalar."""

    word: ClassVar[str]

    def __init__(self, *kernels: Kernel) -> None:
        self.kernels = check_instances(kernels, Kernel)

    def __str__(self) -> str:
        return f"{self.word} of ({'; '.join(map(str, self.kernels))})"


class Diagonal(Composed):
    """diag(kappa_1(s, t), ..., kappa_m(s, t)): one scalar kernel for each class.

    Parameters
    ----------
    kernels : sequence of m ScalarKernel
        One for each class.

    Raises
    ------
    InvalidInput
        If an entry is not a scalar kernel, or their number is not the number of classes.

    Examples
    --------
    >>> from caltest.kernels import Diagonal, Exponential
    >>> print(Diagonal([Exponential(0.5), Exponential(0.1)]))
    diagonal of (exponential of total variation; exponential of total variation)
    """

    word = "diagonal"
    kernels: tuple[ScalarKernel, ...]

    def __init__(self, kernels: Sequence[ScalarKernel]) -> None:
        self.kernels = check_instances(kernels, ScalarKernel)

    def terms(self, m: int) -> tuple[Term, ...]:
        if len(self.kernels) != m:
            rule = f"kernels must be {m}, one for each class under this lens"
            raise invalid(rule, f"{len(self.kernels)}", "pass one scalar kernel per class")
        checks.check_memory(m**3, f"a kernel with a matrix for each of {m} classes")
        each = zip(self.kernels, np.eye(m), strict=True)
        return tuple(Term((kernel,), np.diag(unit)) for kernel, unit in each)


class Sum(Composed):
    """The sum k_1(s, t) + ... + k_r(s, t).

    Parameters
    ----------
    *kernels : Kernel
        At least one; a scalar kernel stands for kappa times the identity.

    Examples
    --------
    >>> from caltest.kernels import Exponential, Gaussian, Sum
    >>> print(Sum(Exponential(), Gaussian()))
    sum of (exponential of total variation; Gaussian of Euclidean distance)
    """

    word = "sum"

    def terms(self, m: int) -> tuple[Term, ...]:
        return tuple(term for k in self.kernels for term in as_matrix_kernel(k).terms(m))


class Product(Composed):
    """The elementwise product k_1 * ... * k_r, positive semi-definite by Schur's theorem.

    A scalar kernel multiplies every entry. For `Scaled` kernels the product is
    kappa_1 kappa_2 (A_1 * A_2); the product of scalar kernels alone is kappa_1 kappa_2 I.

    Parameters
    ----------
    *kernels : Kernel
        At least one.

    Examples
    --------
    >>> from caltest.kernels import Exponential, Gaussian, Product
    >>> print(Product(Exponential(), Gaussian()))
    product of (exponential of total variation; Gaussian of Euclidean distance)
    """

    word = "product"

    def terms(self, m: int) -> tuple[Term, ...]:
        scalars = tuple(kernel for kernel in self.kernels if isinstance(kernel, ScalarKernel))
        matrices = [kernel.terms(m) for kernel in self.kernels if isinstance(kernel, MatrixKernel)]
        if not matrices:
            return (Term(scalars, identity(m)),)
        found = []
        for chosen in product(*matrices):
            factors = scalars + tuple(factor for term in chosen for factor in term.factors)
            found.append(Term(factors, reduce(operator.mul, (term.matrix for term in chosen))))
        return tuple(found)


def identity(m: int) -> Floats:
    """Return the matrix of a kernel that treats m classes alike, if two of it have room."""
    checks.check_memory(2 * m * m, f"a kernel of {m} x {m} numbers")
    return np.eye(m)


def as_matrix_kernel(kernel: Kernel | None) -> MatrixKernel:
    """Read a scalar kernel as kappa I, and None as the default kernel.

    Parameters
    ----------
    kernel : Kernel or None
        Any kernel.

    Returns
    -------
    MatrixKernel
        The kernel itself where it is matrix-valued already.

    Raises
    ------
    InvalidInput
        If it is something else, such as a class of kernels.

    Examples
    --------
    >>> from caltest.kernels import as_matrix_kernel
    >>> print(as_matrix_kernel(None))
    exponential of total variation
    """
    if kernel is None:
        return Scaled(Exponential())
    if isinstance(kernel, ScalarKernel):
        return Scaled(kernel)
    return checks.check_instance(kernel, MatrixKernel, "kernel")


def check_instances(values: object, kind: type[checks.Instance]) -> tuple[checks.Instance, ...]:
    """Check that there is at least one value, and that every one is a `kind`."""
    if not isinstance(values, list | tuple) or not values:
        rule = f"kernels must be a list of at least one {kind.__name__}"
        raise invalid(rule, repr(values), "see caltest.kernels")
    return tuple(checks.check_instance(value, kind, "kernels") for value in values)


def check_psd(matrix: object) -> Floats:
    """Check a symmetric positive semi-definite matrix."""
    values = checks.as_numbers(matrix, "matrix").astype(np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise invalid("matrix must be square", f"shape {values.shape}", "pass an (m, m) array")
    if not np.isfinite(values).all():
        raise invalid("matrix must be finite", "nan or infinity", "pass finite numbers")
    size = np.abs(values).max()
    if np.abs(values - values.T).max() > RELATIVE_TOLERANCE * size:
        raise invalid("matrix must be symmetric", "an asymmetric matrix", "pass (A + A.T) / 2")
    values = (values + values.T) / 2
    smallest = np.linalg.eigvalsh(values)[0]
    if smallest < -RELATIVE_TOLERANCE * size:
        rule = "matrix must be positive semi-definite"
        raise invalid(rule, f"smallest eigenvalue {smallest:.3g}", "pass B @ B.T for some B")
    return checks.read_only(values)


ORDERS = (1.0, 2.0, math.inf)


def kernel_norm(kernel: Kernel, m: int, p: float, q: float) -> float:
    r"""Bound :math:`K_{p;q} = \sup_{s,t} \sup_{\|c\|_p = 1} \|k(s, t) c\|_q`.

    Every profile is at most 1 and is 1 at distance 0, so the bound is the norm of
    :math:`\sum_t |A_t|`, entry by entry; for p = q = 2 and a psd kernel that of
    :math:`\sum_t A_t`, since :math:`|u' k(s, t) v|^2 \le u' k(s, s) u \; v' k(t, t) v`.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernels stand for kappa times the identity.
    m : int
        Number of classes.
    p, q : {1, 2, inf}
        Orders; p = 1, q = inf or p = q = 2, the norms that are computed exactly.

    Returns
    -------
    float
        K_{p;q}, or an upper bound where the matrices of several terms have mixed signs.

    Raises
    ------
    NotApplicable
        For the other orders, whose norms are hard to compute.

    References
    ----------
    Widmann et al. (2019), section 6 and appendix G.

    Examples
    --------
    >>> from caltest.kernels import Exponential, kernel_norm
    >>> kernel_norm(Exponential(), m=10, p=2, q=2)
    1.0
    """
    matrix_kernel = as_matrix_kernel(kernel)
    terms = matrix_kernel.terms(m)
    entries = np.sum([np.abs(term.matrix) for term in terms], axis=0)
    if p == 1:
        return float(np.linalg.norm(entries, ord=q, axis=0).max())
    if q == math.inf:
        return float(np.linalg.norm(entries, ord=1.0 if p == math.inf else p, axis=1).max())
    if p == q == 2:
        psd = matrix_kernel.is_psd(m)
        total = np.sum([term.matrix for term in terms], axis=0) if psd else entries
        return float(np.linalg.norm(total, ord=2))
    raise NotApplicable(f"K_{{{p:g};{q:g}}} is hard to compute", "use p = 1, q = inf or p = q = 2")


def error_bound(kernel: Kernel, m: int) -> float:
    r"""Return the smallest :math:`B_{p;q} = 2^{1 + 1/p - 1/q} K_{p;q} \ge |h_{ij}|` at hand.

    Each of them is valid and none looks at the data, so the smallest is.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernels stand for kappa times the identity.
    m : int
        Number of classes.

    Returns
    -------
    float
        B, as large as :math:`|h_{ij}|` can be for predictions of m classes.

    Examples
    --------
    >>> from caltest.kernels import Exponential, error_bound
    >>> error_bound(Exponential(), m=10)
    2.0
    """
    orders = [(1.0, q) for q in ORDERS] + [(2.0, 2.0), (2.0, math.inf), (math.inf, math.inf)]
    return min(
        math.pow(2.0, 1.0 + 1.0 / p - 1.0 / q) * kernel_norm(kernel, m, p, q) for p, q in orders
    )
