"""`sample_size`: the least number of rows with which a test has a power.

Data sets are simulated where they tell most of where the power curve crosses a power.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.planning.curve import PlannedStudy, plan_study, with_pool_note
from caltest.planning.results import Power, PowerRow, SampleSize
from caltest.planning.simulation import SEARCH, Study, simulate
from caltest.types import Floats

ROUNDS = 6  # fits of the curve once a size with enough power is known
SURE = 0.999  # coverage of the interval below which a power is certainly not reached
FIRST_DATASETS = 50  # data sets of a first look at a size
LOCAL_FACTOR = 1.6  # sizes within this factor make up the local curve, if it has a slope there
STEP = 2.0  # a step changes the size by no more than this factor
SPREAD = 1.25  # looks are on both sides of the crossing, so that the curve has a slope
MOST_STEPS = 100  # of the fit of a probit line
ENOUGH = 1e-10  # relative change of its coefficients at the end
FAR = 8.0  # linear predictors are kept within
QUANTILE = 1.959963984540054  # of the normal distribution, for intervals of 95 %


def sample_size(
    model: object,
    data: object = None,
    y: object = None,
    *,
    power: float = 0.8,
    n_min: int = 20,
    n_max: int = 10_000,
    n_datasets: int = 1000,
    n_resamples: int = 199,
    rng: object = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **study: Unpack[PlannedStudy],
) -> SampleSize:
    r"""Least number of rows with which a test of calibration has a power, by simulation.

    The size is doubled from `n_min` until the power is reached. Then the curve
    :math:`\Phi(a + b \sqrt n)` is fitted to the sizes near the answer, data sets are simulated on
    both sides of where it crosses the power, and it is fitted again. Fieller's interval for the
    crossing covers the error of the simulation. Fresh data sets at the answer give its power.

    Parameters
    ----------
    model, data, y : object
        Where the predictions come from; see `power`.
    power : float, default 0.8
        The power, above `level` and below 1.
    n_min, n_max : int, default 20 and 10,000
        The sizes that are searched; sizes that are too small for the test are passed over.
    n_datasets : int, default 1000
        Simulated data sets in the last steps of the search, and again at the answer.
    n_resamples, rng, n_jobs : optional
        As for `power`, which gives the same power at the answer with the same seed.
    progress : callable, optional
        Called with (steps done, steps in all); the number of steps grows while the size is doubled.
    **study
        What is true, what is tested, and data options, `label`, `features`, `probs`, `classes`,
        `from_logits` and `renormalize`, as for `power`; and options of the measure.

    Returns
    -------
    SampleSize
        The number of rows, its interval, and the power at all sizes that were tried.

    Other Parameters
    ----------------
    temperature, slope, intercept, ratio, noise, truth : optional
        What is true; see `power`. One of them is needed, unless equivalence=True.
    test : str or Measure, default "combined"
        A single test; the default as in `test_calibration`.
    lens, null, tolerance, equivalence, level : optional
        As for `power`.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or the truth is calibrated.
    NotApplicable
        If the power is not reached with `n_max` rows.

    References
    ----------
    Wu (1985), Efficient sequential designs with binary data, JASA 80(392) (the search); Fieller
    (1954), Some problems in interval estimation, JRSS B 16(2); see also `power`.

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy.stats import beta
    >>> planned = ct.sample_size(
    ...     beta(2, 5), ratio=1.25, test="spiegelhalter", null="asymptotic", n_datasets=200, rng=1
    ... )
    >>> planned.low <= planned.n <= planned.high
    True
    """
    simulated = {"n_datasets": n_datasets, "n_resamples": n_resamples}
    planned, setting = plan_study(model, data, y, study, **simulated, rng=rng, n_jobs=n_jobs)
    if len(planned.tests) != 1:
        rule = "test must be a single test where a number of rows is asked for"
        raise invalid(rule, f"{len(planned.tests)} tests", "call sample_size once for each")
    target = checks.check_level(power, "power", percent=80)
    if target <= planned.level:
        rule = f"power must be above the level, {planned.level:g}"
        raise invalid(rule, shown(power), "pass 0.8 for 80 %")
    if setting.kind == "size":
        rule = "sample_size must have a truth that differs from the predictions"
        remedy = "pass temperature=, slope=, intercept=, ratio=, noise= or truth="
        raise invalid(rule, "calibrated predictions", remedy)
    n_min = checks.check_integer(n_min, "n_min", minimum=2)
    n_max = checks.check_integer(n_max, "n_max", minimum=2)
    if n_min >= n_max:
        raise invalid("n_max must be above n_min", f"{n_max} and {n_min}", "widen the range")
    search = Search(planned, target, n_min, n_max, n_datasets, progress)
    n, low, high = search.run()
    rows = simulate(planned, n, range(n_datasets))
    setting = with_pool_note(setting, planned, n)
    if progress is not None:
        progress(search.done + 1, search.done + 1)
    library = planned.distribution.template.library
    at_n, tried = (
        Power(rows=tuple(some), setting=setting, library=library) for some in (rows, search.rows())
    )
    found: Any = {"n": n, "low": low, "high": high, "searched": (search.n_min, n_max)}
    return SampleSize(**found, target=target, power=at_n, search=tried, library=library)


class Crossing(NamedTuple):
    """A number of rows with the ends of its interval, None outside of the sizes searched."""

    n: int
    low: int | None
    high: int | None


@dataclass
class Search:
    """The search for the least n in [n_min, n_max] whose power is the target.

    Attributes
    ----------
    n_min : int
        Raised to the least size that was tried for which the test is defined.
    seen : dict
        The rows for the sizes that were tried.
    """

    study: Study
    target: float
    n_min: int
    n_max: int
    n_datasets: int
    progress: Callable[[int, int], None] | None = None
    seen: dict[int, PowerRow] = field(default_factory=dict)
    done: int = 0

    def run(self) -> Crossing:
        """Return the crossing.

        Raises
        ------
        NotApplicable
            If the power is not reached at n_max, or the test is not defined there.
        """
        centre = self._bracket()
        if self.seen[self.n_min].interval()[0] > self.target:
            return Crossing(self.n_min, None, self.n_min)
        for left in range(ROUNDS, 0, -1):
            centre = self._next(centre)
            side = centre * SPREAD if left % 2 else centre / SPREAD
            self._look(self._inside(side), -(-self.n_datasets // ROUNDS), left)
        root, low, high = self._cross(centre)
        if root > self.n_max:
            raise self._not_reached(max(self.seen), root)
        least = math.floor(low) if low >= self.n_min else None
        most = math.ceil(high) if high <= self.n_max else None
        return Crossing(max(math.ceil(root), self.n_min), least, most)

    def rows(self) -> list[PowerRow]:
        """Return the rows of all sizes, in ascending order."""
        return [self.seen[n] for n in sorted(self.seen)]

    def _bracket(self) -> int:
        """Double n until the power is reached, over two sizes at least."""
        few = max(FIRST_DATASETS, self.n_datasets // 10)
        n = self._first(few)
        while True:
            enough = self.seen[n].power >= self.target
            if n == self.n_max and not enough:
                if self.seen[n].interval(SURE)[1] >= self.target:
                    self._look(n, self.n_datasets, ROUNDS)
                if self.seen[n].power < self.target:
                    raise self._not_reached(n)
                return n
            if enough and (n > self.n_min or self.seen[n].interval()[0] > self.target):
                return n
            n = min(2 * n, self.n_max)
            self._look(n, few, ROUNDS + 1)

    def _first(self, few: int) -> int:
        """Look at n_min, which is doubled while data sets are too small for the test."""
        while True:
            try:
                self._look(self.n_min, few, ROUNDS + 1)
            except NotApplicable:
                if 2 * self.n_min >= self.n_max:
                    raise
                self.n_min *= 2
            else:
                return self.n_min

    def _look(self, n: int, sets: int, left: int) -> None:
        """Simulate more data sets of a size."""
        before = self.seen.get(n)
        start = 0 if before is None else before.n_datasets
        row = simulate(self.study, n, range(start, start + sets), stage=SEARCH)[0]
        self.seen[n] = row if before is None else _joined(before, row)
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.done + left)

    def _next(self, centre: int) -> int:
        """Return the size at which the fitted curve crosses the target, not far from the last."""
        root, _, _ = self._cross(centre)
        if not math.isfinite(root):  # the rates fall by chance
            root = centre
        return self._inside(min(max(root, centre / STEP), centre * STEP))

    def _inside(self, n: float) -> int:
        return min(max(math.ceil(n), self.n_min), self.n_max)

    def _cross(self, centre: int) -> tuple[float, float, float]:
        """Fit Phi(a + b sqrt(n)) near a size; return the crossing and its interval, in rows."""
        least, most = centre / LOCAL_FACTOR, centre * LOCAL_FACTOR
        near = [row for row in self.rows() if least <= row.n <= most]
        local = _crossing_of(near, self.target) if len(near) > 1 else None
        if local is None or not math.isfinite(local[1] + local[2]):
            return _crossing_of(self.rows(), self.target)
        return local

    def _not_reached(self, n: int, root: float = math.inf) -> NotApplicable:
        row, fitted = self.seen[n], ""
        low, high = row.interval()
        if math.isfinite(root):
            fitted = f", and by the curve through all sizes it takes {math.ceil(root)}"
        return NotApplicable(
            f"{row.test} does not reach a power of {self.target:g} with n_max = {self.n_max} rows: "
            f"{row.power:.3f} [{low:.3f}, {high:.3f}] with {n}{fitted}",
            "raise n_max, state a larger deviation, or use another test",
        )


def _crossing_of(rows: list[PowerRow], target: float) -> tuple[float, float, float]:
    columns = zip(*((math.sqrt(r.n), r.rejections, r.n_datasets) for r in rows), strict=True)
    x, events, trials = (np.array(column, dtype=np.float64) for column in columns)
    found = crossing(probit_line(x, events, trials), float(scipy.special.ndtri(target)), QUANTILE)
    root, low, high = (math.copysign(value * value, value) for value in found)
    return root, low, high


def _joined(first: PowerRow, second: PowerRow) -> PowerRow:
    """Join what was found in different data sets of one size."""
    parts = [row for row in (first, second) if not math.isnan(row.estimate)]
    finite = [row.n_datasets - row.not_applicable - row.infinite for row in parts]
    estimates = [row.estimate for row in parts]
    return replace(
        first,
        n_datasets=first.n_datasets + second.n_datasets,
        rejections=first.rejections + second.rejections,
        estimate=float(np.average(estimates, weights=finite)) if parts else math.nan,
        infinite=first.infinite + second.infinite,
        not_applicable=first.not_applicable + second.not_applicable,
        reason=first.reason or second.reason,
    )


# ---- where a rate is reached: probit regression -------------------------------------------------


Line = tuple[float, float, Floats]  # a, b and their covariance: P(event at x) = Phi(a + b x)


def probit_line(x: Floats, events: Floats, trials: Floats) -> Line:
    """Fit P(event at x) = Phi(a + b x) by Fisher scoring, at least two values of x.

    Half an event and half a non-event are spread over the x, so that rates of 0 and 1 have a fit.
    """
    k, n = events + 0.5 / x.size, trials + 1.0 / x.size
    centre, spread = float(np.average(x, weights=n)), float(np.ptp(x))
    X = np.column_stack([np.ones(x.size), (x - centre) / spread])
    beta = np.zeros(2)

    def likelihood(b: Floats) -> float:
        eta = X @ b
        return float(k @ scipy.special.log_ndtr(eta) + (n - k) @ scipy.special.log_ndtr(-eta))

    for _ in range(MOST_STEPS):
        eta = np.clip(X @ beta, -FAR, FAR)
        p, q = scipy.special.ndtr(eta), scipy.special.ndtr(-eta)
        density = np.exp(-0.5 * eta * eta) / math.sqrt(2 * math.pi)
        information = (X * (n * density**2 / (p * q))[:, None]).T @ X
        step = np.linalg.solve(information, X.T @ ((k - n * p) * density / (p * q)))
        length, now = 1.0, likelihood(beta)
        while length > 1e-6 and likelihood(beta + length * step) < now - 1e-12 * abs(now):
            length /= 2  # until the likelihood does not fall
        beta = beta + length * step
        if np.abs(length * step).max() <= ENOUGH * (1 + np.abs(beta).max()):
            break
    back = np.array([[1.0, -centre / spread], [0.0, 1.0 / spread]])
    a, b = back @ beta
    return float(a), float(b), back @ np.linalg.inv(information) @ back.T


def crossing(line: Line, z: float, quantile: float) -> tuple[float, float, float]:
    """Return x with a + b x = z and Fieller's confidence interval of it.

    The interval holds the x with (a + b x - z)^2 <= quantile^2 var(a + b x); an end is infinite
    where the slope is not clearly positive. Fieller (1954), JRSS B 16(2).
    """
    level, b, V = line
    a = level - z
    if b <= 0:
        return math.inf, -math.inf, math.inf
    c2 = quantile**2
    A = b * b - c2 * V[1, 1]
    B = a * b - c2 * V[0, 1]
    C = a * a - c2 * V[0, 0]
    root = -a / b
    if A <= 0:
        return root, -math.inf, math.inf
    half = math.sqrt(max(B * B - A * C, 0.0))
    return root, float((-B - half) / A), float((-B + half) / A)
