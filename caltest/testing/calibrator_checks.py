"""Properties of calibrators, searched for a counterexample by Hypothesis."""

from __future__ import annotations

import inspect
import json
import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from sklearn.base import clone

from caltest import checks
from caltest.predictions import Predictions
from caltest.testing import strategies
from caltest.testing.strategies import distance, search
from caltest.types import Floats

MOST_FITTED = 10  # rows of a set that a calibrator is fitted to, and that a failure prints
LARGE = 3000  # rows of a sample on which a fitted map is near the identity
NEAR = 0.05  # the mean change of a probability that is near enough


@dataclass(frozen=True)
class CheckContext:
    """What a property is checked on.

    Attributes
    ----------
    subject : object
        A calibrator or a test.
    m : int
        The number of classes.
    atol : float
        How far apart equal probabilities may be.
    rng : int
        The seed.
    """

    subject: Any
    m: int
    atol: float
    rng: int


@dataclass(frozen=True)
class Property:
    """A property, and whether it holds for those only that declare it.

    Attributes
    ----------
    check : callable
        `check(context, **drawn)` asserts it; the names of its arguments say what is drawn.
    declared : bool
        Whether it must be declared.
    zeros : bool
        Whether it holds for maps that were fitted to probabilities of 0 as well.
    """

    check: Callable[..., None]
    declared: bool = False
    zeros: bool = False

    @property
    def claim(self) -> str:
        """What holds, in words: those of the docstring."""
        words = str(self.check.__doc__)
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
    optional = [name for name, one in CALIBRATOR_PROPERTIES.items() if one.declared]
    for name in declares:
        checks.check_choice(name, optional, "declares")
    known = CALIBRATOR_PROPERTIES
    fit = getattr(calibrator, "fit", None)
    able = {
        "weights": fit is not None and "sample_weight" in inspect.signature(fit).parameters,
        "json": hasattr(calibrator, "to_dict") and hasattr(calibrator, "from_dict"),
    }
    if properties is None:
        declared = {name: not one.declared or name in declares for name, one in known.items()}
        properties = [name for name, holds in (declared | able).items() if holds]
    for chosen in [known[checks.check_choice(name, known, "properties")] for name in properties]:
        for m in n_classes:
            _check(chosen, CheckContext(calibrator, m, atol, rng), examples)


def _check(chosen: Property, context: CheckContext, examples: int) -> None:
    m = context.m
    drawn = {
        "data": fitting_data(m) | fitting_data(m, zeros=True) if chosen.zeros else fitting_data(m),
        "probs": strategies.probs(m=m),
        "times": st.lists(st.integers(1, 3), min_size=1, max_size=MOST_FITTED),
        "order": st.permutations(range(m)),
        "sample": st.integers(0, 1),
    }
    arguments = {name: drawn[name] for name in [*inspect.signature(chosen.check).parameters][1:]}

    def asserted(**values: Any) -> None:
        chosen.check(context, **values)

    asserted.__name__ = chosen.check.__name__  # that a failure prints
    broken = f"broken for {m} classes: {chosen.claim}"
    try:
        search(asserted, arguments, examples=examples, rng=context.rng)
    except AssertionError as error:
        error.add_note(broken)
        raise
    except Unsatisfiable as error:
        told = "fit raised a ValueError for every example: it must take some predictions"
        raise AssertionError(f"{told} of {m} classes with labels 0 to {m - 1}") from error
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


