"""Calibrators of forecasts: scikit-learn estimators whose rows are distributions.

They stretch distributions about their means, or move PIT values or quantiles.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import stats
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.output import Saved
from caltest.checks import check_choice, check_flag, check_instance, check_unused
from caltest.errors import NotApplicable, invalid, shown
from caltest.forecasts import Forecasts
from caltest.forecasts.laws.base import LEAST, Law, read
from caltest.forecasts.laws.families import NormalLaw
from caltest.forecasts.laws.numbers import Quantiles
from caltest.numerics.dirichlet import fit_dirichlet
from caltest.render import Sheet, number
from caltest.results import Summary
from caltest.results.base import plain
from caltest.types import AnyArray, Floats

PROBED = np.linspace(0.05, 0.95, 7)  # levels whose quantiles tell whether two maps agree
SMALLEST = 1e-6  # factor, of the one that moments give
TINY = float(np.finfo(np.float64).tiny)
EXACT = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 500}
MOST_KNOTS = 256
CLOSE = 1e-9  # of levels


@dataclass(frozen=True, slots=True)
class ForecastSet:
    """Forecasts as what a map is fitted to, see `CalibrationSet`."""

    forecasts: Forecasts

    from_logits: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.forecasts.n

    @property
    def inputs(self) -> Law:
        """What is mapped: the distributions."""
        return self.forecasts.law

    def rows(self, rows: AnyArray) -> ForecastSet:
        """Take some of the rows."""
        return ForecastSet(self.forecasts.subset(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class ForecastCalibrator(Saved, ABC):
    """A calibration map of forecasts: distributions in, calibrated distributions out.

    Subclasses store their options in `__init__`, check them and fit in `_fit`, and map in
    `calibrate`.

    Attributes
    ----------
    n_fit_ : int
        Rows with weight that it was fitted to.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    fewest: ClassVar[int] = 2  # rows that a fit needs
    schema: ClassVar[str] = "forecast-map"
    known: ClassVar[dict[str, type[ForecastCalibrator]]] = {}  # filled by the package
    fitted_by: ClassVar[str] = "n_fit_"

    @abstractmethod
    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        """Check the options and set what ends with an underscore; weights have the sum 1."""

    @abstractmethod
    def calibrate(self, inputs: Law) -> Law:
        """Return the calibrated laws."""

    def fit(self, forecasts: object, y: object = None) -> Self:
        """Fit the map to forecasts that come with their outcomes.

        Parameters
        ----------
        forecasts : Forecasts
            Of outcomes that the model was not fitted to, with sample weights if they have any.
        y : None
            Forecasts hold their outcomes.

        Returns
        -------
        ForecastCalibrator
            The calibrator itself.

        Raises
        ------
        InvalidInput
            If these are no forecasts, too few, or an option breaks its rule.
        NotApplicable
            If the map has no meaning for the distributions.
        """
        given = _checked(forecasts)
        check_unused("where forecasts hold their outcomes", y=y)
        return self.fit_set(ForecastSet(given))

    def transform(self, forecasts: object) -> Forecasts:
        """Return calibrated forecasts; outcomes, weights, groups, clusters and source stay.

        Parameters
        ----------
        forecasts : Forecasts
            Of the kind that the map was fitted to.

        Returns
        -------
        Forecasts
            The same rows with other distributions.
        """
        check_is_fitted(self)
        given = _checked(forecasts)
        return given.with_predicted(self.calibrate(given.law))

    # ---- for comparisons, as `Calibrator` has them ----------------------------------------------

    def fit_set(self, data: ForecastSet, _classes: object = None) -> Self:
        """Fit to what was checked before."""
        rows, weight = data.forecasts, data.forecasts.weights
        kept = weight > 0
        self.n_fit_ = int(kept.sum())
        if self.n_fit_ < self.fewest:
            rule = f"{self.title} must be fitted to at least {self.fewest} forecasts"
            raise invalid(rule, f"{self.n_fit_}", "pass more rows with weight")
        self._fit(rows.subset(kept), weight[kept] / weight[kept].sum())
        return self

    def broken(self) -> str:
        check_is_fitted(self)
        found = self.probe(NormalLaw([0.0], [1.0]))
        apart = np.isfinite(found).all() and (np.diff(found) >= 0.0).all()
        return "" if apart else "quantiles that are no numbers in ascending order"

    def summary(self, **_of_a_test: object) -> Summary:
        """Return the options and the fitted values.

        Returns
        -------
        Summary
            It prints as text, Markdown, HTML and LaTeX.
        """
        values = {name: getattr(self, name) for name in self.to_dict()["state"]}
        facts = [("calibrator", " ".join(repr(self).split()))]
        for name, value in values.items():
            text = number(value) if isinstance(value, float) else shown(plain(value))
            facts.append((name.rstrip("_"), text))
        return Summary(Sheet(title=self.title, facts=tuple(facts)))

    def notes(self) -> list[str]:
        """Return nothing: what the data leave undefined is an error."""
        return []

    def probe(self, inputs: Law) -> Floats:
        """Return numbers by which the maps of two folds are told apart."""
        law = self.calibrate(inputs)
        return law.quantile(np.broadcast_to(PROBED, (law.n, PROBED.size)))


