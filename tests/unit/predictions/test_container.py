"""Predictions are frozen and know how to be cut, split and redrawn."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from caltest import Predictions
from caltest.calibrators import Identity
from caltest.errors import InvalidInput
from caltest.measures import ece
from caltest.predictions import event_column

ROWS = np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0], [0.125, 0.125, 0.75], [0.5, 0.5, 0.0]])


@pytest.fixture
def predictions():
    """Four rows over three classes, with weights and groups."""
    return Predictions(
        ROWS,
        ["cat", "ant", "cat", "bee"],
        classes=["ant", "bee", "cat"],
        sample_weight=[1, 2, 3, 4],
        groups=["u", "v", "u", "v"],
        source="a model",
    )


def test_predictions_have_size_length_and_repr(predictions):
    """And no field can be set."""
    assert (predictions.n, predictions.m, len(predictions)) == (4, 3, 4)
    assert repr(predictions) == "Predictions(n=4, m=3, source='a model')"
    with pytest.raises(dataclasses.FrozenInstanceError):
        predictions.labels = [0, 0, 0, 0]


@pytest.mark.parametrize(
    "name", ["probs", "labels", "classes", "sample_weight", "groups", "predicted"]
)
def test_predictions_hold_arrays_that_are_locked(predictions, name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(predictions, name)[0] = getattr(predictions, name)[1]


def test_predictions_do_not_change_what_they_are_made_of():
    """Which may be read-only."""
    probs, labels = np.array([0.25, 1.0000001]), np.array([0, 1])
    Predictions(probs, labels, sample_weight=labels, groups=labels)
    assert probs.tolist() == [0.25, 1.0000001]
    assert probs.flags.writeable
    assert labels.flags.writeable
    probs = np.array([0.25, 0.5])
    probs.flags.writeable = False
    assert not np.shares_memory(Predictions(probs, [0, 1]).probs, probs)


def frames(columns):
    """Make tables of ROWS with these columns: pandas and polars."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return pd.DataFrame(ROWS, columns=columns), pl.DataFrame(ROWS, schema=list(map(str, columns)))


@pytest.mark.parametrize(
    ("columns", "labels", "classes", "codes"),
    [
        (["vi", "se", "ve"], ["ve", "se", "se", "ve"], ["vi", "se", "ve"], [2, 1, 1, 2]),
        (["vi", "se", "ve"], [2, 1, 1, 2], ["vi", "se", "ve"], [2, 1, 1, 2]),
        (["vi", "se", "ve"], np.eye(3)[[2, 1, 1, 2]], ["vi", "se", "ve"], [2, 1, 1, 2]),
        (["p_2", "p_0", "p_1"], [2, 0, 0, 1], [2, 0, 1], [0, 1, 1, 2]),
        ([2, 0, 1], [2, 0, 0, 1], [2, 0, 1], [0, 1, 1, 2]),
        ([1, 2, 3], [1, 3, 3, 1], [1, 2, 3], [0, 2, 2, 0]),
        ([0, 1, 2], [2, 0, 0, 1], [0, 1, 2], [2, 0, 0, 1]),
        ([0, 1, 2], ["c", "a", "b", "a"], ["a", "b", "c"], [2, 0, 1, 0]),
        ([0, 1, 2], ["2", "0", "0", "2"], ["0", "1", "2"], [2, 0, 0, 2]),
        (["column_0", "column_1", "column_2"], [2, 0, 0, 1], [0, 1, 2], [2, 0, 0, 1]),
    ],
    ids=str,
)
def test_predictions_take_the_classes_of_the_columns_of_a_table(columns, labels, classes, codes):
    """The names of columns are the classes, in their order; numbers from 0 are only places."""
    for probs in frames(columns):
        made = Predictions(probs, labels)
        assert made.classes.tolist() == classes
        assert made.labels.tolist() == codes
        np.testing.assert_array_equal(made.probs, ROWS)
        assert Predictions(probs, codes, classes=["u", "v", "w"]).classes[0] == "u"


def test_classes_in_another_order_than_the_columns_named_after_them_are_refused():
    """Either may be meant; numbers from 0 are only places."""
    known = "named after, 'vi', 'se', 've'; got another order, 'se', 've', 'vi'; leave classes out"
    labels, classes = ["ve", "se", "se", "vi"], ["se", "ve", "vi"]
    makes = (
        lambda probs: Predictions(probs, labels, classes=classes),
        lambda probs: Identity(classes=classes).fit(probs, labels),
        lambda probs: Predictions.from_frame(probs.assign(y=labels), label="y", classes=classes),
    )
    for make in makes:
        with pytest.raises(InvalidInput, match=known):
            make(frames(["p_vi", "p_se", "p_ve"])[0])
    numbered = Predictions(frames(["p_0", "p_1", "p_2"])[0], [2, 0, 0, 1], classes=[2, 0, 1])
    assert numbered.classes.tolist() == [2, 0, 1]


