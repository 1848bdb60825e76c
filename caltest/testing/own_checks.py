"""Checks of tests, models, lenses and calibrators of one's own, with examples by Hypothesis."""

from __future__ import annotations

import copy
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
from hypothesis.strategies import SearchStrategy
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from caltest import checks
from caltest.errors import NotApplicable, SuspectInputWarning, invalid, shown
from caltest.htests import test_calibration
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import departure
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.testing import strategies
from caltest.testing.strategies import distance, search
from caltest.types import Floats, Ints

Ask = Callable[..., float]  # of probabilities and labels, and a seed: a p-value
LEVELS = (0.01, 0.05, 0.1, 0.25, 0.5)


RARE = 1e-5  # probability that the count of a valid test is beyond its bound


def check_test(
    test: str | Callable[..., float],
    *,
    declares: Sequence[str] = (),
    n_classes: Sequence[int] = (2, 3),
    examples: int = 50,
    n_datasets: int = 300,
    n: int = 60,
    atol: float = 1e-9,
    rng: int = 0,
) -> None:
    """Fail where a test of calibration is not one: p in (0, 1], valid, the same again.

    Parameters
    ----------
    test : str or callable
        A key of `caltest.htests.REGISTRY`, or `test(probs, labels)` that returns a p-value; one
        with an argument `rng` gets a seed.
    declares : sequence of str
        What holds for this test, and not for all: "rows" (their order does not matter), "classes"
        (nor does theirs). The p-value of redrawn labels depends on both within its error.
    n_classes : sequence of int, default (2, 3)
        Numbers of classes.
    examples : int, default 50
        How many examples are tried for each property.
    n_datasets : int, default 300
        Calibrated data sets whose p-values must not be smaller than uniform ones: at each of the
        levels 0.01 to 0.5, no more rejections than a valid test has in all but one of 100,000 runs.
    n : int, default 60
        Rows of each.
    atol : float, default 1e-9
        How far apart p-values may be that should be equal.
    rng : int, default 0
        The seed.

    Returns
    -------
    None
        Where nothing is broken.

    Raises
    ------
    AssertionError
        If a property is broken.
    InvalidInput
        If a name is unknown.
    NotApplicable
        If the test has no meaning for `n` rows of so many classes.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.testing.check_test("brier", examples=5, n_datasets=20)
    """
    ask = _asker(test)
    for name in declares:
        checks.check_choice(name, ("rows", "classes"), "declares")

    def tried(probs: Floats, labels: Ints) -> float:
        try:
            return ask(probs, labels, 0)
        except NotApplicable:  # an example for which the test has no meaning is none
            reject()

    def gives_the_same_pvalue_twice(data: Predictions) -> None:
        first, second = (tried(data.probs, data.labels) for _ in range(2))
        assert 0 < first <= 1
        assert first == second

    def does_not_see_the_order_of_rows(data: Predictions, sample: int) -> None:
        rows = np.random.default_rng(sample).permutation(data.n)
        moved = tried(data.probs[rows], data.labels[rows])
        assert abs(moved - tried(data.probs, data.labels)) <= atol

    def does_not_see_the_order_of_classes(data: Predictions, order: list[int]) -> None:
        columns = np.array(order)
        moved = tried(data.probs[:, columns], np.argsort(columns)[data.labels])
        assert abs(moved - tried(data.probs, data.labels)) <= atol

    for m in n_classes:
        ask(*calibrated(np.random.default_rng(rng), m, n), 0)  # raises where it has no meaning
        data = strategies.predictions((2, 12), m, calibrated=True, weighted=False)
        drawn: dict[str, SearchStrategy[Any]] = {"data": data}
        search(gives_the_same_pvalue_twice, drawn, examples=examples, rng=rng)
        if "rows" in declares:
            moved = drawn | {"sample": strategies.SEEDS}
            search(does_not_see_the_order_of_rows, moved, examples=examples, rng=rng)
        if "classes" in declares:
            moved = drawn | {"order": st.permutations(range(m))}
            search(does_not_see_the_order_of_classes, moved, examples=examples, rng=rng)
        assert_super_uniform(ask, m=m, n=n, n_datasets=n_datasets, rng=rng)


def _asker(
    test: str | Ask, *, lens: str | Lens = "strong", n_resamples: int = 199
) -> Callable[[Floats, Ints, int], float]:
    if not isinstance(test, str) and not callable(test):
        raise invalid("test must be a key or a function", shown(test), "pass test(probs, labels)")
    seeded = callable(test) and "rng" in inspect.signature(test).parameters

    def ask(probs: Floats, labels: Ints, rng: int) -> float:
        if callable(test):
            return float(test(probs, labels, rng=rng) if seeded else test(probs, labels))
        with warnings.catch_warnings(action="ignore"):
            data = Predictions(probs, labels, classes=list(range(probs.shape[1])))
            asked: dict[str, Any] = {"test": test, "lens": lens, "n_resamples": n_resamples}
            return test_calibration(data, rng=rng, **asked).pvalue

    return ask


