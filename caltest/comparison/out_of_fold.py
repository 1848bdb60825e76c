"""How maps do on rows that they were not fitted to: one rule for every report, command and call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from caltest import checks, render
from caltest.calibrators.inputs import LOG_SMALLEST_PROBABILITY
from caltest.comparison import maps as all_maps
from caltest.comparison import outcomes
from caltest.comparison.calibrators import FEWEST_ROWS, FOLDS, facts_of, fit_to_all, make_setup
from caltest.comparison.scores import EVERY, ProperScore, mean_and_error, mean_score, ruled_out
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.results import ComparedCalibrator, HTest
from caltest.results.comparison import REFERENCE, sheet_of_maps
from caltest.types import Codes, Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfFold:
    """What cross-validation finds of maps.

    Attributes
    ----------
    rows : tuple of ComparedCalibrator
        The uncalibrated model first ("identity"), then the maps.
    maps : dict of Calibrator
        By name, not fitted.
    predictions : dict of Predictions
        What the maps predict for the rows that were held out; a map that could not be fitted in a
        fold is not there, and none of forecasts.
    scores : dict of dict of arrays
        Proper scores of the held-out rows, by map and by name.
    tests : tuple of HTest
        Those of the uncalibrated model, on all held-out rows.
    weight, units : (n_held_out,) array
        Weights of the held-out rows, and their clusters or numbers.
    score, lens_of_measures, method, data_name, n, m, n_folds, n_fit, n_held_out, n_resamples, \
