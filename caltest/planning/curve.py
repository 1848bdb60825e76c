"""`power`: how often tests of calibration reject predictions that are off by a stated amount."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from caltest import validation
from caltest.htests.run import resolve_tests
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.measures.cumulative.ks import KSError
from caltest.measures.tolerance import Tolerance
from caltest.nulls import REGISTRY as NULLS
from caltest.nulls.base import check_applicable
from caltest.planning.effect import effect_of
from caltest.planning.laws import Law, as_law, counted
from caltest.planning.rejection import most_extreme
from caltest.planning.results import Power, PowerRow, Setting
from caltest.planning.simulation import EFFECT, Study, simulate
from caltest.planning.truths import as_truth

LAW_OPTIONS = ("label", "features", "probs", "classes", "from_logits", "renormalize")
ROUNDING = 1e-13  # true errors below it are none
TRUTHS = ("temperature", "slope", "intercept", "ratio", "noise", "truth")


def power(
    model: object,
    data: object = None,
    *,
    n: int | Sequence[int],
    temperature: float | None = None,
    slope: float | None = None,
    intercept: float | Sequence[float] | None = None,
    ratio: float | None = None,
    noise: float | None = None,
    truth: object = None,
    test: str | Measure | Sequence[str | Measure] = "skce",
    lens: str | Lens = "strong",
    null: str | None = None,
    tolerance: float | None = None,
    equivalence: bool = False,
    level: float = 0.05,
    n_datasets: int = 1000,
    n_resamples: int = 199,
    rng: object = None,
    n_jobs: int | None = None,
    label: str | None = None,
    features: Sequence[str] | None = None,
    probs: str | Sequence[str] | None = None,
    classes: object = None,
    from_logits: bool = False,
    renormalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Power:
    r"""Power of tests of calibration with n rows, by simulation.

    Data sets of n rows are drawn: predictions p from their law, labels from the truth
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
        Features, where `model` is a model. Labels are never needed.
    n : int or list of int
        Number of rows, at least 1; several give a power curve.
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
    test : str, Measure or list, default "skce"
        Keys are in `caltest.htests.REGISTRY`. Several are compared on the same data sets.
    lens : str or Lens, default "strong"
        A single lens.
    null : str, optional
        As for `test_calibration`. The classical laws ("asymptotic", "closed-form") are faster than
        resampling.
    tolerance, equivalence : float and bool, optional
        As for `test_calibration`: power against an error above a tolerance; with equivalence=True
        power to certify that it is below, for calibrated predictions if no truth is given.
    level : float, default 0.05
        Significance level, in (0, 1).
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
    label, features, probs : str or list of str, optional
        Columns of a data frame, as for `test_calibration`; a label is only kept from being a
        feature or a probability.
    classes : (m,) array, optional
        Class labels in the order of the columns of the probabilities.
    from_logits, renormalize : bool, default False
        As for `test_calibration`.
    progress : callable, optional
        Called with (data sets done, data sets in all).
    **options
        Options of the measures, such as `kernel=` and `bins=`.

    Returns
    -------
    Power
        A row for each test and n.

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
    given = locals()
    sizes = validation.check_sizes(n)
    study, setting = plan_study(given, options)
    total, done, rows = n_datasets * len(sizes), 0, list[list[PowerRow]]()
    for size in sizes:
        step = None if progress is None else _step(progress, done, total)
        rows.append(simulate(study, size, range(n_datasets), progress=step))
        done += n_datasets
    by_test = zip(*rows, strict=True)
    setting = with_pool_note(setting, study.law, sizes[-1])
    return Power(rows=tuple(row for test_rows in by_test for row in test_rows), setting=setting)


def _step(progress: Callable[[int, int], None], before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, total)


def plan_study(given: dict[str, Any], options: dict[str, Any]) -> tuple[Study, Setting]:
    """Check the arguments of `power`, by name, and return what is simulated and how it prints."""
    level = validation.check_level(given["level"])
    n_resamples = validation.check_integer(given["n_resamples"], "n_resamples")
    validation.check_integer(given["n_datasets"], "n_datasets")
    validation.check_jobs(given["n_jobs"])
    null, equivalence = given["null"], given["equivalence"]
    bound = validation.check_tolerance(given["tolerance"], equivalence=equivalence, null=null)
    tolerance = None if bound is None else Tolerance(bound, equivalence)
    lens = resolve_lens(given["lens"])
    validation.check_not_family(lens.is_family, lens)
    seed = validation.check_seed(given["rng"])
    tests = _with_nulls(resolve_tests(given["test"], options), null, tolerance)
    law = as_law(given["model"], given["data"], **{name: given[name] for name in LAW_OPTIONS})
    truth = as_truth(law.m, **{name: given[name] for name in TRUTHS})
    study = Study(law, truth, tests, lens, tolerance, level, n_resamples, seed, given["n_jobs"])
    resampled = [measure for _, measure, key in tests if _resamples(measure, key, tolerance)]
    notes = tuple(_notes(study, resampled))
    effect = effect_of(law, truth, study.rng(EFFECT))
    calibrated = effect.error < ROUNDING
    setting = Setting(
        predictions=law.name,
        m=law.m,
        truth=truth.text,
        effect=effect,
        calibrated=calibrated,
        kind="size" if calibrated and not equivalence else "power",
        lens=str(lens),
        hypothesis=_claim(lens, tests, tolerance),
        level=level,
        n_resamples=n_resamples if resampled else None,
        seed=seed,
        notes=notes,
    )
    return study, setting


def _with_nulls(
    measures: list[tuple[str, Measure]], null: str | None, tolerance: Tolerance | None
) -> list[tuple[str, Measure, str]]:
    if null is not None:
        validation.check_choice(null, NULLS, "null")
    if tolerance is not None:
        return [(key, measure, "tolerance") for key, measure in measures]
    tests = [(key, measure, null or measure.nulls[0]) for key, measure in measures]
    for _, measure, kind in tests:
        check_applicable(measure, kind)
    return tests


def _resamples(measure: Measure, null: str, tolerance: Tolerance | None) -> bool:
    """Tell whether a p-value has at best 1 / (B + 1)."""
    if tolerance is None:
        return NULLS[null].resamples
    # KS is bootstrapped; other laws are limits, raised to the exact p-value for few rows.
    return isinstance(measure, KSError) or not tolerance.equivalence


def _claim(lens: Lens, tests: list[tuple[str, Measure, str]], tolerance: Tolerance | None) -> str:
    if tolerance is None:
        return lens.claim
    symbols = dict.fromkeys(measure.estimate_symbol for _, measure, _ in tests)
    return "; ".join(tolerance.claim(symbol) for symbol in symbols)


def _notes(study: Study, resampled: list[Measure]) -> list[str]:
    """Check that the resamples allow a rejection; say where they make the test conservative."""
    notes = []
    B, level = study.n_resamples, study.level
    for measure in resampled:
        sides = 2 if measure.alternative == "two-sided" else 1
        most = most_extreme(level, B, sides)
        validation.check_resolution(most, level, B, sides)
        size = sides * (1 + most) / (1 + B)
        if size < level * (1 - 1e-9):
            notes.append(
                f"with B = {B} the size of a resampling test is at most {size:.3g}, below the level"
            )
    return list(dict.fromkeys(notes))


def with_pool_note(setting: Setting, law: Law, n: int) -> Setting:
    """Say where data sets are larger than the predictions that they are drawn from."""
    if law.pool is None or n <= len(law.pool):
        return setting
    note = f"data sets of more than {counted(len(law.pool))} draw predictions several times each"
    return replace(setting, notes=(*setting.notes, note))
