"""Properties of calibrators, searched for a counterexample by Hypothesis."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from sklearn.base import clone

from caltest import checks
from caltest.predictions import Predictions
from caltest.testing import strategies
from caltest.types import Floats

MOST_FITTED = 10  # rows of a set that a calibrator is fitted to, and that a failure prints
LARGE = 3000  # rows of a sample on which a fitted map is near the identity
NEAR = 0.05  # the mean change of a probability that is near enough
# Properties that hold for the calibrators that declare them.
DECLARED = ("equivariant", "accuracy", "ranking", "log-loss")


def claim_of(check: Callable[..., None]) -> str:
    """Return what a property says, in words: those of its docstring."""
    words = str(check.__doc__)
    return words[0].lower() + words[1:].rstrip(".")


def check_calibrator(
    calibrator: object,
    *,
    declares: Sequence[str] = (),
    properties: Sequence[str] | None = None,
    n_classes: Sequence[int] = (2, 3),
    examples: int = 50,
    atol: float = 1e-6,
    rng: int = 0,
) -> None:
    """Fail where a calibrator breaks what its users take for granted, with a smallest example.

    Parameters
    ----------
    calibrator : object
        Not fitted, with `fit(probs, labels)` and `predict_proba(probs)`, or `transform`. Where its
        `fit` takes `sample_weight`, weights must count as repeated rows; where it has `to_dict` and
        `from_dict`, they must keep it to the last bit.
    declares : sequence of str
        What holds for this calibrator, and not for all: "equivariant" (classes in another order
        give the same map), "accuracy" (the class with the largest probability keeps it), "ranking"
        (of the rows by P(1) for two classes, of the classes in each row for more), "log-loss" (on
        its own fitting data no worse than the identity).
    properties : sequence of str, optional
        The keys of `CALIBRATOR_PROPERTIES` that are checked; by default all that apply.
    n_classes : sequence of int, default (2, 3)
        Numbers of classes.
    examples : int, default 50
        How many examples are tried for each property.
    atol : float, default 1e-6
        How far apart probabilities may be that should be equal; maps are fitted by iteration.
    rng : int, default 0
        The seed: the same examples in every run.

    Returns
    -------
    None
        Where nothing is broken.

    Raises
    ------
    AssertionError
        If a property is broken; the notes hold the example that Hypothesis has made small.
    InvalidInput
        If a name of a property is unknown.

    Examples
    --------
    >>> import caltest as ct
    >>> declares = ["equivariant", "accuracy", "ranking", "log-loss"]
    >>> ct.testing.check_calibrator(
    ...     ct.calibrators.TemperatureScaling(), declares=declares, examples=5
    ... )
    """
    for name in declares:
        checks.check_choice(name, DECLARED, "declares")
    known = CALIBRATOR_PROPERTIES
    fit = getattr(calibrator, "fit", None)
    able = {
        "weights": fit is not None and "sample_weight" in inspect.signature(fit).parameters,
        "json": hasattr(calibrator, "to_dict") and hasattr(calibrator, "from_dict"),
    }
    if properties is None:
        declared = {name: name not in DECLARED or name in declares for name in known}
        properties = [name for name, holds in (declared | able).items() if holds]
    for check in [known[checks.check_choice(name, known, "properties")] for name in properties]:
        for m in n_classes:
            given = {"calibrator": calibrator, "m": m, "atol": atol}
            _check(check, given, m=m, examples=examples, rng=rng)


def _check(
    check: Callable[..., None], given: dict[str, Any], *, m: int, examples: int, rng: int
) -> None:
    """Search for a counterexample; the names of the arguments say what is given, and drawn."""
    data = fitting_data(m)
    drawn = {
        "data": data | fitting_data(m, zeros=True) if check is stays_on_the_simplex else data,
        "probs": strategies.probs(m=m),
        "times": st.lists(st.integers(1, 3), min_size=1, max_size=MOST_FITTED),
        "order": st.permutations(range(m)),
        "sample": st.integers(0, 1),
    }
    names = inspect.signature(check).parameters
    arguments = {name: drawn[name] for name in names if name in drawn}
    fixed = {name: given[name] for name in names if name in given}

    def asserted(**values: Any) -> None:
        check(**fixed, **values)

    asserted.__name__ = check.__name__  # that a failure prints
    broken = f"broken for {m} classes: {claim_of(check)}"
    try:
        strategies.search(asserted, arguments, examples=examples, rng=rng)
    except AssertionError as error:
        error.add_note(broken)
        raise
    except Unsatisfiable as error:
        rule = "fit raised a ValueError for every example: it must take some predictions"
        raise AssertionError(f"{rule} of {m} classes with labels 0 to {m - 1}") from error
    except Exception as error:
        failed = AssertionError(f"{type(error).__name__}: {error}")
        for note in (*getattr(error, "__notes__", ()), broken):
            failed.add_note(note)
        raise failed from error


def _fitted(calibrator: Any, data: Predictions, weight: Floats | None = None) -> Any:
    """Fit a copy; an example that it refuses with a ValueError is none."""
    fresh = clone(calibrator, safe=False)
    options = {} if weight is None else {"sample_weight": weight.copy()}
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        try:
            fitted = fresh.fit(data.probs.copy(), data.labels.copy(), **options)
        except ValueError:
            reject()
    return fresh if fitted is None else fitted


def _calibrated(fitted: Any, probs: Floats) -> Floats:
    ask = fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.transform
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        out = np.asarray(ask(probs.copy()), dtype=float)
    return np.column_stack([1.0 - out, out]) if out.ndim == 1 else out


@st.composite
def fitting_data(draw: st.DrawFn, m: int, *, zeros: bool = False) -> Predictions:
    """Draw a few rows with labels of every class, to fit a calibrator to."""
    p = draw(strategies.probs((2 * m, max(2 * m, MOST_FITTED)), m, zeros=zeros, rounded=False))
    return strategies.generated(p, draw(strategies.labels(len(p), m, every=True)))


def stays_on_the_simplex(calibrator: Any, data: Predictions, probs: Floats) -> None:
    """Its rows are probabilities, whatever it is given."""
    out = _calibrated(_fitted(calibrator, data), probs)
    assert out.shape == probs.shape
    assert np.isfinite(out).all()
    assert out.min() >= 0
    given = np.abs(probs.sum(axis=1) - 1)  # what is rounded may be returned as it came
    assert (np.abs(out.sum(axis=1) - 1) <= 1e-9 + 2 * given).all()


def leaves_its_inputs_alone(calibrator: Any, data: Predictions) -> None:
    """It changes none of its inputs."""
    probs, labels = data.probs.copy(), data.labels.copy()
    fitted = _fitted(calibrator, data)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        clone(calibrator, safe=False).fit(probs, labels)
        (fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.transform)(probs)
    np.testing.assert_array_equal(probs, data.probs)
    np.testing.assert_array_equal(labels, data.labels)


def fits_the_same_map_again(calibrator: Any, data: Predictions, probs: Floats) -> None:
    """Fitted again to the same data it is the same map."""
    first, second = (_calibrated(_fitted(calibrator, data), probs) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def is_the_same_after_pickling(calibrator: Any, data: Predictions, probs: Floats) -> None:
    """It is the same to the last bit after pickling."""
    fitted = _fitted(calibrator, data)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301, what was written just now
    np.testing.assert_array_equal(_calibrated(again, probs), _calibrated(fitted, probs))


def is_the_same_after_json(calibrator: Any, data: Predictions, probs: Floats) -> None:
    """It is the same to the last bit after JSON."""
    fitted = _fitted(calibrator, data)
    again = type(fitted).from_dict(json.loads(json.dumps(fitted.to_dict())))
    np.testing.assert_array_equal(_calibrated(again, probs), _calibrated(fitted, probs))


def counts_weights_as_repeated_rows(
    calibrator: Any, data: Predictions, times: list[int], atol: float
) -> None:
    """An integer weight counts as that many rows."""
    repeats = np.resize(times, data.n)
    fitted = _fitted(calibrator, data, repeats.astype(float))
    rows = np.repeat(np.arange(data.n), repeats)
    again = strategies.generated(data.probs[rows], data.labels[rows])
    expected = _calibrated(_fitted(calibrator, again), data.probs)
    assert strategies.distance(_calibrated(fitted, data.probs), expected) <= atol


def does_not_see_the_order_of_classes(
    calibrator: Any, data: Predictions, order: list[int], atol: float
) -> None:
    """Classes in another order give the same map."""
    columns = np.array(order)
    moved = strategies.generated(data.probs[:, columns], np.argsort(columns)[data.labels])
    out = _calibrated(_fitted(calibrator, data), data.probs)
    again = _calibrated(_fitted(calibrator, moved), moved.probs)
    assert strategies.distance(again, out[:, columns]) <= atol


def keeps_the_class_it_predicts(
    calibrator: Any, data: Predictions, probs: Floats, atol: float
) -> None:
    """The class it predicts stays."""
    out = _calibrated(_fitted(calibrator, data), probs)
    assert (out[np.arange(len(out)), probs.argmax(axis=1)] >= out.max(axis=1) - atol).all()


def keeps_the_ranking(calibrator: Any, data: Predictions, probs: Floats, atol: float) -> None:
    """The ranking stays."""
    out = _calibrated(_fitted(calibrator, data), probs)
    if probs.shape[1] == 2:
        probs, out = probs[:, 1:].T, out[:, 1:].T  # of the rows, where there are two classes
    order = np.argsort(probs, axis=1, kind="stable")
    before = np.diff(np.take_along_axis(probs, order, axis=1), axis=1)
    after = np.diff(np.take_along_axis(out, order, axis=1), axis=1)
    assert (after[before > 0] >= -atol).all()


def is_no_worse_than_the_identity(calibrator: Any, data: Predictions, atol: float) -> None:
    """On its fitting data the log loss is no worse than that of the identity."""
    out = _calibrated(_fitted(calibrator, data), data.probs)
    rows = np.arange(data.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = (-np.log(p[rows, data.labels]).mean() for p in (data.probs, out))
    assert after <= before + atol


def hardly_changes_what_is_calibrated(calibrator: Any, sample: int, m: int) -> None:
    """Of calibrated predictions it makes about the same."""
    rng = np.random.default_rng(sample)
    probs = rng.dirichlet(np.ones(m), LARGE)
    labels = strategies.redrawn(probs, rng)
    once = _calibrated(_fitted(calibrator, strategies.generated(probs, labels)), probs)
    assert np.abs(once - probs).mean() <= NEAR
    twice = _calibrated(_fitted(calibrator, strategies.generated(once, labels)), once)
    assert np.abs(twice - once).mean() <= NEAR


CALIBRATOR_PROPERTIES: dict[str, Callable[..., None]] = {
    "simplex": stays_on_the_simplex,
    "inputs": leaves_its_inputs_alone,
    "repeats": fits_the_same_map_again,
    "pickle": is_the_same_after_pickling,
    "json": is_the_same_after_json,
    "weights": counts_weights_as_repeated_rows,
    "equivariant": does_not_see_the_order_of_classes,
    "accuracy": keeps_the_class_it_predicts,
    "ranking": keeps_the_ranking,
    "log-loss": is_no_worse_than_the_identity,
    "near-identity": hardly_changes_what_is_calibrated,
}