def test_one_column_is_the_probability_of_the_class_it_is_named_after():
    """Of the first class too; the number of a column is only its place, 1 of labels 1 and 2."""
    p, labels = np.array([0.1, 0.4, 0.7]), np.array(["no", "yes", "no"])
    for name in ("p_no", "no"):
        for probs in (pd.Series(p, name=name), pl.Series(name, p), pd.DataFrame({name: p})):
            made = Predictions(probs, labels)
            assert made.classes.tolist() == ["yes", "no"]
            np.testing.assert_array_equal(made.probs[:, 1], p)
    assert Predictions(pd.Series(p, name="p"), labels).classes.tolist() == ["no", "yes"]
    with pytest.raises(InvalidInput, match="labels must be among the classes 0, 1; got 2"):
        Predictions(pd.Series(p, name=1), [1, 2, 1])


@pytest.mark.parametrize("columns", [["vi", "se", "ve"], ["p_0", "p_1", "p_2"], ["x", "a", "b"]])
def test_predictions_refuse_a_table_whose_columns_are_not_the_labels(columns):
    """Names that are no labels are an error, not ignored."""
    for probs in frames(columns):
        with pytest.raises(InvalidInput, match=r"labels must be among the classes .* 'c' at row 0"):
            Predictions(probs, ["c", "a", "b", "a"])


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))],  # noqa: S301 - our own
)
def test_predictions_survive_copies_and_pickling(predictions, duplicate):
    twin = duplicate(predictions)
    assert repr(twin) == repr(predictions)
    np.testing.assert_array_equal(twin.probs, predictions.probs)
    assert twin.groups.tolist() == predictions.groups.tolist()
    assert not twin.probs.flags.writeable


@pytest.mark.parametrize("rows", [[2, 0], np.array([2, 0]), slice(2, None, -2)])
def test_subset_keeps_rows_with_all_they_have(predictions, rows):
    """Weights and groups go with their rows; classes and source stay."""
    part = predictions.subset(rows)
    np.testing.assert_array_equal(part.probs, ROWS[[2, 0]])
    assert part.labels.tolist() == [2, 2]
    np.testing.assert_allclose(part.sample_weight, [3 / 2.5, 1 / 2.5])  # over the mean of all four
    assert part.groups.tolist() == ["u", "u"]
    assert (part.source, part.m) == ("a model", 3)


def test_trusted_takes_arrays_without_a_check(predictions):
    probs, labels = np.array([[2.0, 0.0]] * 4), np.array([5, 5, 5, 5])
    made = Predictions.trusted(probs, labels, np.array(["a", "b"]), like=predictions)
    assert made.probs is probs
    assert not probs.flags.writeable
    assert made.sample_weight is predictions.sample_weight


@pytest.mark.parametrize("m", [2, 3, 10])
def test_simulate_draws_from_the_predictions(m):
    """Frequencies are within five standard errors of the probabilities."""
    p = np.random.default_rng(m).dirichlet(np.ones(m))
    n = 40_000
    labels = Predictions(np.tile(p, (n, 1)), np.zeros(n, dtype=int)).simulate(2).labels
    counts = np.bincount(labels, minlength=m)
    np.testing.assert_array_less(np.abs(counts - n * p), 5 * np.sqrt(n * p * (1 - p)) + 1)


@pytest.mark.parametrize("name", ["from_logits", "renormalize"])
@pytest.mark.parametrize("value", [None, "no", np.zeros((2, 2))])
def test_flags_are_true_or_false(name, value):
    """Any text is true, and an array is neither."""
    with pytest.raises(InvalidInput, match=f"{name} must be True or False"):
        Predictions(ROWS, [0, 1, 2, 0], **{name: value})


def test_matrix_of_a_vector_is_made_where_it_is_asked_for():
    """The uniform-bin ECE needs P(class 1) alone."""
    predictions = Predictions([0.25, 0.75, 0.5], [0, 1, 1])
    assert ece(predictions, bins=2) == pytest.approx(1 / 6)
    assert "probs" not in vars(predictions)
    event = event_column(predictions)
    assert event.tolist() == [0.25, 0.75, 0.5]
    assert not event.flags.writeable
    assert predictions.probs.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    assert predictions.probs is predictions.probs
    assert np.shares_memory(event_column(predictions), predictions.probs)
    with pytest.raises(AttributeError, match="no attribute 'prob'"):
        predictions.prob  # noqa: B018 - it is asked for