@dataclass(kw_only=True, eq=False, repr=False)
class ForecastIdentity(ForecastCalibrator):
    """The map that leaves forecasts as they are.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5], mean=[1.1, 2.0], scale=0.5)
    >>> ct.calibrators.ForecastIdentity().fit(forecasts).transform(forecasts).scale.tolist()
    [0.5, 0.5]
    """

    key, title = "identity", "no calibration"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        """Fit nothing."""

    def calibrate(self, inputs: Law) -> Law:
        return inputs


def _checked(forecasts: object) -> Forecasts:
    remedy = "pass caltest.Forecasts(y, mean=mu, scale=sd), for example"
    return check_instance(forecasts, Forecasts, "forecasts", remedy, "Forecasts")


@dataclass(kw_only=True, eq=False, repr=False)
class VarianceScaling(ForecastCalibrator):
    r"""Variance scaling: distributions stretched about their means, all by one factor.

    .. math:: Y' = m + d + s (Y - m), \qquad m = E Y

    A Gaussian stays one, with the standard deviation :math:`s \sigma`; quantiles and members of an
    ensemble are moved, and so are the ends of laws that have some, as the gamma law has: outcomes
    beyond these are impossible then. With `by="crps"` the mean CRPS of the calibration set is
    least, which is a convex problem for any law; with `by="moments"` the errors have variance 1 in
    the unit of the standard deviations,

    .. math:: s^2 = \sum_i w_i \frac{(y_i - m_i - d)^2}{\sigma_i^2}, \qquad
        d = \frac{\sum_i w_i (y_i - m_i) / \sigma_i^2}{\sum_i w_i / \sigma_i^2},

    which is maximum likelihood of Gaussians. Of ensembles with the variances :math:`v_i` (of M - 1
    degrees of freedom) it is the ratio of error and spread, :math:`s^2 = \sum_i w_i (y_i - m_i -
    d)^2 / \sum_i w_i v_i (1 + 1 / M)`, 1 where members are like the outcome, and d the mean error.

    Parameters
    ----------
    by : {"crps", "moments"}, optional
        What is fitted, by default the CRPS, of ensembles moments. By the CRPS of few members one
        that is wider than the right one is best. Of quantiles, whose spread is not that of
        outcomes, it is the sum of their quantile losses.
    offset : bool, default False
        Whether the means are moved too, by d in the unit of the outcome; else d = 0.

    Attributes
    ----------
    factor_, offset_ : float
        s and d.

    References
    ----------
    Laves, Ihler, Fast, Kahrs, Ortmaier (2020), Well-calibrated regression uncertainty in medical
    imaging with deep learning, MIDL, PMLR 121, eq. 9; Levi, Gispan, Giladi, Fetaya (2022),
    Evaluating and calibrating uncertainty prediction in regression tasks, Sensors 22, section 4;
    Fortin, Abaza, Anctil, Turcotte (2014), Why should ensemble spread match the RMSE of the
    ensemble mean?, Journal of Hydrometeorology 15, eq. 15.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> scaling = ct.calibrators.VarianceScaling(by="moments").fit(forecasts)
    >>> round(scaling.factor_, 4), scaling.transform(forecasts).scale.round(4).tolist()
    (0.6325, [0.3162, 0.3162, 0.3162])
    """

    key, title = "variance-scaling", "variance scaling of forecasts"

    by: str | None = None
    offset: bool = False

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        check_flag(self.offset, "offset")
        law, y = forecasts.law, forecasts.outcomes
        law.stretched(1.0, 0.0)  # raises where it has no meaning
        by = law.scaled_by[0] if self.by is None else check_choice(self.by, law.scaled_by, "by")
        error, variance = y - law.mean, np.maximum(law.error_variance, TINY)
        # The spread of an ensemble is an estimate itself: its ratio is one of sums.
        precision = share if law.has_atoms else share / variance
        d = float(precision @ error / precision.sum()) if self.offset else 0.0
        with np.errstate(over="ignore"):  # of constant members
            s = math.sqrt(float(precision @ (error - d) ** 2 / (precision @ variance)))
        if not 0 < s < math.inf:
            rule = "the errors of forecasts must vary, and their standard deviations be finite"
            raise invalid(rule, f"a ratio of {s:g}", "pass outcomes that the model was not given")
        if by == "crps":
            s, d = self._least(law, y, share, s, d)
        self.factor_, self.offset_ = s, d

    def _least(self, law: Law, y: Floats, share: Floats, s: float, d: float) -> tuple[float, float]:
        """Minimise s CRPS(F, m + (y - m - d) / s), which is convex in (s, d) as a perspective."""
        unit = np.array([s, s * float(share @ law.sd)])  # of both, so that slopes compare

        def loss(theta: Floats) -> tuple[float, Floats]:
            factor, offset = theta * unit
            z = law.about_mean(y - offset, 1.0 / factor)
            score, slope = law.fitting_score(z)
            slopes = np.array([share @ (score - slope * (z - law.mean)), -(share @ slope)])
            return factor * float(share @ score) / unit[1], slopes * unit / unit[1]

        bounds = [(SMALLEST, None), (None, None) if self.offset else (0.0, 0.0)]
        start, how = [1.0, d / unit[1]], {"jac": True, "method": "L-BFGS-B", "bounds": bounds}
        factor, offset = minimize(loss, start, options=EXACT, **how).x * unit
        return float(factor), float(offset)

    def calibrate(self, inputs: Law) -> Law:
        return inputs.stretched(self.factor_, self.offset_)