def calibrated(rng: np.random.Generator, m: int, n: int) -> tuple[Floats, Ints]:
    """Draw predictions (n, m), and labels from them."""
    probs = rng.dirichlet(np.ones(m), n)
    return probs, strategies.redrawn(probs, rng)


def assert_super_uniform(ask: Ask, *, m: int, n: int, n_datasets: int, rng: int) -> None:
    """Fail where calibrated data sets are rejected more often than those of a valid test."""
    from scipy.stats import binom

    each = map(np.random.default_rng, np.random.SeedSequence([rng, m]).spawn(n_datasets))
    pvalues = np.array([ask(*calibrated(one, m, n), int(one.integers(2**31))) for one in each])
    for level in LEVELS:
        count, most = np.sum(pvalues <= level), binom.isf(RARE, n_datasets, level)
        text = f"{count} of {n_datasets} calibrated data sets of {m} classes have p <= {level}"
        if count > most:  # pytest would write its own line below that of an assert
            raise AssertionError(f"{text}; a valid test has at most {most:.0f}")


def check_model(
    model: Any, X: object, y: object, *, examples: int = 50, atol: float = 1e-6, rng: int = 0
) -> None:
    """Fail where a fitted classifier's probabilities cannot be taken as such.

    Rows are probabilities of the classes in `classes_`, each is the same whatever rows stand beside
    it and in whatever order, `predict` names the largest, asking twice and pickling change nothing,
    X is left alone, and the labels of y are among the classes.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`; `predict` and `classes_` where it has them.
    X, y : (n, d) array or data frame, (n,) array
        Rows that the model takes, and their labels.
    examples : int, default 50
        How many subsets of the rows are tried.
    atol : float, default 1e-6
        How far apart equal probabilities may be.
    rng : int, default 0
        The seed.

    Returns
    -------
    None
        Where nothing is broken.

    Raises
    ------
    AssertionError
        If a property is broken, with the smallest set of rows that Hypothesis finds.
    InvalidInput
        If the model gives no probabilities for these data.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> ct.testing.check_model(LogisticRegression(max_iter=500).fit(X, y), X, y, examples=5)
    """
    data = Predictions.from_model(model, X, y)
    whole = np.asarray(model.predict_proba(X), dtype=float)
    whole = whole[:, None] if whole.ndim == 1 else whole
    _assert_rows(whole, len(data.labels))
    names = getattr(model, "classes_", None)
    if names is not None:
        assert len(names) == whole.shape[1], "classes_ does not name the columns"
        known = set(np.asarray(names).tolist())
        assert set(np.unique(np.asarray(y))) <= known, "y has labels that are not in classes_"
    n = len(whole)

    def gives_each_row_its_probabilities(rows: list[int]) -> None:
        out = model.predict_proba(_safe_indexing(X, rows))
        out = np.asarray(out, dtype=float).reshape(len(rows), -1)
        _assert_rows(out, len(rows))
        assert distance(out, whole[rows]) <= atol

    def predicts_the_most_probable_class(rows: list[int]) -> None:
        predicted = np.asarray(model.predict(_safe_indexing(X, rows)))
        codes = [int(np.flatnonzero(np.asarray(names) == name)[0]) for name in predicted]
        assert (whole[rows, codes] >= whole[rows].max(axis=1) - atol).all()

    arguments = {"rows": st.lists(st.integers(0, n - 1), min_size=1, max_size=8)}
    before = copy.deepcopy(X)
    search(gives_each_row_its_probabilities, arguments, examples=examples, rng=rng)
    if names is not None and hasattr(model, "predict"):
        search(predicts_the_most_probable_class, arguments, examples=examples, rng=rng)
    assert np.array_equal(np.asarray(X), np.asarray(before)), "predict_proba changed X"
    again = pickle.loads(pickle.dumps(model))  # noqa: S301, what was written just now
    after, before = (np.asarray(one.predict_proba(X)).ravel() for one in (again, model))
    np.testing.assert_array_equal(after, before, err_msg="pickling changes the model")


def _assert_rows(out: Floats, n: int) -> None:
    assert len(out) == n
    assert np.isfinite(out).all()
    assert out.min() >= 0
    total = out.sum(axis=1) if out.shape[1] > 1 else np.ones(n)
    assert np.abs(total - 1).max() <= 1e-5  # single precision
    assert out.max() <= 1 + 1e-6


# ---- Properties of lenses: redrawn labels follow the induced probabilities, and tests keep a leve

