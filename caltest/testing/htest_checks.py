"""Checks of tests, models and lenses of one's own."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from caltest import checks
from caltest.errors import NotApplicable, SuspectInputWarning, invalid, shown
from caltest.htests import test_calibration
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import departure
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.testing import strategies
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
        drawn: dict[str, st.SearchStrategy[Any]] = {"data": data}
        strategies.search(gives_the_same_pvalue_twice, drawn, examples=examples, rng=rng)
        if "rows" in declares:
            moved = drawn | {"sample": strategies.SEEDS}
            strategies.search(does_not_see_the_order_of_rows, moved, examples=examples, rng=rng)
        if "classes" in declares:
            moved = drawn | {"order": st.permutations(range(m))}
            strategies.search(does_not_see_the_order_of_classes, moved, examples=examples, rng=rng)
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
    before = copy.deepcopy(X)
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
        out = model.predict_proba(_take(X, rows))
        out = np.asarray(out, dtype=float).reshape(len(rows), -1)
        _assert_rows(out, len(rows))
        assert strategies.distance(out, whole[rows]) <= atol

    def predicts_the_most_probable_class(rows: list[int]) -> None:
        predicted = np.asarray(model.predict(_take(X, rows)))
        codes = [int(np.flatnonzero(np.asarray(names) == name)[0]) for name in predicted]
        assert (whole[rows, codes] >= whole[rows].max(axis=1) - atol).all()

    arguments = {"rows": st.lists(st.integers(0, n - 1), min_size=1, max_size=8)}
    strategies.search(gives_each_row_its_probabilities, arguments, examples=examples, rng=rng)
    if names is not None and hasattr(model, "predict"):
        strategies.search(predicts_the_most_probable_class, arguments, examples=examples, rng=rng)
    assert _is_unchanged(X, before), "predict_proba changed X"
    again = pickle.loads(pickle.dumps(model))  # noqa: S301, what was written just now
    after, own = (np.asarray(one.predict_proba(X)).ravel() for one in (again, model))
    np.testing.assert_array_equal(after, own, err_msg="pickling changes the model")


def _is_unchanged(X: Any, before: Any) -> bool:
    """Tell whether the rows are those before, missing values among them."""
    if hasattr(X, "equals"):  # of pandas and polars
        return bool(X.equals(before))
    if hasattr(X, "nnz"):  # sparse
        return bool((before != X).nnz == 0)
    a, b = np.asarray(X), np.asarray(before)
    gone = np.not_equal(a, a) & np.not_equal(b, b) if a.shape == b.shape else False
    return a.shape == b.shape and bool(np.all((a == b) | gone))


def _take(X: Any, rows: list[int]) -> Any:
    """Take rows of an array or a table of pandas or polars."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


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