def stays_on_the_simplex(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """Its rows are probabilities, whatever it is given."""
    out = _calibrated(_fitted(context.subject, data), probs)
    assert out.shape == probs.shape
    assert np.isfinite(out).all()
    assert out.min() >= 0
    given = np.abs(probs.sum(axis=1) - 1)  # what is rounded may be returned as it came
    assert (np.abs(out.sum(axis=1) - 1) <= 1e-9 + 2 * given).all()


def leaves_its_inputs_alone(context: CheckContext, data: Predictions) -> None:
    """It changes none of its inputs."""
    probs, labels = data.probs.copy(), data.labels.copy()
    fitted = _fitted(context.subject, data)
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        clone(context.subject, safe=False).fit(probs, labels)
        (fitted.predict_proba if hasattr(fitted, "predict_proba") else fitted.transform)(probs)
    np.testing.assert_array_equal(probs, data.probs)
    np.testing.assert_array_equal(labels, data.labels)


def fits_the_same_map_again(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """Fitted again to the same data it is the same map."""
    first, second = (_calibrated(_fitted(context.subject, data), probs) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def is_the_same_after_pickling(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """It is the same to the last bit after pickling."""
    fitted = _fitted(context.subject, data)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301, what was written just now
    np.testing.assert_array_equal(_calibrated(again, probs), _calibrated(fitted, probs))


def is_the_same_after_json(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """It is the same to the last bit after JSON."""
    fitted = _fitted(context.subject, data)
    again = type(fitted).from_dict(json.loads(json.dumps(fitted.to_dict())))
    np.testing.assert_array_equal(_calibrated(again, probs), _calibrated(fitted, probs))


def counts_weights_as_repeated_rows(
    context: CheckContext, data: Predictions, times: list[int]
) -> None:
    """An integer weight counts as that many rows."""
    repeats = np.resize(times, data.n)
    fitted = _fitted(context.subject, data, repeats.astype(float))
    rows = np.repeat(np.arange(data.n), repeats)
    again = strategies.generated(data.probs[rows], data.labels[rows])
    expected = _calibrated(_fitted(context.subject, again), data.probs)
    assert distance(_calibrated(fitted, data.probs), expected) <= context.atol


def does_not_see_the_order_of_classes(
    context: CheckContext, data: Predictions, order: list[int]
) -> None:
    """Classes in another order give the same map."""
    columns = np.array(order)
    moved = strategies.generated(data.probs[:, columns], np.argsort(columns)[data.labels])
    out = _calibrated(_fitted(context.subject, data), data.probs)
    again = _calibrated(_fitted(context.subject, moved), moved.probs)
    assert distance(again, out[:, columns]) <= context.atol


def keeps_the_class_it_predicts(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """The class it predicts stays."""
    out = _calibrated(_fitted(context.subject, data), probs)
    largest = out[np.arange(len(out)), probs.argmax(axis=1)]
    assert (largest >= out.max(axis=1) - context.atol).all()


def keeps_the_ranking(context: CheckContext, data: Predictions, probs: Floats) -> None:
    """The ranking stays."""
    out = _calibrated(_fitted(context.subject, data), probs)
    if context.m == 2:
        probs, out = probs[:, 1:].T, out[:, 1:].T  # of the rows, where there are two classes
    order = np.argsort(probs, axis=1, kind="stable")
    before = np.diff(np.take_along_axis(probs, order, axis=1), axis=1)
    after = np.diff(np.take_along_axis(out, order, axis=1), axis=1)
    assert (after[before > 0] >= -context.atol).all()


def is_no_worse_than_the_identity(context: CheckContext, data: Predictions) -> None:
    """On its fitting data the log loss is no worse than that of the identity."""
    out = _calibrated(_fitted(context.subject, data), data.probs)
    rows = np.arange(data.n)
    with np.errstate(divide="ignore", invalid="ignore"):
        before, after = (-np.log(p[rows, data.labels]).mean() for p in (data.probs, out))
    assert after <= before + context.atol


def hardly_changes_what_is_calibrated(context: CheckContext, sample: int) -> None:
    """Of calibrated predictions it makes about the same."""
    rng = np.random.default_rng(sample)
    probs = rng.dirichlet(np.ones(context.m), LARGE)
    labels = strategies.redrawn(probs, rng)
    once = _calibrated(_fitted(context.subject, strategies.generated(probs, labels)), probs)
    assert np.abs(once - probs).mean() <= NEAR
    twice = _calibrated(_fitted(context.subject, strategies.generated(once, labels)), once)
    assert np.abs(twice - once).mean() <= NEAR


CALIBRATOR_PROPERTIES = {
    "simplex": Property(stays_on_the_simplex, zeros=True),
    "inputs": Property(leaves_its_inputs_alone),
    "repeats": Property(fits_the_same_map_again),
    "pickle": Property(is_the_same_after_pickling),
    "json": Property(is_the_same_after_json),
    "weights": Property(counts_weights_as_repeated_rows),
    "equivariant": Property(does_not_see_the_order_of_classes, declared=True),
    "accuracy": Property(keeps_the_class_it_predicts, declared=True),
    "ranking": Property(keeps_the_ranking, declared=True),
    "log-loss": Property(is_no_worse_than_the_identity, declared=True),
    "near-identity": Property(hardly_changes_what_is_calibrated),
}
