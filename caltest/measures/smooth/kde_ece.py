"""ECE by kernel density estimates (KDE-ECE), Zhang, Kailkhura & Han 2020."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np
import scipy

from caltest.checks import check_positive, option, optional
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.fits import fitted
from caltest.measures.smooth.smooth_ece import cells, corrected_trapezoid, grid_coefficients, spread
from caltest.types import Floats, Labels
from caltest.units import Statistic, Units

__all__ = ["KDEECE", "kde_ece"]


SMALLEST_BANDWIDTH = 2.0**-12  # no bandwidth below is resolved
FEWEST_CELLS = 2**12  # of the grid
CELLS = 16.0  # of the grid in a bandwidth
SUPPORT = 3.0  # half the width of the triweight kernel, in standard deviations


@dataclass(frozen=True, kw_only=True)
class KDEECE(Measure):
    """The KDE-ECE with its bandwidth; see `kde_ece` for the parameters."""

    bandwidth: float | None = option(None, optional(check_positive))

    key, title, symbol = "kde-ece", "ECE by kernel density estimates", "KDE-ECE"
    largest: ClassVar[float] = 1.0
    drawn_as: ClassVar[str] = "reliability"
    # An estimate that is biased upwards, and no test.
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    forms: ClassVar[tuple[str, ...]] = ("rows",)

    def statistic(self, units: Units) -> Statistic:
        if self.bandwidth is not None and self.bandwidth < SMALLEST_BANDWIDTH:
            reason = f"the KDE-ECE resolves no bandwidth below {SMALLEST_BANDWIDTH:.2g}"
            remedy = "use a larger one, or bandwidth=None for the rule of the paper's code"
            raise NotApplicable(f"{reason}, and bandwidth is {self.bandwidth:.4g}", remedy)
        units, bandwidth = units.ordered("the KDE-ECE"), self.bandwidth
        share = units.scale / units.total[0]
        if bandwidth is None:
            # s (2 n)^(-1/5) for the standard deviation s of the scores; weights sum to 1.
            variance = share @ np.square(units.mean - share @ units.mean)
            n = 1.0 / np.square(share).sum()
            bandwidth = max(SMALLEST_BANDWIDTH, float(math.sqrt(variance) * (2.0 * n) ** -0.2))
        size = max(FEWEST_CELLS, 1 << max(0, math.ceil(math.log2(CELLS / bandwidth))))
        places, nodes = cells(units.mean, size), np.linspace(0.0, 1.0, size + 1)
        kernel = triweight_cosines(SUPPORT * bandwidth, size)

        def smoothed(values: Floats | Labels) -> Floats:
            """Return the sum of w_i v_i K(t, p_i) at the nodes."""
            masses = np.empty(nodes.size)
            spread(values, share, *places, masses)
            return np.asarray(scipy.fft.dct(kernel * grid_coefficients(masses), type=1))

        expected = nodes * smoothed(np.ones_like(units.mean))
        return fitted(
            units,
            lambda y: np.array([corrected_trapezoid(expected - smoothed(row)) for row in y]),
            scale=1.0,
            parameters={"bandwidth": bandwidth},
        )


def triweight_cosines(width: float, size: int) -> Floats:
    r"""Return the cosine coefficients of the kernel :math:`35/32 (1 - u^2)^3`, k = 0 to `size`.

    With u = t / width, :math:`\int K(t) \cos(k \pi t) dt = 105 j_3(x) / x^3`, where
    :math:`x = k \pi \cdot` width and :math:`j_3` is the spherical Bessel function.
    """
    x = np.maximum(np.arange(size + 1) * (math.pi * width), 1e-2)
    far: Floats = 105.0 * scipy.special.spherical_jn(3, x) / x**3
    near = 1.0 - np.square(x) / 18.0 + x**4 / 792.0
    found = np.where(x > 0.1, far, near)
    found[0] = 1.0
    return np.asarray(found)


def kde_ece(
    probs: object,
    labels: object = None,
    *,
    bandwidth: float | None = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the ECE of a one-dimensional prediction by kernel density estimates.

    The density of the scores and the share of events at a score are estimated with one kernel,

    .. math:: \tilde p(t) = \frac{1}{n} \sum_i K_h(t, p_i), \quad
        \tilde \pi(t) = \frac{\sum_i y_i K_h(t, p_i)}{\sum_i K_h(t, p_i)}, \quad
        \text{KDE-ECE} = \int_0^1 |t - \tilde \pi(t)| \, \tilde p(t) \, dt,

    where :math:`K_h` is the triweight kernel :math:`35/32 (1 - u^2)^3`, reflected at 0 and 1. It
    has no bins. Like the ECE with bins it is above 0 for calibrated predictions, by the noise in
    the share of events, and by the width of the kernel: :math:`\tilde \pi` is the share of events
    among scores near t, whose mean is not t where the density is steep. `smooth_ece` is free of the
    second.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes; "confidence" for the largest probability, as in the paper. A
        family of lenses gives an array.
    bandwidth : float, optional
        Standard deviation of the kernel in units of probability, at least 2^-12; it ends at three
        times this distance. By default :math:`s (2 n)^{-1/5}` with the standard deviation s of the
        scores; the authors' code takes s over the scores of events alone.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1]. With sample weights n is (sum w)^2 / sum w^2.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or the bandwidth is too small.

    References
    ----------
    Zhang, Kailkhura, Han (2020), Mix-n-Match: Ensemble and compositional methods for uncertainty
    calibration in deep learning, ICML. The bandwidth and the reflection are those of their code,
    github.com/zhang64-llnl/Mix-n-Match-Calibration, `ece_kde_binary`.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> scores = np.linspace(0.5, 1, 1000)  # an event in 3 of 4 cases, whatever the score
    >>> round(ct.measures.kde_ece(scores, np.tile([1, 1, 0, 1], 250)), 3)
    0.126
    """
    return KDEECE(bandwidth=bandwidth).evaluate(probs, labels, **rows)