@dataclass(kw_only=True, eq=False, repr=False)
class BetaPIT(ForecastCalibrator):
    r"""Beta recalibration: the PIT values of the calibration set have a beta distribution.

    .. math:: F'(y) = I_{F(y)}(a, b), \qquad F(Y) \sim \mathrm{Beta}(a, b),

    with the distribution function :math:`I_u(a, b)` of the beta distribution; a = b = 1 changes
    nothing, a = b < 1 widens, a > b raises. The parameters maximise the likelihood of the PIT
    values, and so that of the outcomes under the densities :math:`f'(y) = f(y)\, u^{a-1}
    (1-u)^{b-1} / B(a, b)`, u = F(y). It is not the map of Kull et al. for classes, whose
    parameters are those of two densities.

    Attributes
    ----------
    a_, b_ : float
        The parameters.
    levels_ : frozen distribution of scipy.stats
        That of the PIT values.

    Notes
    -----
    Of quantiles G moves the levels, which is exact; an ensemble of M members becomes the quantiles
    at the levels G(j / (M + 1)) that its sorted members are. Linear between few members, their
    CRPS is less by that alone: comparisons of maps score all ensembles as such quantiles.

    References
    ----------
    Gneiting, Ranjan (2013), Combining predictive distributions, EJS 7, section 3.3 (the
    beta-transformed linear pool, here of one component).

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = np.random.default_rng(1).normal(scale=2.0, size=400)
    >>> beta = ct.calibrators.BetaPIT().fit(ct.Forecasts(y, mean=0.0, scale=1.0))
    >>> round(beta.a_, 2), round(beta.b_, 2)  # too sure: PIT values are near 0 and 1
    (0.36, 0.4)
    """

    key, title = "beta-pit", "beta recalibration of the PIT"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        u = np.clip(forecasts.pit, LEAST, 1.0 - LEAST)
        if np.ptp(u) <= LEAST:
            rule, remedy = "PIT values must vary", "pass outcomes that the model was not given"
            raise invalid(rule, f"{u[0]:.8g} in all rows", remedy)
        logs = np.array([share @ np.log(u), share @ np.log1p(-u)])
        self.a_, self.b_ = fit_dirichlet(logs, math.inf)[0].tolist()

    @property
    def levels_(self) -> Any:
        """The distribution of the PIT values."""
        return stats.beta(self.a_, self.b_)

    def calibrate(self, inputs: Law) -> Law:
        return inputs.recalibrated(self.levels_)