seed, correction, level, notes
        As in `CalibratorComparison`.
    """

    rows: tuple[ComparedCalibrator, ...]
    maps: outcomes.Maps
    predictions: Mapping[str, Predictions]
    scores: Mapping[str, Mapping[str, Floats]]
    tests: tuple[HTest, ...]
    weight: Floats
    units: Codes
    score: str
    lens_of_measures: str
    method: str
    data_name: str
    n: int
    m: int
    n_folds: int
    n_fit: int
    n_held_out: int
    n_resamples: int
    seed: int
    correction: str | None
    level: float | None
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> ComparedCalibrator:
        """Return the row of a map."""
        return next(row for row in self.rows if row.name == name)

    def sheet(self) -> render.Sheet:
        """Return what is printed."""
        title = "Out of fold: each row is predicted by a map that was not fitted to it"
        return sheet_of_maps(self, title)


def out_of_fold(
    predictions: Any,
    calibrators: object,
    *,
    data: all_maps.AnySet | None = None,
    rng: object = None,
    progress: Callable[[str], None] | None = None,
    asked_as: str = "calibrators",
    **tests: Any,
) -> OutOfFold:
    """Score and test maps on rows that they were not fitted to, as `compare_calibrators` does.

    The folds, the test, the lens and the rule that combines the p-values of the folds are those of
    `compare_calibrators`: for the same rows and seed a map has the same p-value. Nothing is
    selected, so that there is no inner cross-validation.

    Parameters
    ----------
    predictions : Predictions
        Before the maps.
    calibrators : str, Calibrator, list or dict
        As in `compare_calibrators`.
    data : CalibrationSet, optional
        What the maps are fitted to where it is not the probabilities, as logits.
    rng : None, int, Generator or SeedSequence
        The seed.
    progress : callable, optional
        Called with what is done next.
    asked_as : str
        The argument of the user, which errors name.
    **tests
        `test`, `lens`, `null`, `correction`, `level`, `n_resamples`, `n_jobs` and options of the
        measures, as in `compare_calibrators`.

    Returns
    -------
    OutOfFold
        A row for each map, the uncalibrated model first.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or there are fewer than 10 rows.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=200, m=3, rng=1)
    >>> found = out_of_fold(data, "temperature", n_resamples=99, rng=1)
    >>> result = ct.compare_calibrators(data, calibrators="temperature", n_resamples=99, rng=1)
    >>> found["temperature"].tests[0].pvalue == result["temperature"].tests[0].pvalue
    True
    """
    tests_of = outcomes.make_calibration_tests(**tests)
    seed = checks.check_seed(rng)
    data = data or all_maps.set_of(predictions)
    given: dict[str, Any] = {"from_logits": data.from_logits, "asked_as": asked_as}
    maps = all_maps.resolve_calibrators(calibrators, predictions.m, **given)
    setup = make_setup(predictions, data, tests_of=tests_of, seed=seed)
    every, results, predicted = range(len(setup.pairs)), {}, {}
    for name, calibrator in maps.items():
        if progress is not None:
            progress(f"calibrator {name}")
        outcome = results[name] = outcomes.evaluate(calibrator, setup, every)
        if predictions.m and not outcome.reason:
            predicted[name] = setup.pooled(outcome.parts)
    return OutOfFold(
        rows=tuple(outcomes.rows_of(maps, results, setup)),
        maps=maps,
        predictions=predicted,
        scores={name: outcome.scores for name, outcome in results.items()},
        tests=tuple(test for tests in results[REFERENCE].tests.values() for test in tests),
        weight=setup.weight,
        units=setup.units,
        **facts_of(results, setup, FOLDS),
    )


Scores = Mapping[str, Mapping[str, Floats]]  # by the name of the map, then of the score


LOG_LOSS, BRIER, OF_NUMBERS = (EVERY[key] for key in ("log-loss", "brier", "crps"))
LEVEL = 0.95


TEMPERATURE = "temperature"


SHORT = {all_maps.SHIFT: "intercept", TEMPERATURE: TEMPERATURE}  # maps of one number


DECIMALS = 10  # of scores of classes: what differs by less differs by rounding errors


MOST_NUMBERS, FEWEST_SAMPLED = 400_000, 200  # rows times classes, and rows, of a sample


POWER, MOST_TIMES = 1.0, 20  # standard errors beyond the bound; more rows tell nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMap:
    """The map that the held-out proper score prefers: of `best_map` fitted to all rows, and tested.

    Attributes
    ----------
    name : str
        Of the map that is taken, "identity" where none is.
    calibrator : Calibrator
        The map; fitted by `best_map` alone.
    score : str
        By which proper score.
    after : float
        Mean score of the held-out rows with it; less is better.
    difference, low, high : float
        `after` less that without it, and its 95 % interval by Student's t over rows or clusters, in
        which the choice among several maps is taken as made.
    n, n_folds : int
        Rows that were held out, and folds.
    needed : int or None
        Where no map is taken, about how many rows would let one be: those for which a gain as large
        as here is one standard error beyond the bound. None where no map gains, or where it takes
        more than twenty times the rows, which cannot be distinguished from no gain.
    numbers : dict of str to float
        The shift or the temperature that is fitted to all rows, where `first_map` took one.
    test : str
        That of the held-out rows.
    pvalue_after : float or None
        Its p-value, not adjusted, as in `compare_calibrators`; None where the data leave it
        undefined.
    n_fit : int
        Rows that each map was fitted to.
    left_out : tuple of str
        Maps that are not taken, since outcomes were impossible with them.
    """

    name: str
    calibrator: all_maps.AnyCalibrator
    score: str
    after: float
    difference: float
    low: float
    high: float
    n: int
    n_folds: int
    needed: int | None
    numbers: Mapping[str, float] = field(default_factory=dict)
    test: str = ""
    pvalue_after: float | None = None
    n_fit: int = 0
    left_out: tuple[str, ...] = ()

    @property
    def helps(self) -> bool:
        """Whether the held-out score is better with the map, by its interval."""
        return self.high < 0


def best_map(predictions: Any, calibrators: object = None, **options: Any) -> BestMap:
    """Choose a map by its score on held-out rows, and say what is left of the error after it.

    Taken is what `choose` takes: the first map within one standard error of each smaller held-out
    score that is better than the model by its 95 % interval. Name simple maps first.

    Parameters
    ----------
    predictions : Predictions
        Before the maps.
    calibrators : str, Calibrator, list or dict, optional
        As in `compare_calibrators`.
    **options
        Those of `out_of_fold`: test, lens, n_resamples, rng, n_jobs.

    Returns
    -------
    BestMap
        The map, fitted to all rows, with its held-out score and p-value.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or there are fewer than 10 rows.
    NotApplicable
        If no map can be fitted in all folds.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> best = best_map(data, "temperature", n_resamples=99, rng=1)
    >>> best.name, best.helps, best.n, best.n_fit
    ('temperature', True, 300, 240)
    """
    return best_of(out_of_fold(predictions, calibrators, **options), predictions)


def best_of(found: OutOfFold, predictions: Any, data: all_maps.AnySet | None = None) -> BestMap:
    """Choose among maps that were scored and tested out of fold, by the rule of `best_map`.

    Raises
    ------
    NotApplicable
        If none of them could be fitted in all folds.
    """
    failed = [row for row in found.rows if row.reason]
    if len(failed) == len(found.rows) - 1:
        why = f"{failed[0].name}: {failed[0].reason}" if failed else "all were left out"
        raise NotApplicable(f"no map could be fitted: {why}", "pass other maps, or more rows")
    scored = found.maps, found.scores, found.weight, found.units
    chosen = choose(*scored, n_folds=found.n_folds, m=found.m)
    tests = found[chosen.name].tests
    return replace(
        chosen,
        calibrator=fit_to_all(chosen.calibrator, predictions, data)[0],
        test=tests[0].test if tests else "",
        pvalue_after=tests[0].pvalue if tests else None,
        n_fit=found.n_fit,
    )


def choose(
    maps: outcomes.Maps, scores: Scores, weight: Floats, units: Codes, *, n_folds: int, m: int
) -> BestMap:
    r"""Choose a map by its scores on held-out rows.

    With the mean held-out scores :math:`\bar S_k` of the maps, and :math:`\bar S_0` of the model as
    it is, taken is the first map in the order given, the model before all, with

    .. math:: \bar S_k - \bar S_j \le \mathrm{se}(\bar S_k - \bar S_j) \text{ for all } j, \quad
        \bar S_0 - \bar S_k > t \, \mathrm{se}(\bar S_0 - \bar S_k),

    or else the model as it is; t is the .975 quantile of Student's distribution, over rows or
    clusters. The first is the one-standard-error rule of Breiman et al. for paired differences, and
    for all other maps, since the error beside the best may be that of another kind of map; with one
    standard error in the second, what is taken for 200 rows harms too often (study "What helps").
    The score is the log loss, or the Brier score where a map gives an observed class probability 0.
    Where the model does so, it is the log loss of the maps that do not, and the model's probability
    counts as 2.2e-16. Of forecasts it is the CRPS, and no map is taken that rules out more of the
    outcomes than the model.

    Parameters
    ----------
    maps : dict of Calibrator
        By name, simple ones first.
    scores : dict of dict of (n,) arrays
        Of the held-out rows, by map and by name; empty where a map could not be fitted.
    weight, units : (n,) array
        Weights of the held-out rows, and their clusters or numbers.
    n_folds, m : int
        Folds and classes.

    Returns
    -------
    BestMap
        Also of no map.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, section 3.4.3.
    """
    score, title, losses = _judged(scores, weight, m)
    model = losses[REFERENCE]
    gains = {name: mean_and_error(model - own, weight, units) for name, own in losses.items()}
    times = float(stdtrit(max(int(units.max()), 1), (1 + LEVEL) / 2))
    name = REFERENCE
    for key, values in losses.items():
        against = (mean_and_error(values - other, weight, units) for other in losses.values())
        gain, error = gains[key]
        if (key == REFERENCE or (error and gain > times * error)) and all(
            behind <= (near or 0.0) for behind, near in against
        ):
            name = key
            break
    gain, error = gains[name]
    half = math.inf if error is None else times * error
    low, high = score.in_range(-gain - half, -gain + half, m)
    return BestMap(
        name=name,
        calibrator=maps[name],
        score=title,
        after=mean_score(losses[name], weight),
        difference=0.0 - gain,
        low=low,
        high=high,
        n=len(weight),
        n_folds=n_folds,
        needed=_needed(gains.values(), times, len(weight)) if name == REFERENCE else None,
        left_out=tuple(name for name, own in scores.items() if own and name not in losses),
    )


def _judged(scores: Scores, weight: Floats, m: int) -> tuple[ProperScore, str, dict[str, Floats]]:
    """Return the score by which maps are chosen, its name, and the losses of those it judges."""
    held = {name: own for name, own in scores.items() if own}
    ruled = {name: ruled_out(own, weight) for name, own in held.items()}
    model, log = ruled[REFERENCE], LOG_LOSS.title
    if not m:
        able = [name for name in held if ruled[name] <= model]
        return OF_NUMBERS, OF_NUMBERS.title, {x: held[x][OF_NUMBERS.title] for x in able}
    if model and 0 in ruled.values():
        losses = {name: own[log] for name, own in held.items() if not ruled[name]}
        clipped = np.minimum(held[REFERENCE][log], -LOG_SMALLEST_PROBABILITY)
        return LOG_LOSS, f"{log} (0 counts as 2.2e-16)", {REFERENCE: clipped, **losses}
    score = BRIER if any(ruled.values()) else LOG_LOSS
    return score, score.title, {name: own[score.title] for name, own in held.items()}


def _needed(gains: Iterable[tuple[float, float | None]], times: float, n: int) -> int | None:
    """Return how many rows have a gain as large as here beyond the bound, to two digits.

    A gain that is one standard error beyond it is beyond it in five of six data sets.
    """
    factors = [((times + POWER) * error / gain) ** 2 for gain, error in gains if error and gain > 0]
    if not factors or not 1 < min(factors) <= MOST_TIMES:
        return None
    exact = n * min(factors)
    step: int = 10 ** max(math.floor(math.log10(exact)) - 1, 0)
    return math.ceil(exact / step) * step


def first_map(parts: Sequence[Any], seed: int) -> BestMap | None:
    """Choose the kind of map that helps, which each part has fitted to its own rows.

    Compared by 5 folds, of rows or, where rows depend on each other, of clusters, are maps of two
    classes with one number, a shift of the log odds and a temperature, the one with the better
    score first, then Platt and beta maps and, from 500 rows on, Venn-Abers and quadratic ones; else
    temperature, structured vector and matrix, and Dirichlet maps, from 50 classes on the first two:
    those that `AutoCalibrator` mixes and that are quick; and ordinal scaling of classes that are
    ordered. (Kernels double the time of a verdict, quadratic maps of ten classes add a third.)
    Where a class has no label, it is temperature alone, since the others could give that class no
    chance. Where there are more than 400,000 rows times classes, a sample of so many is compared,
    drawn by the seed. A map that the rows of a fold leave undefined is not taken.

    Of forecasts they are variance scaling, with an offset too, and beta and isotonic recalibration
    of the PIT, on at most 10,000 rows, 1,000 of laws of SciPy, 300 of mixtures.

    Parameters
    ----------
    parts : sequence of Predictions or Forecasts
        Rows that share no map: groups, or all rows as the only part.
    seed : int
        Of the folds and the sample.

    Returns
    -------
    BestMap or None
        None where a part has fewer than 10 rows, or the CRPS of forecasts is infinite, or an
        integral, which takes long.
    """
    m = parts[0].m
    rows = MOST_NUMBERS // m if m else min(part.law.most_compared for part in parts)
    least = min(part.n for part in parts)
    if not rows or least < FEWEST_ROWS or not (m or all(part.has_crps for part in parts)):
        return None
    most = max(rows // len(parts), FEWEST_SAMPLED)
    tests = outcomes.CalibrationTests(0)
    setups = [make_setup(_sample(part, most, seed), tests_of=tests, seed=seed) for part in parts]
    simple: object = None  # of forecasts those that are compared by default
    if m:
        seen = all(np.unique(one.predictions.labels[one.rows]).size == m for one in setups)
        maps_of = all_maps.simple_maps(least, m, ordinal=parts[0].ordinal)
        simple = maps_of if seen else [TEMPERATURE]
    maps = all_maps.resolve_calibrators(simple, m)
    scores = {}
    for name, one in maps.items():
        own = [outcomes.held_out_scores(one, setup) for setup in setups]
        keys = own[0] if all(own) else ()
        every = {key: np.concatenate([part[key] for part in own]) for key in keys}
        if m:  # a shift and a temperature of one prediction are the same map
            every = {key: np.round(values, DECIMALS) for key, values in every.items()}
        scores[name] = every
    weight = np.concatenate([setup.weight for setup in setups])
    units = np.concatenate([setup.units + k * most for k, setup in enumerate(setups)])
    codes = np.unique(units, return_inverse=True)[1]
    first = [name for name in (all_maps.SHIFT, TEMPERATURE) if scores.get(name)]
    first.sort(key=lambda name: mean_score(scores[name][LOG_LOSS.title], weight))
    scores = {name: scores[name] for name in (REFERENCE, *first, *scores)}
    chosen = choose(maps, scores, weight, codes, n_folds=FOLDS, m=m)
    if len(parts) > 1 or chosen.name not in SHORT:
        return chosen
    fitted = fit_to_all(chosen.calibrator, setups[0].predictions, None)[0]
    key = SHORT[chosen.name]
    numbers = {one.name: one.value for one in fitted.coefficients() if one.name == key}
    return replace(chosen, numbers=numbers)


def _sample(part: Any, most: int, seed: int) -> Any:
    """Draw some rows, with the others of their clusters."""
    if part.n <= most:
        return part
    codes = part.clusters if part.clusters is not None else np.arange(part.n)
    order = np.random.default_rng(seed).permutation(int(codes.max()) + 1)[codes]
    return part.subset(np.sort(np.argsort(order, kind="stable")[:most]))
