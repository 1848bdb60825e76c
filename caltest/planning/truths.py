"""What is true in a planned study, and how far it is from the predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.numerics.softmax import softmax
from caltest.planning.distributions import PredictionDistribution
from caltest.predictions import models
from caltest.types import Floats

CALIBRATED = "P(Y = k | p) = p_k: the predictions are calibrated"
DRAWS = 20_000
ABOVE_ONE = 1e-12  # by which rounding may take a probability above 1


@dataclass(frozen=True)
class LabelDistribution:
    """The distribution of the labels given the predictions.

    Attributes
    ----------
    text : str
        How it prints.
    of : callable
        Takes predictions p (n, m) and returns P(Y = k | p), (n, m).
    """

    text: str
    of: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class StatedTruth:
    """What the user of `power` states about the truth; calibration where that is nothing.

    Attributes
    ----------
    temperature, slope, intercept, ratio, noise, truth : optional
        See `power`; slope and intercept go together, the others exclude each other.
    """

    temperature: object = None
    slope: object = None
    intercept: object = None
    ratio: object = None
    noise: object = None
    truth: object = None

    def for_classes(self, m: int) -> LabelDistribution:
        """Return what is stated, for predictions of m classes.

        Raises
        ------
        InvalidInput
            If two truths are stated, or one breaks its rule.
        NotApplicable
            If `ratio` is stated for several classes.
        """
        no_odds = self.slope is None and self.intercept is None
        families: dict[str, tuple[object, Callable[[Any, int], LabelDistribution]]] = {
            "temperature": (self.temperature, _temperature),
            "slope and intercept": (None if no_odds else (self.slope, self.intercept), _log_odds),
            "ratio": (self.ratio, _ratio),
            "noise": (self.noise, _noise),
            "truth": (self.truth, _function),
        }
        stated = {name: pair for name, pair in families.items() if pair[0] is not None}
        _check_one(list(stated))
        for value, make in stated.values():
            return make(value, m)
        return LabelDistribution(CALIBRATED, lambda p: p)


def _temperature(value: object, _m: int) -> LabelDistribution:
    T = checks.check_positive(value, "temperature")
    return LabelDistribution(
        f"softmax(log p / T), temperature T = {T:g}", lambda p: softmax(_log(p), 1 / T)
    )


def _log_odds(pair: tuple[object, object], m: int) -> LabelDistribution:
    b = 1.0 if pair[0] is None else checks.check_finite(pair[0], "slope")
    a = _check_intercept(0.0 if pair[1] is None else pair[1], m)
    shown_a = f"{a[1]:g}" if m == 2 else f"({', '.join(f'{x:g}' for x in a)})"
    what = "a + b logit(p)" if m == 2 else "a + b log p up to a constant"
    text = f"log odds {what}, slope b = {b:g}, intercept a = {shown_a}"
    return LabelDistribution(text, lambda p: softmax(_log(p), b, a))


def _ratio(value: object, m: int) -> LabelDistribution:
    ratio = checks.check_positive(value, "ratio")
    check_two_classes(m, "ratio", "use intercept=, temperature= or truth=")

    def of(p: Floats) -> Floats:
        event = _check_at_most_one(p[:, 1] / ratio, p[:, 1])
        return np.column_stack([1 - event, event])

    return LabelDistribution(f"p / r, expected over observed events r = {ratio:g}", of)


def _noise(value: object, _m: int) -> LabelDistribution:
    share = checks.check_share(value, "noise")
    text = f"a share of {share:g} of the labels is drawn uniformly over the classes"
    return LabelDistribution(text, lambda p: (1 - share) * p + share / p.shape[1])


def _function(model: Any, _m: int) -> LabelDistribution:
    _check_maps(model)

    def of(p: Floats) -> Floats:
        values = checks.check_probs(models.predict(model, p)[0], name="true probabilities")
        return _check_shape(values, p.shape)

    return LabelDistribution(models.describe(model), of)


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))


# ---- how far it is from the predictions ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    r"""Size of a deviation from calibration, over the distribution of the predictions.

    Attributes
    ----------
    error : float
        :math:`E[\frac12 \sum_k |P(Y = k \mid p) - p_k|]`, the true calibration error in total
        variation; for two classes the mean absolute error of a risk.
    excess : float
        Expected Kullback-Leibler divergence of the predictions from the truth: the log loss that a
        perfect recalibration would save.
    predicted, true : float
        For two classes the mean risk as predicted and the true event rate; for more the mean
        confidence and the true accuracy.
    draws : int or None
        Predictions drawn to compute it; None where all rows were taken.
    """

    error: float
    excess: float
    predicted: float
    true: float
    draws: int | None


def effect_of(
    distribution: PredictionDistribution, truth: LabelDistribution, rng: np.random.Generator
) -> Effect:
    """Compute the size of the deviation, from all rows where rows are resampled."""
    p = distribution.draw(rng, DRAWS) if distribution.pool is None else distribution.pool
    q = truth.of(p)
    top = np.ones(len(p), dtype=np.intp) if distribution.m == 2 else p.argmax(axis=1)
    rows = np.arange(len(p))

    def mean(values: Floats) -> float:
        return float(np.average(values, weights=distribution.weights))

    return Effect(
        error=mean(np.abs(p - q).sum(axis=1) / 2),
        excess=mean(_divergence(q, p)),
        predicted=mean(p[rows, top]),
        true=mean(q[rows, top]),
        draws=DRAWS if distribution.pool is None else None,
    )


def _divergence(q: Floats, p: Floats) -> Floats:
    from scipy.special import rel_entr

    return np.asarray(np.maximum(rel_entr(q, p).sum(axis=1), 0.0))


# ---- checks -------------------------------------------------------------------------------------


def check_two_classes(m: int, name: str, remedy: str) -> None:
    """Check that what is about an event has one."""
    if m != 2:
        raise NotApplicable(f"{name} is about the event of two classes, and there are {m}", remedy)


def _check_one(stated: Sequence[str]) -> None:
    """Check that the truth is stated once."""
    if len(stated) > 1:
        rule = (
            "the truth must be stated once: temperature, slope and intercept, ratio, noise or truth"
        )
        raise invalid(rule, " and ".join(stated), "leave out all but one")


def _check_intercept(value: object, m: int) -> Floats:
    """Check an intercept and return one for each class: a number for two classes, else (m,)."""
    values = checks.as_numbers(value, "intercept").astype(np.float64)
    wanted = "a finite number" if m == 2 else f"{m} finite numbers, one for each class, or 0"
    remedy = "pass what is added to the log odds" + ("" if m == 2 else " of each class")
    right = values.shape == () if m == 2 else values.shape == (m,) or not values.any()
    if not (right and np.isfinite(values).all()):
        raise invalid(f"intercept must be {wanted}", shown(value), remedy)
    return np.array([0.0, float(values)]) if m == 2 else np.broadcast_to(values, m).copy()


def _check_at_most_one(true: Floats, predicted: Floats) -> Floats:
    """Check that the true risks under a ratio are probabilities."""
    row = int(np.argmax(true))
    if true[row] > 1 + ABOVE_ONE:
        rule = "ratio must leave the true risks p / ratio at most 1"
        got = f"{true[row]:.4g} for p = {predicted[row]:.4g}"
        raise invalid(rule, got, "pass a larger ratio, or shift the log odds by intercept=")
    return np.minimum(true, 1.0)


def _check_maps(model: object) -> None:
    """Check that a truth maps predictions to probabilities."""
    if not models.is_model(model):
        rule = "truth must be a function of the predictions or a fitted calibrator"
        raise invalid(rule, shown(model), "pass lambda p: ..., or use temperature=, ratio=, ...")


def _check_shape(values: Floats, shape: tuple[int, ...]) -> Floats:
    """Check that true probabilities belong to the predictions."""
    if values.shape != shape:
        rule = f"truth must return probabilities of shape {shape}, as the predictions have"
        raise invalid(rule, f"shape {values.shape}", "return one row per prediction")
    return values