@dataclass(kw_only=True, eq=False, repr=False)
class IsotonicPIT(ForecastCalibrator):
    r"""Isotonic recalibration: levels become the shares of PIT values that are below them.

    .. math:: F'(y) = G(F(y)), \qquad G(u_{(i)}) = \frac{i}{n + 1},

    for the sorted PIT values :math:`u_{(i)}` of the calibration set, linear between them and from
    (0, 0) to (1, 1): the isotonic regression of Kuleshov et al., whose targets ascend by
    themselves, made continuous and strictly increasing. With weights, of mean 1, i is the sum up to
    the row less half of its own, and 1/2. Beyond 256 rows as many knots are kept, at equal steps
    of the rank.

    Attributes
    ----------
    knots_, shares_ : (k,) array
        Levels, and G there.
    levels_ : scipy.stats.rv_histogram
        The distribution of levels, with the distribution function G.

    Notes
    -----
    Of quantiles and ensembles as `BetaPIT`. The density has a step at each PIT value, so that the
    logarithmic score is poor: take beta recalibration where that counts.

    References
    ----------
    Kuleshov, Fenner, Ermon (2018), Accurate uncertainties for deep learning using calibrated
    regression, ICML, PMLR 80, algorithm 1.

    Examples
    --------
    >>> import caltest as ct
    >>> y = [-2.0, -0.5, 0.3, 1.8]
    >>> isotonic = ct.calibrators.IsotonicPIT().fit(ct.Forecasts(y, mean=0.0, scale=1.0))
    >>> isotonic.transform(ct.Forecasts([-2.0], mean=[0.0], scale=1.0)).pit.round(4).tolist()
    [0.2]
    """

    key, title = "isotonic-pit", "isotonic recalibration of the PIT"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        levels, place = np.unique(forecasts.pit, return_inverse=True)
        own, n = np.bincount(place, share) * forecasts.n, forecasts.n
        values = (np.cumsum(own) - own / 2.0 + 0.5) / (n + 1.0)
        inside = np.flatnonzero((levels > 0.0) & (levels < 1.0))
        if not inside.size:
            rule, remedy = "PIT values must lie between 0 and 1", "pass forecasts of these outcomes"
            raise invalid(rule, "0 or 1 in all rows", remedy)
        count = min(inside.size, MOST_KNOTS)
        kept = inside[np.linspace(0, inside.size - 1, count).round().astype(np.intp)]
        ends = (np.concatenate([[0.0], each[kept], [1.0]]) for each in (levels, values))
        self.knots_, self.shares_ = ends

    @property
    def levels_(self) -> Any:
        """The distribution of levels, with the distribution function G."""
        return stats.rv_histogram((np.diff(self.shares_), self.knots_), density=False)

    def calibrate(self, inputs: Law) -> Law:
        return inputs.recalibrated(self.levels_)


