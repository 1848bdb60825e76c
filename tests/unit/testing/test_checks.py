"""The checks of calibrators, tests and models find planted bugs, and pass what is right."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import caltest as ct
from caltest.calibrators import Identity, TemperatureScaling
from caltest.testing import check_calibrator, check_model, check_test
from caltest.testing.calibrator_checks import CALIBRATOR_PROPERTIES, DECLARED, claim_of

PAGE = Path(__file__).parents[3] / "docs/howto/property_based_tests.md"
NUMBER = r"[0-9.]+"
IRIS = load_iris(return_X_y=True)


class Own(BaseEstimator):
    """Temperature scaling as a user would wrap it."""

    def fit(self, probs, labels, sample_weight=None):
        self.inner_ = TemperatureScaling().fit(probs, labels, sample_weight=sample_weight)
        return self

    def predict_proba(self, probs):
        return self.inner_.predict_proba(probs).copy()


class SwapsTwoClasses(Own):
    """Gives class 0 the probability of class 1."""

    def predict_proba(self, probs):
        return super().predict_proba(probs)[:, [1, 0, *range(2, np.shape(probs)[1])]]


class LeavesTheSimplex(Own):
    """Gives large probabilities more."""

    def predict_proba(self, probs):
        return super().predict_proba(probs) + 0.1 * (probs > 0.9)


class LosesWeights(Own):
    """Takes weights and leaves them."""

    def fit(self, probs, labels, sample_weight=None):
        return super().fit(probs, labels)


class WritesToItsInput(Own):
    """Changes the first row."""

    def predict_proba(self, probs):
        probs[0] = 1 / probs.shape[1]
        return super().predict_proba(probs)


class DrawsAnew(Own):
    """Depends on a seed of its own."""

    def predict_proba(self, probs):
        share = np.random.default_rng().uniform(0.4, 0.6)
        return share * super().predict_proba(probs) + (1 - share) / np.shape(probs)[1]


class ForgetsInPickle(Own):
    """Has no state."""

    def __getstate__(self):
        return {}


@pytest.mark.parametrize(
    ("calibrator", "broken", "shown"),
    [
        (SwapsTwoClasses, "accuracy", "keeps_the_class_it_predicts"),
        (SwapsTwoClasses, "near-identity", "hardly_changes_what_is_calibrated"),
        pytest.param(LeavesTheSimplex, "simplex", "stays_on_the_simplex", marks=pytest.mark.full),
        (WritesToItsInput, "inputs", "leaves_its_inputs_alone"),
        (DrawsAnew, "repeats", "fits_the_same_map_again"),
        (ForgetsInPickle, "pickle", "is_the_same_after_pickling"),
    ],
)
def test_planted_bug_is_found_and_made_small(calibrator, broken, shown):
    """The example is printed as a call, of two classes."""
    with pytest.raises(AssertionError) as raised:
        check_calibrator(calibrator(), properties=[broken], n_classes=[2])
    told = "\n".join(raised.value.__notes__)
    assert f"{shown}(" in told
    assert f"broken for 2 classes: {claim_of(CALIBRATOR_PROPERTIES[broken])}" in told


def form_of(example):
    """Return the example without its numbers, and without how many rows it has."""
    without = re.sub(NUMBER, "#", example)
    return re.sub(r"\[\[#\](?:, \[#\])*\]", "[[#]]", re.sub(r"\[#(?:, #)*\]", "[#]", without))


@pytest.mark.full
@pytest.mark.skipif(not PAGE.exists(), reason="the pages are in the repository only")
@pytest.mark.parametrize(
    ("calibrator", "broken"), [(SwapsTwoClasses, "accuracy"), (LosesWeights, "weights")]
)
def test_page_shows_the_examples_as_they_are_printed(calibrator, broken):
    """Those of two of the bugs that it speaks of; which numbers are least is Hypothesis' affair."""
    with pytest.raises(AssertionError) as raised:
        check_calibrator(calibrator(), declares=["accuracy"], properties=[broken], n_classes=[2])
    example, *_, told = raised.value.__notes__
    shown = f"{example}\n{told}"
    blocks = re.findall(r"```none\n(.*?)\n```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert form_of(shown) in [form_of(block) for block in blocks]


@pytest.mark.full
def test_smallest_example_off_the_simplex():
    with pytest.raises(AssertionError) as raised:
        check_calibrator(LeavesTheSimplex(), properties=["simplex"])
    assert re.search(r"probs=array\(\[\[(0., 1.|1., 0.)\]\]\)", raised.value.__notes__[0])


class BreaksInTwoWays(Own):
    """Raises for a row, and turns two others around."""

    def predict_proba(self, probs):
        if len(probs) == 1:
            raise RuntimeError("a single row")
        return super().predict_proba(probs)[:, ::-1]


@pytest.mark.full
def test_one_example_is_shown_of_several_failures():
    """The smallest, and not a group of errors without any."""
    with pytest.raises(AssertionError) as raised:
        check_calibrator(BreaksInTwoWays(), properties=["ranking"], n_classes=[2])
    assert "keeps_the_ranking(" in "\n".join(raised.value.__notes__)


@pytest.mark.full
@pytest.mark.parametrize("make", [Own, TemperatureScaling, Identity])
def test_right_calibrator_passes(make):
    check_calibrator(make(), declares=DECLARED, examples=5)


class ReturnsItsInput:
    """No map at all."""

    def fit(self, probs, labels):
        return self

    def predict_proba(self, probs):
        return probs


class Refuses(ReturnsItsInput):
    """Takes nothing."""

    def fit(self, probs, labels):
        raise ValueError


@pytest.mark.full
def test_map_that_does_nothing_passes_and_one_that_takes_nothing_is_told():
    declares = ["equivariant", "accuracy", "ranking", "log-loss"]
    check_calibrator(ReturnsItsInput(), declares=declares, n_classes=[3], examples=6)
    with pytest.raises(AssertionError, match="raised a ValueError for every example"):
        check_calibrator(Refuses(), n_classes=[2], properties=["simplex"], examples=5)


def test_test_without_meaning_for_some_classes_is_told():
    """KS is one-dimensional; for two classes it is checked."""
    with pytest.raises(ct.NotApplicable, match="one-dimensional"):
        check_test("ks", n_classes=[3], examples=5, n_datasets=10)
    check_test("ks", n_classes=[2], examples=5, n_datasets=10)


@pytest.mark.parametrize("option", [{"declares": ["simplex"]}, {"properties": ["colour"]}])
def test_unknown_property_is_refused(option):
    with pytest.raises(ct.InvalidInput, match="must be one of"):
        check_calibrator(Identity(), **option)


def uniform(probs, labels, rng):
    """Return a p-value that is valid and says nothing."""
    return 1 - np.random.default_rng(rng).random()


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (lambda _probs, _labels: 0.0, None),
        (lambda probs, labels, rng: uniform(probs, labels, rng) / 2, "valid test has at most"),
        (lambda _probs, _labels: np.random.default_rng().random(), None),
        (lambda _probs, _labels: np.nan, None),
    ],
    ids=["zero", "too-small", "unseeded", "nan"],
)
def test_what_is_no_test_is_found(test, message):
    """P must be in (0, 1], valid and the same again."""
    with pytest.raises(AssertionError, match=message):
        check_test(test, n_classes=[2])


