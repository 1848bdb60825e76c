"""The map that the held-out proper score prefers, and what is left of the error after it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from caltest.calibrators import Calibrator
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Inputs
from caltest.comparison.calibrators import fit_to_all
from caltest.comparison.out_of_fold import OutOfFold, out_of_fold
from caltest.comparison.scores import SCORES, in_range, mean_and_error, mean_score
from caltest.errors import NotApplicable
from caltest.predictions import Predictions
from caltest.results.compared_calibrators import REFERENCE

Floats = NDArray[np.float64]

LOG_LOSS, BRIER = "log loss", "Brier score"
LEVEL = 0.95
RULE = (
    "the first map in the order given, the model as it is before all, whose held-out {score} is "
    "within one standard error of the least"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BestMap:
    """The map that the held-out proper score prefers.

    Attributes
    ----------
    name : str
        Of the map; "identity" where none is better than the model as it is.
    calibrator : Calibrator
        Fitted to all rows.
    rule, score : str
        How it was chosen, and by which proper score.
    before, after : float
        Mean score of the held-out rows without and with the map; less is better.
    difference, low, high : float
        `after` less `before`, and its 95 % interval, in which rows, or clusters, are independent
        and the choice among several maps is taken as made.
    test, lens : str
        The test of the held-out rows.
    pvalue_before, pvalue_after : float or None
        Its p-values, not adjusted, as in `compare_calibrators`; None where the data leave it
        undefined.
    n, n_fit, n_folds : int
        Rows that were held out and tested, rows that each map was fitted to, and folds.
    found : OutOfFold
        All maps, with their tests.
    """

    name: str
    calibrator: Calibrator
    rule: str
    score: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    test: str
    lens: str
    pvalue_before: float | None
    pvalue_after: float | None
    n: int
    n_fit: int
    n_folds: int
    found: OutOfFold

    @property
    def helps(self) -> bool:
        """Whether the held-out score is better with the map, by its interval."""
        return self.high < 0


def best_map(
    predictions: Predictions,
    calibrators: object = None,
    *,
    data: CalibrationSet | None = None,
    **options: Any,
) -> BestMap:
    r"""Choose a map by its score on held-out rows, and say what is left of the error after it.

    Of the mean held-out scores :math:`\bar S_k` of the maps, the least is that of map b. Taken is
    the first map in the order given, the model as it is before all, with

    .. math:: \bar S_k - \bar S_b \le \mathrm{se}(\bar S_k - \bar S_b),

    the one-standard-error rule of Breiman et al. for paired differences: name simple maps first.
    The score is the log loss, or the Brier score where a map gives an observed class
    probability 0.

    Parameters
    ----------
    predictions : Predictions
        Before the maps.
    calibrators : str, Calibrator, list or dict, optional
        As in `compare_calibrators`.
    data : CalibrationSet, optional
        What the maps are fitted to where it is not the probabilities, as logits.
    **options
        Those of `out_of_fold`: test, lens, cv, n_resamples, rng, n_jobs.

    Returns
    -------
    BestMap
        The map, fitted to all rows, with held-out scores and p-values before and after.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or there are fewer than 10 rows.
    NotApplicable
        If no map can be fitted in all folds.

    References
    ----------
    Breiman, Friedman, Olshen, Stone (1984), Classification and regression trees, section 3.4.3.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> best = best_map(data, "temperature", n_resamples=99, rng=1)
    >>> best.name, best.helps, best.n, best.n_fit
    ('temperature', True, 300, 240)
    """
    found = out_of_fold(predictions, calibrators, data=data, **options)
    return best_of(found, predictions, data)


def best_of(
    found: OutOfFold, predictions: Predictions, data: CalibrationSet | None = None
) -> BestMap:
    """Choose among maps that were scored and tested out of fold, by the rule of `best_map`.

    Raises
    ------
    NotApplicable
        If none of them could be fitted in all folds.
    """
    failed = [row for row in found.rows if row.reason]
    if len(failed) == len(found.rows) - 1:
        why = f"{failed[0].name}: {failed[0].reason}" if failed else "all were left out"
        raise NotApplicable(
            f"no map could be fitted: {why}",
            "pass other maps, or more rows",
        )
    score = _score(found)
    losses = {name: scores[score] for name, scores in found.scores.items() if scores}
    name = one_standard_error(losses, found)
    difference, low, high = _interval(losses[name] - losses[REFERENCE], score, found)
    before, after = (found[one].tests for one in (REFERENCE, name))
    inputs = Inputs(predictions.probs, from_logits=False)
    rows = data or CalibrationSet(inputs, predictions.labels, predictions.sample_weight)
    return BestMap(
        name=name,
        calibrator=fit_to_all(found.maps[name], predictions, rows)[0],
        rule=RULE.format(score=score),
        score=score,
        before=mean_score(losses[REFERENCE], found.weight),
        after=mean_score(losses[name], found.weight),
        difference=difference,
        low=low,
        high=high,
        test=before[0].test if before else "",
        lens=before[0].lens if before else "",
        pvalue_before=before[0].pvalue if before else None,
        pvalue_after=after[0].pvalue if after else None,
        n=found.n_held_out,
        n_fit=found.n_fit,
        n_folds=found.n_folds,
        found=found,
    )


def _score(found: OutOfFold) -> str:
    """Return the score that all maps can be compared by."""
    kept = found.weight > 0
    finite = all(np.isfinite(s[LOG_LOSS][kept]).all() for s in found.scores.values() if s)
    return LOG_LOSS if finite else BRIER


def one_standard_error(losses: dict[str, Floats], found: OutOfFold) -> str:
    """Return the first name whose mean loss is within one standard error of the least."""
    means = {name: mean_score(values, found.weight) for name, values in losses.items()}
    least = min(means, key=means.__getitem__)
    for name, values in losses.items():
        mean, error = mean_and_error(values - losses[least], found.weight, found.units)
        if mean <= (error or 0.0):
            return name
    return least


def _interval(differences: Floats, score: str, found: OutOfFold) -> tuple[float, float, float]:
    """Return a mean of differences with its interval by Student's t over rows or clusters."""
    mean, error = mean_and_error(differences, found.weight, found.units)
    if error is None:
        return mean, -math.inf, math.inf
    count = int(found.units.max()) + 1
    half = float(stdtrit(count - 1, (1 + LEVEL) / 2)) * error
    kind = next(one for one in SCORES.values() if one.title == score)
    return (mean, *in_range(mean - half, mean + half, kind, found.m))