DRAWS = 64  # data sets, redrawn and simulated, whose labels are compared with the probabilities
FOUND = 20  # miscalibrated data sets of each kind, of one of which half must be found at LEVEL
LEVEL = 0.05


def check_lens(
    lens: str | Lens,
    *,
    n_classes: Sequence[int] = (2, 3),
    n_datasets: int = 300,
    n: int = 100,
    rng: int = 0,
) -> None:
    """Fail where tests under a lens have a wrong null distribution: in law, in size, or in power.

    The labels that its redrawing makes, and those that it makes of labels drawn from the
    predictions, must follow its probabilities, which must not depend on the labels. Tests of
    calibrated predictions must keep their level, and find labels that are far off.

    Parameters
    ----------
    lens : str or Lens
        A key, or an object; of a family each member is checked.
    n_classes : sequence of int, default (2, 3)
        Numbers of classes of the predictions.
    n_datasets : int, default 300
        Calibrated data sets, whose p-values must be no smaller than uniform ones: at each of the
        levels 0.01 to 0.5, no more rejections than a valid test has in all but one of 100,000 runs.
    n : int, default 100
        Rows of each.
    rng : int, default 0
        The seed.

    Returns
    -------
    None
        Where nothing is broken. Each sum of labels that is compared with its expectation fails for
        a right lens in one of 10^12 runs at most.

    Raises
    ------
    AssertionError
        If one of them does not hold; in power, if of 20 data sets of each kind, in which labels are
        always the likeliest, the least likely or one and the same class, or have nothing to do with
        the predictions, the exact test of the Brier score rejects fewer than half of every kind at
        level 0.05.
    InvalidInput
        If there is no such lens.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.testing.check_lens("confidence", n_datasets=20)
    """
    family = resolve_lens(lens)
    for m in n_classes:
        generator = np.random.default_rng([rng, m])
        data = Predictions(*calibrated(generator, m, n), classes=list(range(m)))
        for member in family.members(data):
            # Labels that are far off look like a mistake.
            with warnings.catch_warnings(action="ignore", category=SuspectInputWarning):
                _assert_in_law(member, data, generator)
                ask = _asker("brier", lens=member, n_resamples=99)
                assert_super_uniform(ask, m=m, n=n, n_datasets=n_datasets, rng=rng)
                _assert_power(member, ask, m=m, n=n, rng=generator)


def _assert_in_law(lens: Lens, data: Predictions, rng: np.random.Generator) -> None:
    seen = lens(data)
    simulated = [lens(data.simulate(rng)) for _ in range(DRAWS)]
    for one in simulated:
        assert np.array_equal(one.probs, seen.probs), f"{lens}: probabilities depend on the labels"
    redrawn = np.asarray(seen.redrawing.labels(resample_keys(0, DRAWS)))
    drawn = np.stack([one.labels for one in simulated])
    for what, labels in {"labels that it redraws": redrawn, "labels of drawn ones": drawn}.items():
        found = departure(seen.probs, labels)
        assert not found, f"{lens}: {what} have {found}"


def _assert_power(lens: Lens, ask: Ask, *, m: int, n: int, rng: np.random.Generator) -> None:
    counts = [0] * (m + 3)
    for _ in range(FOUND):
        probs, labels = calibrated(rng, m, n)
        wrong = [probs.argmax(axis=1), probs.argmin(axis=1), rng.permutation(labels)]
        for kind, codes in enumerate([*wrong, *(np.full(n, k) for k in range(m))]):
            counts[kind] += ask(probs, codes, int(rng.integers(2**31))) <= LEVEL
    text = f"{lens}: of labels that are far off at most {max(counts)} of {FOUND} data sets"
    assert max(counts) >= FOUND / 2, f"{text} of {m} classes have p <= {LEVEL}"


# ---- Properties of calibrators -------------------------------------------------------------------


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
        search(asserted, arguments, examples=examples, rng=rng)
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
    assert distance(_calibrated(fitted, data.probs), expected) <= atol


def does_not_see_the_order_of_classes(
    calibrator: Any, data: Predictions, order: list[int], atol: float
) -> None:
    """Classes in another order give the same map."""
    columns = np.array(order)
    moved = strategies.generated(data.probs[:, columns], np.argsort(columns)[data.labels])
    out = _calibrated(_fitted(calibrator, data), data.probs)
    again = _calibrated(_fitted(calibrator, moved), moved.probs)
    assert distance(again, out[:, columns]) <= atol


def keeps_the_class_it_predicts(
    calibrator: Any, data: Predictions, probs: Floats, atol: float
) -> None:
    """The class it predicts stays."""
    out = _calibrated(_fitted(calibrator, data), probs)
    largest = out[np.arange(len(out)), probs.argmax(axis=1)]
    assert (largest >= out.max(axis=1) - atol).all()


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
