"""`power`: how often tests of calibration reject predictions that are off by a stated amount."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from caltest import checks
from caltest.errors import invalid, shown
from caltest.htests.run import MeasureOptions, resolve_tests
from caltest.lenses import resolve_lens
from caltest.measures import Measure
from caltest.measures.tolerance import Tolerance
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import check_applicable
from caltest.planning.results import Power, PowerRow, Setting
from caltest.planning.simulation import EFFECT, Study, StudyTest, most_extreme, simulate
from caltest.planning.truths import StatedTruth, as_distribution, counted, effect_of
from caltest.predictions import ModelData, Predictions
from caltest.predictions.options import ColumnOptions, Procedure, Truth, parted

NO_ERROR = 1e-13  # true errors below it come from rounding


class PlannedStudy(ColumnOptions, Truth, Procedure, MeasureOptions, total=False):
    """What the predictions of a planned study are, what is true, and how it is tested."""

    reference: Any
    score: Any


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
        `scipy.stats.dirichlet([1, 1, 1])`, or a function (rng, n) -> probabilities.
    data : array or data frame, optional
        Features, where `model` is a model.
    y : array, optional
        Labels are never needed, and play no part.
    n : int or list of int
        Number of rows, at least 1; several give a power curve.
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
        taken for true. With `n_jobs` it is called from several threads.
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
        Significance level, in (0, 1).
    label, features, probs : str or list of str, optional
        Columns of a data frame, as for `test_calibration`; a label is only kept from being a
        feature or a probability.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize : bool, default False
        As for `test_calibration`.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or two truths are given.
    NotApplicable
        If a null or a truth has no meaning here, or a test is not defined for any data set.

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
        sizes = [checks.check_integer(n, "n")]
    elif values.ndim != 1 or values.size == 0 or values.dtype.kind not in "iu" or values.min() < 1:
        rule = "n must be an integer of at least 1, or a list of such"
        raise invalid(rule, shown(n), "pass [100, 200, 500]")
    else:
        sizes = sorted(set(values.tolist()))
    simulated = {"n_datasets": n_datasets, "n_resamples": n_resamples}
    planned, setting = plan_study(model, data, y, study, **simulated, rng=rng, n_jobs=n_jobs)
    rows = list[list[PowerRow]]()
    for before, size in enumerate(sizes):
        step = progress and _step(progress, before * n_datasets, n_datasets * len(sizes))
        rows.append(simulate(planned, size, range(n_datasets), progress=step))
    by_test = zip(*rows, strict=True)
    setting = with_pool_note(setting, planned, sizes[-1])
    every = tuple(row for test_rows in by_test for row in test_rows)
    return Power(rows=every, setting=setting, library=planned.distribution.template.library)


def _step(progress: Callable[[int, int], None], before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, total)


def plan_study(
    model: object,
    data: object,
    y: object,
    options: PlannedStudy,
    *,
    n_datasets: int,
    n_resamples: int,
    rng: object,
    n_jobs: int | None,
) -> tuple[Study, Setting]:
    """Check the arguments of `power` and return what is simulated and how it prints."""
    columns, stated, procedure, own = parted(options, ColumnOptions, Truth, Procedure)
    given, asked = ModelData(model, data, y, **columns), procedure
    null, equivalence = asked.get("null"), asked.get("equivalence", False)
    level = checks.check_level(asked.get("level", 0.05))
    n_resamples = checks.check_fixed_resamples(n_resamples, "simulations")
    checks.check_integer(n_datasets, "n_datasets")
    n_jobs = checks.check_jobs(n_jobs)
    bound = checks.check_tolerance(asked.get("tolerance"), equivalence=equivalence, null=null)
    tolerance = None if bound is None else Tolerance(bound, equivalence)
    lens = resolve_lens(asked.get("lens", "strong"))
    checks.check_not_family(lens.is_family, lens)
    seed = checks.check_seed(rng)
    measures, note = resolve_tests(asked.get("test"), own, null=null, tolerance=bound)
    if null is not None:
        checks.check_choice(null, NULLS, "null")
    how = null if tolerance is None else "tolerance"
    tests = [StudyTest(key, measure, how or measure.nulls[0]) for key, measure in measures]
    for test in tests if tolerance is None else ():
        check_applicable(test.measure, test.null)
    distribution = as_distribution(given)
    study = Study(
        distribution=distribution,
        truth=StatedTruth(**stated).for_classes(distribution.m),
        tests=tests,
        lens=lens,
        tolerance=tolerance,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        n_jobs=n_jobs,
    )
    resampled = [test.measure for test in tests if _resamples(test, tolerance)]
    notes = [note] if note else []
    for source in (given.model, given.data):
        if isinstance(source, Predictions) and source.has_dependence:
            text = f"rows are drawn independently: what those of a {source.unit} share costs more"
            notes.append(text)
    claim = lens.claim
    if tolerance is not None:
        symbols = dict.fromkeys(test.measure.estimate_symbol for test in tests)
        claim = "; ".join(tolerance.claim(symbol) for symbol in symbols)
    effect = effect_of(distribution, study.truth, study.rng(EFFECT))
    calibrated = effect.error < NO_ERROR
    setting = Setting(
        predictions=distribution.name,
        m=distribution.m,
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
    return study, setting


def _resamples(test: StudyTest, tolerance: Tolerance | None) -> bool:
    """Tell whether no p-value is below 1 / (B + 1)."""
    if tolerance is None:
        return NULLS[test.null].resamples
    # Limits are raised to the exact p-value for few rows, unless equivalence is to be shown.
    known = test.measure.tolerance
    draws = known is not None and known.tolerance_method == "bootstrap"
    return draws or not tolerance.equivalence


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
