"""What is true in a planned study: a map from the predictions to the law of the labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest import sources, validation
from caltest.numerics.softmax import softmax

Floats = NDArray[np.float64]

CALIBRATED = "P(Y = k | p) = p_k: the predictions are calibrated"


@dataclass(frozen=True)
class Truth:
    """The law of the labels given the predictions.

    Attributes
    ----------
    text : str
        How it prints.
    of : callable
        Takes predictions p (n, m) and returns P(Y = k | p), (n, m).
    """

    text: str
    of: Callable[[Floats], Floats]


def as_truth(
    m: int,
    *,
    temperature: object = None,
    slope: object = None,
    intercept: object = None,
    ratio: object = None,
    noise: object = None,
    truth: object = None,
) -> Truth:
    """Return the truth that the options of `power` state, calibration where none is given.

    Parameters
    ----------
    m : int
        Number of classes.
    temperature, slope, intercept, ratio, noise, truth : optional
        See `power`; slope and intercept go together, the others exclude each other.

    Returns
    -------
    Truth
        The truth.

    Raises
    ------
    InvalidInput
        If two are given, or one breaks its rule.
    NotApplicable
        If `ratio` is given for several classes.
    """
    odds = None if slope is None and intercept is None else (slope, intercept)
    families: dict[str, tuple[object, Callable[[Any, int], Truth]]] = {
        "temperature": (temperature, _temperature),
        "slope and intercept": (odds, _log_odds),
        "ratio": (ratio, _ratio),
        "noise": (noise, _noise),
        "truth": (truth, _function),
    }
    given = {name: pair for name, pair in families.items() if pair[0] is not None}
    validation.check_one_truth(list(given))
    for value, make in given.values():
        return make(value, m)
    return Truth(CALIBRATED, lambda p: p)


def _temperature(value: object, _m: int) -> Truth:
    T = validation.check_positive(value, "temperature")
    return Truth(f"softmax(log p / T), temperature T = {T:g}", lambda p: softmax(_log(p), 1 / T))


def _log_odds(pair: tuple[object, object], m: int) -> Truth:
    b = 1.0 if pair[0] is None else validation.check_finite(pair[0], "slope")
    a = validation.check_intercept(0.0 if pair[1] is None else pair[1], m)
    shown = f"{a[1]:g}" if m == 2 else f"({', '.join(f'{x:g}' for x in a)})"
    what = "a + b logit(p)" if m == 2 else "a + b log p up to a constant"
    text = f"log odds {what}, slope b = {b:g}, intercept a = {shown}"
    return Truth(text, lambda p: softmax(_log(p), b, a))


def _ratio(value: object, m: int) -> Truth:
    ratio = validation.check_positive(value, "ratio")
    validation.check_two_classes(m, "ratio", "use intercept=, temperature= or truth=")

    def of(p: Floats) -> Floats:
        event = validation.check_below_one(p[:, 1] / ratio, p[:, 1])
        return np.column_stack([1 - event, event])

    return Truth(f"p / r, expected over observed events r = {ratio:g}", of)


def _noise(value: object, _m: int) -> Truth:
    share = validation.check_share(value, "noise")
    text = f"a share of {share:g} of the labels is drawn uniformly over the classes"
    return Truth(text, lambda p: (1 - share) * p + share / p.shape[1])


def _function(model: Any, _m: int) -> Truth:
    validation.check_truth(sources.is_model(model), model)

    def of(p: Floats) -> Floats:
        values = validation.check_probs(sources.predict(model, p)[0], name="true probabilities")
        return validation.check_true_probs(values, p.shape)

    return Truth(sources.describe(model), of)


def _log(p: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))
