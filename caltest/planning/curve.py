"""`power`: how often tests reject predictions that are off by a stated amount; `sample_size`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.htests.run import EveryOption, check_told_apart, resolve_tests
from caltest.lenses import resolve_lens
from caltest.measures import Measure
from caltest.measures.tolerance import Tolerance, tolerance_of
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import check_applicable
from caltest.planning.results import Power, PowerRow, SampleSize, Setting, joined
from caltest.planning.simulation import EFFECT, SEARCH, Study, StudyTest, most_extreme, simulate
from caltest.planning.truths import as_distribution, counted, forecasts_of
from caltest.predictions import ModelData, Rows
from caltest.predictions.options import Procedure, Truth, WeightedOptions, check_names, parted
from caltest.types import Floats

MOST_ROWS = 10**7  # of a data set, which is drawn row by row
NO_ERROR = 1e-13  # true errors below it come from rounding


class PlannedStudy(WeightedOptions, Truth, Procedure, EveryOption, total=False):
    """What the predictions of a planned study are, what is true, and how it is tested."""


def power(
    model: object,
    data: object = None,
    y: object = None,
    *,
    n: int | Sequence[int],
    n_datasets: int = 1000,
    n_resamples: int = 199,
    rng: object = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **study: Unpack[PlannedStudy],
) -> Power:
    r"""Power of tests of calibration with n rows, by simulation.

    Data sets of n rows are drawn: predictions p from their distribution, labels from the truth
    :math:`P(Y = k \mid p) = q_k(p)`. The power is the share of them that the test rejects, and
    its interval (Clopper and Pearson) covers the error of the simulation. Without a truth the
    labels are drawn from the predictions, and the share is the size of the test.

    Parameters
    ----------
    model : Predictions, array, data frame, model, distribution or callable
        Where the predictions come from. Of Predictions, probabilities (n, m) or (n,), a data frame
        or a model with its features, rows are drawn with replacement, by their weights if they
        have any. Others are drawn anew: `scipy.stats.beta(2, 5)`,
        `scipy.stats.dirichlet([1, 1, 1])`, or a function (rng, n) -> probabilities. Or a Forecasts,
        or a model that forecasts numbers with its (X, y), of which rows are drawn.
    data : array or data frame, optional
        Features, where `model` is a model.
    y : array, optional
        Labels are never needed, and play no part.
    n : int or list of int
        Number of rows, from 1 to 10 million; several give a power curve.
    n_datasets : int, default 1000
        Simulated data sets for each n; the standard error of a power of 0.8 is then 0.013.
    n_resamples : int, default 199
        B of each test. The exact null stops as soon as its decision is certain. With level (B + 1)
        an integer, an even one for two-sided tests, the size is exact, and a larger B has a little
        more power.
    rng : None, int, Generator or SeedSequence
        The seed. A row depends on the seed and its n only, and not on n_jobs or the other sizes.
    n_jobs : int, optional
        Threads, as in joblib.
    progress : callable, optional
        Called with (data sets done, data sets in all).
    **study
        What is true, what is tested, and data options, all listed under Other Parameters; and
        options of the measures, such as `kernel=` and `bins=`.

    Returns
    -------
    Power
        A row for each test and n.

    Other Parameters
    ----------------
    temperature : float, optional
        Truth softmax(log p / temperature); above 1 the predictions are too extreme.
    slope, intercept : float, optional
        Truth with log odds intercept + slope logit(p) of class 1, the recalibration of Cox; for m
        classes softmax(slope log p + intercept) with `intercept` of shape (m,). A slope below 1
        says that the predictions are too extreme, an intercept below 0 that they are too high.
    ratio : float, optional
        Truth p / ratio for the event of two classes, the ratio of expected to observed events; 1.2
        says that risks are too high by 20 %.
    noise : float, optional
        Share in [0, 1] of the labels that are drawn uniformly over the classes, whatever was
        predicted.
    truth : callable or calibrator, optional
        A function p (n, m) -> true probabilities (n, m), or a fitted calibrator whose output is
        taken for true. With `n_jobs` it is called from several threads. Of forecasts a function
        (z, forecasts) of standard normal numbers (n,), which returns the normal numbers of the
        outcomes, :math:`\Phi^{-1}(F(y))`: `lambda z, f: z - 0.3 * (f.mean > 20)`.
    spread, shift : float, optional
        Truth of forecasts: normal scores of the outcomes, (y - mean) / scale of Gaussian forecasts,
        scatter `spread` times as widely as predicted, and are `shift` higher.
    test : str, Measure or list, default "combined"
        Keys are in `caltest.htests.REGISTRY`; the default as in `test_calibration`. Several are
        compared on the same data sets.
    lens : str or Lens, default "strong"
        A single lens.
    null : str, optional
        As for `test_calibration`. The classical nulls ("asymptotic", "closed-form") are faster
        than resampling.
    tolerance, equivalence : float and bool, optional
        As for `test_calibration`: power against an error above a tolerance; with equivalence=True
        power to certify that it is below, for calibrated predictions if no truth is given.
    level : float, default 0.05
        Significance level, in (0, 0.5].
    label, features, probs : str or list of str, optional
        Columns of a data frame, as for `test_calibration`; a label is only kept from being a
        feature or a probability.
    sample_weight : (n,) array or str, optional
        Weights of the rows that are drawn, or their column.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize, ordinal : bool, default False
        As for `test_calibration`.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or two truths are given.
    NotApplicable
        If a null or a truth has no meaning here, or no data set can be tested.

    References
    ----------
    Boos, Zhang (2000), Monte Carlo evaluation of resampling-based hypothesis tests, JASA 95(450);
    Davidson, MacKinnon (2000), Bootstrap tests: how many bootstraps?, Econometric Reviews 19(1);
    Clopper, Pearson (1934), Biometrika 26(4); Cox (1958), Two further applications of a model for
    binary regression, Biometrika 45.

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy.stats import beta
    >>> curve = ct.power(beta(2, 5), n=[100, 400], slope=0.6, n_datasets=200, rng=1)
    >>> [row.n for row in curve], bool(curve.power[0] < curve.power[1])
    ([100, 400], True)
    """
    values = checks.as_array(n, "n")
    if values.ndim == 0:
        sizes = [checks.check_integer(n, "n", most=MOST_ROWS)]
    elif values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu" or values.min() < 1:
        rule = "n must be an integer of at least 1, or a list of such"
        raise invalid(rule, shown(n), "pass [100, 200, 500]")
    else:
        sizes = sorted({checks.check_integer(one, "n", most=MOST_ROWS) for one in values.tolist()})
    check_names(study, PlannedStudy, power)
    drawn: Any = {"n_datasets": n_datasets, "n_resamples": n_resamples, "rng": rng}
    planned, setting = plan_study(model, data, y, options=study, n_jobs=n_jobs, **drawn)
    rows = list[list[PowerRow]]()
    for before, size in enumerate(sizes):
        step = progress and _step(progress, before * n_datasets, n_datasets * len(sizes))
        rows.append(simulate(planned, size, range(n_datasets), progress=step))
    setting = with_pool_note(setting, planned, sizes[-1])
    every = tuple(row for test_rows in zip(*rows, strict=True) for row in test_rows)
    return Power(rows=every, setting=setting, library=planned.distribution.template.library)


def _step(progress: Callable[[int, int], None], before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, total)


def plan_study(
    *rows: Any, options: PlannedStudy, rng: object, n_jobs: int | None, **numbers: int
) -> tuple[Study, Setting]:
    """Check the arguments of `power` and return what is simulated and how it prints."""
    columns, stated, procedure, own = parted(options, WeightedOptions, Truth, Procedure)
    given, asked = ModelData(*rows, **columns), procedure
    null, equivalence = asked.get("null"), asked.get("equivalence", False)
    level = checks.check_level(asked.get("level", 0.05))
    n_resamples = checks.check_fixed_resamples(numbers["n_resamples"], "simulations")
    checks.check_integer(numbers["n_datasets"], "n_datasets")
    n_jobs = checks.check_jobs(n_jobs)
    bound = checks.check_tolerance(asked.get("tolerance"), equivalence=equivalence, null=null)
    tolerance = None if bound is None else Tolerance(bound, equivalence)
    lens = resolve_lens(asked.get("lens", "strong"))
    checks.check_not_family(lens.is_family, lens)
    seed = checks.check_seed(rng)
    measures, note = resolve_tests(asked.get("test"), own, null=null, tolerance=bound)
    check_told_apart([key for key, _ in measures])
    if null is not None:
        checks.check_choice(null, NULLS, "null")
    how = null if tolerance is None else "tolerance"
    tests = [StudyTest(key, measure, how or measure.nulls[0]) for key, measure in measures]
    for test in tests:
        if tolerance is None:
            check_applicable(test.measure, test.null)
        else:
            tolerance_of(test.measure)
    distribution: Any = forecasts_of(given) or as_distribution(given)
    m = distribution.m
    for _, measure in measures if m else ():  # a lens leaves classes as classes
        measure.check_of(distribution.template)
    truth = distribution.truth_of(**stated)
    study = Study(distribution, truth, tests, lens, tolerance, level, n_resamples, seed, n_jobs)
    resampled = [test.measure for test in tests if _resamples(test, tolerance)]
    notes = [note] if note else []
    for source in (given.model, given.data):
        if isinstance(source, Rows) and source.has_dependence:
            text = f"rows are drawn independently: what those of a {source.unit} share costs more"
            notes.append(text)
    claim = lens.claim_of(distribution.template)
    if tolerance is not None:
        symbols = dict.fromkeys(test.measure.estimate_symbol for test in tests)
        claim = "; ".join(tolerance.claim(symbol) for symbol in symbols)
    effect = distribution.effect(study.truth, study.rng(EFFECT))
    calibrated = effect.error < NO_ERROR
    return study, Setting(
        predictions=distribution.name,
        m=m,
        truth=study.truth.text,
        effect=effect,
        calibrated=calibrated,
        kind="size" if calibrated and not equivalence else "power",
        lens=str(lens),
        hypothesis=claim,
        level=level,
        n_resamples=n_resamples if resampled else None,
        seed=seed,
        notes=(*notes, *_notes(study, resampled)),
    )


def _resamples(test: StudyTest, tolerance: Tolerance | None) -> bool:
    """Tell whether no p-value is below 1 / (B + 1)."""
    if tolerance is None:
        return NULLS[test.null].resamples
    # Limits are raised to that of redrawn labels for few rows, unless equivalence is to be shown.
    known = test.measure.tolerance
    return not (tolerance.equivalence and (known is None or known.tolerance_method != "bootstrap"))


def _notes(study: Study, resampled: list[Measure]) -> list[str]:
    """Check that the resamples allow a rejection; say where they make the test conservative."""
    notes = []
    B, level = study.n_resamples, study.level
    for measure in resampled:
        sides = 2 if measure.alternative == "two-sided" else 1
        most = most_extreme(level, B, sides)
        if most < 0:
            rule = f"n_resamples must allow a p-value of at most the level, {level:g}"
            raise invalid(rule, str(B), f"pass {math.ceil(sides / level) - 1} or more")
        size = sides * (1 + most) / (1 + B)
        if size < level * (1 - 1e-9):
            notes.append(
                f"with B = {B} the size of a resampling test is at most {size:.3g}, below the level"
            )
    return list(dict.fromkeys(notes))


def with_pool_note(setting: Setting, study: Study, n: int) -> Setting:
    """Say where data sets are larger than the predictions that they are drawn from."""
    pool = study.distribution.pool
    if pool is None or n <= len(pool):
        return setting
    note = f"data sets of more than {counted(len(pool))} draw predictions several times each"
    return replace(setting, notes=(*setting.notes, note))


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
        What is true, what is tested, and data options, `label`, `features`, `probs`,
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `power`; and options of
        the measure.

    Returns
    -------
    SampleSize
        The number of rows, its interval, and the power at all sizes that were tried.

    Other Parameters
    ----------------
    temperature, slope, intercept, ratio, noise, truth, spread, shift : optional
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
    check_names(study, PlannedStudy, sample_size)
    drawn: Any = {"n_datasets": n_datasets, "n_resamples": n_resamples, "rng": rng}
    planned, setting = plan_study(model, data, y, options=study, n_jobs=n_jobs, **drawn)
    if len(planned.tests) != 1:
        rule = "test must be a single test where a number of rows is asked for"
        raise invalid(rule, f"{len(planned.tests)} tests", "call sample_size once for each")
    target = checks.check_level(power, "power", percent=80)
    if target <= planned.level:
        rule = f"power must be above the level, {planned.level:g}"
        raise invalid(rule, shown(power), "pass 0.8 for 80 %")
    if setting.kind == "size":
        rule = "sample_size must have a truth that differs from the predictions"
        of_classes = "temperature=, slope=, intercept=, ratio=, noise="
        remedy = f"pass {of_classes if setting.m else 'spread= or shift='}, or truth="
        raise invalid(rule, "calibrated predictions", remedy)
    n_min = checks.check_integer(n_min, "n_min", minimum=2)
    n_max = checks.check_integer(n_max, "n_max", minimum=2, most=MOST_ROWS)
    if n_min >= n_max:
        raise invalid("n_max must be above n_min", f"{n_max} and {n_min}", "widen the range")
    search = SizeSearch(planned, target, n_min, n_max, n_datasets, progress)
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


@dataclass
class SizeSearch:
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

    def run(self) -> tuple[int, int | None, int | None]:
        """Return the crossing and the ends of its interval, None outside of the sizes searched.

        Raises
        ------
        NotApplicable
            If the power is not reached at n_max, or the test is not defined there.
        """
        centre = self._bracket()
        if self.seen[self.n_min].interval()[0] > self.target:
            return self.n_min, None, self.n_min
        for left in range(ROUNDS, 0, -1):
            root = self._cross(centre)[0]
            root = root if math.isfinite(root) else centre  # the rates fall by chance
            centre = self._inside(min(max(root, centre / STEP), centre * STEP))
            side = centre * SPREAD if left % 2 else centre / SPREAD
            self._look(self._inside(side), -(-self.n_datasets // ROUNDS), left)
        root, low, high = self._cross(centre)
        if root > self.n_max:
            raise self._not_reached(max(self.seen), root)
        least = math.floor(low) if low >= self.n_min else None
        most = math.ceil(high) if high <= self.n_max else None
        return max(math.ceil(root), self.n_min), least, most

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
        self.seen[n] = row if before is None else joined((before, row))
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.done + left)

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


# ---- where a rate is reached: probit regression -------------------------------------------------


Line = tuple[float, float, Floats]  # a, b and their covariance


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
    a, b, V = line[0] - z, *line[1:]
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