@dataclass(kw_only=True, eq=False, repr=False)
class ConformalOffset(ForecastCalibrator):
    r"""Conformalised quantile regression: offsets that make quantiles cover as they promise.

    For a pair of levels a and 1 - a with the quantiles :math:`q_i^-, q_i^+` of the calibration set

    .. math:: E_i = \max(q_i^- - y_i, y_i - q_i^+), \qquad [q^- - Q, q^+ + Q],

    with the :math:`\lceil (n + 1)(1 - 2a) \rceil`-th smallest Q of the :math:`E_i`: the interval
    holds a new outcome with probability 1 - 2a at least, whatever the model, if the rows are
    exchangeable. A negative Q makes it narrower; a quantile of level 0.5 stays. Quantiles that
    would cross are moved outwards, which keeps the promise.

    Parameters
    ----------
    levels : sequence of float, optional
        Of the quantiles, in ascending order and in pairs, as 0.05 and 0.95; by default those of the
        forecasts. Other forecasts are turned into quantiles at these levels.

    Attributes
    ----------
    levels_, offsets_ : (q,) array
        Levels, and what is added to their quantiles, in the unit of the outcome.

    References
    ----------
    Romano, Patterson, Candes (2019), Conformalized quantile regression, NeurIPS 32, eq. 6 to 8 and
    theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = np.random.default_rng(1).normal(scale=2.0, size=400)
    >>> forecasts = ct.Forecasts(y, mean=0.0, scale=1.0)
    >>> conformal = ct.calibrators.ConformalOffset(levels=[0.05, 0.5, 0.95]).fit(forecasts)
    >>> conformal.offsets_.round(2).tolist()
    [-1.4, 0.0, 1.4]
    """

    key, title = "conformal-offset", "conformalised quantiles"

    levels: Sequence[float] | None = None

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        law, y = forecasts.law, forecasts.outcomes[:, None]
        given = law.given if self.levels is None else read(self.levels, "levels")
        if given is None:
            rule = "levels must be given where forecasts are not quantiles"
            raise invalid(rule, law.title, "pass levels=[0.05, 0.5, 0.95]")
        if np.abs(given + given[::-1] - 1.0).max() > CLOSE:
            rule = "levels must be in pairs around 0.5, as 0.05 and 0.95"
            raise invalid(rule, shown(given.tolist()), "leave out levels without their other one")
        self.levels_, half = given, given.size // 2
        q = self._quantiles(law).values
        beyond = np.maximum(q - y, y - q[:, ::-1])[:, :half]
        promised = 1.0 - 2.0 * given[:half]
        sizes = [conformal_quantile(*each, share) for each in zip(beyond.T, promised, strict=True)]
        self.offsets_ = np.concatenate([np.negative(sizes), [0.0] * (given.size % 2), sizes[::-1]])

    def _quantiles(self, law: Law) -> Quantiles:
        values = law.quantile(np.broadcast_to(self.levels_, (law.n, self.levels_.size)))
        return Quantiles(self.levels_, values)

    def calibrate(self, inputs: Law) -> Law:
        values, q = self._quantiles(inputs).values + self.offsets_, self.offsets_.size
        start = values[:, (q - 1) // 2 : q // 2 + 1].mean(axis=1, keepdims=True)
        lower = np.hstack([start, values[:, : q // 2][:, ::-1]])
        upper = np.maximum.accumulate(np.hstack([start, values[:, -(q // 2) :]]), axis=1)
        lower = np.minimum.accumulate(lower, axis=1)[:, :0:-1]
        return Quantiles(self.levels_, np.hstack([lower, upper[:, 1 - q % 2 :]]))


def conformal_quantile(errors: Floats, level: float, share: Floats) -> float:
    """Return the least error up to which the rows, with one more of mean weight, have `level`."""
    n = errors.size
    every, weights = np.append(errors, np.inf), np.append(share, 1.0 / n)
    found = float(np.quantile(every, level - CLOSE, weights=weights, method="inverted_cdf"))
    if math.isinf(found):
        needed = math.ceil(level / (1.0 - level) - CLOSE)
        reason = f"a promise of {100 * level:.3g} % needs {needed} rows, and there are {n}"
        raise NotApplicable(reason, "take levels nearer to 0.5, or more rows")
    return found
