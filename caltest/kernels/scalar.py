"""Scalar kernels kappa(s, t) = profile(d(s, t) / bandwidth) on the probability simplex."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest import checks
from caltest.types import Floats

Metric = str | Callable[[Floats, Floats], float]
METRICS = ("tv", "euclidean", "logit")
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
            checks.check_choice(self.metric, METRICS, "metric")

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

    title: ClassVar[str] = "exponential"
    rate: ClassVar[float] = 1.0
    polynomial: ClassVar[tuple[float, ...]] = (1.0,)
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

    title: ClassVar[str] = "Matern 3/2"
    rate: ClassVar[float] = 3.0**0.5
    polynomial: ClassVar[tuple[float, ...]] = (1.0, 1.0)

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

    title: ClassVar[str] = "Matern 5/2"
    rate: ClassVar[float] = 5.0**0.5
    polynomial: ClassVar[tuple[float, ...]] = (1.0, 1.0, 1.0 / 3.0)

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
