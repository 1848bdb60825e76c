"""`sample_size`: the least number of rows with which a test has a power."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from caltest import validation
from caltest.errors import InvalidInput, invalid, shown
from caltest.lenses import Lens
from caltest.measures import Measure
from caltest.planning.crossing import Search
from caltest.planning.curve import Procedure, Simulation, plan_study, with_pool_note
from caltest.planning.results import Power, SampleSize
from caltest.planning.simulation import Study, simulate
from caltest.planning.truths import StatedTruth
from caltest.predictions import ModelData


def sample_size(
    model: object,
    data: object = None,
    *,
    power: float = 0.8,
    temperature: float | None = None,
    slope: float | None = None,
    intercept: float | Sequence[float] | None = None,
    ratio: float | None = None,
    noise: float | None = None,
    truth: object = None,
    test: str | Measure | None = None,
    lens: str | Lens = "strong",
    null: str | None = None,
    tolerance: float | None = None,
    equivalence: bool = False,
    level: float = 0.05,
    n_min: int = 20,
    n_max: int = 10_000,
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
) -> SampleSize:
    r"""Least number of rows with which a test of calibration has a power, by simulation.

    The size is doubled from `n_min` until the power is reached. Then the curve
    :math:`\Phi(a + b \sqrt n)` is fitted to the sizes near the answer, data sets are simulated on
    both sides of where it crosses the power, and it is fitted again. Fieller's interval for the
    crossing covers the error of the simulation. Fresh data sets at the answer give its power.

    Parameters
    ----------
    model, data : object
        Where the predictions come from; see `power`.
    power : float, default 0.8
        The power, above `level` and below 1.
    temperature, slope, intercept, ratio, noise, truth : optional
        What is true; see `power`. One of them is needed, unless equivalence=True.
    test : str or Measure, default "combined"
        A single test; the default as in `test_calibration`.
    lens, null, tolerance, equivalence, level : optional
        As for `power`.
    n_min, n_max : int, default 20 and 10,000
        The sizes that are searched; sizes that are too small for the test are passed over.
    n_datasets : int, default 1000
        Simulated data sets in the last steps of the search, and again at the answer.
    n_resamples, rng, n_jobs : optional
        As for `power`, which gives the same power at the answer with the same seed.
    label, features, probs, classes, from_logits, renormalize : optional
        As for `power`.
    progress : callable, optional
        Called with (steps done, steps in all); the number of steps grows while the size is doubled.
    **options
        Options of the measure.

    Returns
    -------
    SampleSize
        The number of rows, its interval, and the power at all sizes that were tried.

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
    given = ModelData(model, data, label, features, probs, classes, from_logits, renormalize)
    stated = StatedTruth(temperature, slope, intercept, ratio, noise, truth)
    tested = Procedure(test, lens, null, tolerance, equivalence, level, options)
    simulated = Simulation(n_datasets, n_resamples, rng, n_jobs)
    study, setting = plan_study(given, stated, tested, simulated)
    _check_one_test(study)
    target = _check_target(power, study.level)
    if setting.calibrated and not equivalence:
        raise _no_truth()
    n_min, n_max = _check_range(n_min, n_max)
    search = Search(study, target, n_min, n_max, n_datasets, progress)
    n, low, high = search.run()
    rows = simulate(study, n, range(n_datasets))
    setting = with_pool_note(setting, study, n)
    if progress is not None:
        progress(search.done + 1, search.done + 1)
    return SampleSize(
        n=n,
        low=low,
        high=high,
        searched=(search.n_min, n_max),
        target=target,
        power=Power(rows=tuple(rows), setting=setting),
        search=Power(rows=tuple(search.rows()), setting=setting),
    )


# ---- checks -------------------------------------------------------------------------------------


def _check_one_test(study: Study) -> None:
    """Check that a number of rows is asked for one test."""
    if len(study.tests) != 1:
        rule = "test must be a single test where a number of rows is asked for"
        raise invalid(rule, f"{len(study.tests)} tests", "call sample_size once for each")


def _check_target(power: object, level: float) -> float:
    """Check a power that is asked for: above the level, below 1."""
    target = validation.check_level(power, "power", percent=80)
    if target <= level:
        rule = f"power must be above the level, {level:g}"
        raise invalid(rule, shown(power), "pass 0.8 for 80 %")
    return target


def _check_range(n_min: object, n_max: object) -> tuple[int, int]:
    """Check the range of sizes that are searched."""
    low = validation.check_integer(n_min, "n_min", minimum=2)
    high = validation.check_integer(n_max, "n_max", minimum=2)
    if low >= high:
        raise invalid("n_max must be above n_min", f"{high} and {low}", "widen the range")
    return low, high


def _no_truth() -> InvalidInput:
    """Word the error for a number of rows without a deviation to be detected."""
    return invalid(
        "sample_size must have a truth that differs from the predictions",
        "calibrated predictions",
        "pass temperature=, slope=, intercept=, ratio=, noise= or truth=",
    )