@pytest.mark.parametrize("test", [uniform, "brier", "spiegelhalter"])
def test_valid_test_passes(test):
    check_test(test, n_classes=[2], examples=5, n_datasets=100)


@pytest.mark.full
def test_order_of_rows_and_classes_is_checked_where_declared():
    """One that sees the first row breaks it."""

    def closed(probs, labels):
        return float(np.clip(probs[np.arange(len(labels)), labels].mean(), 1e-9, 1))

    def sees_the_first_row(probs, labels):
        return float(0.5 + probs[0, labels[0]] / 2)

    check_test(closed, declares=["rows", "classes"], n_datasets=1, examples=5, n=5)
    with pytest.raises(AssertionError) as raised:
        check_test(sees_the_first_row, declares=["rows"], n_datasets=1)
    assert "does_not_see_the_order_of_rows(" in raised.value.__notes__[0]


def fitted(cls=LogisticRegression):
    return cls(max_iter=500).fit(*IRIS)


class SeesOtherRows(LogisticRegression):
    """Depends on the rows beside."""

    def predict_proba(self, X):
        out = super().predict_proba(X)
        return out if len(X) > 100 else (out + out.mean(axis=0)) / 2


class PredictsAnotherClass(LogisticRegression):
    """Names the class before."""

    def predict(self, X):
        return np.roll(self.classes_, 1)[super().predict_proba(X).argmax(axis=1)]


def test_right_model_passes():
    """With names for classes, and a table for X."""
    check_model(fitted(), *IRIS, examples=10)


@pytest.mark.parametrize(
    ("cls", "shown"),
    [
        (SeesOtherRows, "gives_each_row_its_probabilities(\n    rows=[0, 100],"),
        (PredictsAnotherClass, "predicts_the_most_probable_class(\n    rows=[0],"),
    ],
)
def test_wrong_model_is_found(cls, shown):
    with pytest.raises(AssertionError) as raised:
        check_model(fitted(cls), *IRIS)
    assert shown.split("(")[0] in raised.value.__notes__[0]


class Even:
    """Predicts nothing, and may change a cell."""

    def __init__(self, changed):
        self.changed = changed

    def predict_proba(self, X):
        if self.changed:
            (X.iloc if isinstance(X, pd.DataFrame) else X)[0, 0] = 7.0
        return np.full((X.shape[0], 2), 0.5)


@pytest.mark.parametrize("of", [np.array, sparse.csr_matrix, pd.DataFrame])
def test_missing_values_and_sparse_rows_are_compared(of):
    """A missing value is none that was changed."""
    X = of([[1.0, 0.0], [2.0, 3.0], [4.0, np.nan if of is not sparse.csr_matrix else 2.0]])
    check_model(Even(changed=False), X, [0, 1, 1], examples=3)
    with pytest.raises(AssertionError, match="predict_proba changed X"):
        check_model(Even(changed=True), X, [0, 1, 1], examples=3)
