"""Lenses on the classes by name, on rows small enough to check by eye."""

import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable, Predictions
from caltest.lenses import (
    Classwise,
    Confidence,
    Cumulative,
    Grouped,
    Largest,
    Strong,
    TopLabel,
    TopRank,
    WithinTop,
)

ROWS = np.array([[0.25, 0.5, 0.25], [0.375, 0.25, 0.375], [0.0, 0.0, 1.0], [0.125, 0.75, 0.125]])


@pytest.fixture
def predictions():
    """Four rows, one of them with a tie for the largest."""
    return Predictions(
        ROWS,
        ["bee", "cat", "cat", "ant"],
        classes=["ant", "bee", "cat"],
        sample_weight=[1, 2, 3, 4],
        groups=["u", "v", "u", "v"],
        source="a model",
    )


def test_strong_lens_is_the_predictions(predictions):
    assert Strong()(predictions) is predictions


@pytest.mark.parametrize(
    ("lens", "names"),
    [
        (Confidence(), ["not right", "right"]),
        (Classwise("bee"), ["not bee", "bee"]),
        (Classwise(1), ["not bee", "bee"]),
        (TopRank(2), ["not rank 2", "rank 2"]),
        (WithinTop(2), ["not top 2", "top 2"]),
        (Largest(2), ["rank 1", "rank 2", "rest"]),
        (Grouped([["cat", "ant"], ["bee"]]), ["cat+ant", "bee"]),
        (Grouped(["bee"]), ["bee", "other"]),
    ],
    ids=str,
)
def test_lens_names_the_classes_and_keeps_what_is_known(predictions, lens, names):
    """Their values are those of tests/properties/test_lenses.py; all arrays are locked."""
    seen = lens(predictions)
    assert seen.classes.tolist() == names
    assert seen.sample_weight is predictions.sample_weight
    assert seen.groups is predictions.groups
    assert seen.source == "a model"
    assert not seen.probs.flags.writeable
    assert not seen.labels.flags.writeable


def test_top_label_has_a_member_for_each_predicted_class():
    """A class that is never predicted has no rows and no lens."""
    predictions = Predictions([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]], [0, 1])
    assert TopLabel().members(predictions) == [TopLabel(0), TopLabel(2)]
    assert TopLabel(2).members(predictions) == [TopLabel(2)]
    with pytest.raises(NotApplicable, match=r"top-label\[1\] must have rows where 1 is predicted"):
        TopLabel(1)(predictions)


@pytest.mark.parametrize("r", [0, -1, 1.0, "2", True])
@pytest.mark.parametrize("lens", [TopRank, WithinTop, Largest])
def test_ranked_lenses_want_a_positive_integer(lens, r):
    """The rank is checked when the lens is made, not when it is used."""
    with pytest.raises(InvalidInput, match="r must be an integer of at least 1; got "):
        lens(r)


@pytest.mark.parametrize(
    ("lens", "event", "row", "sum_"),
    [
        (Grouped([[2], [0, 1]]), 1, [0.1, 0.2, 0.7], 0.3),
        (Cumulative(1), 1, [0.1, 0.2, 0.7], 0.3),
        (WithinTop(2), 0, [0.7, 0.2, 0.1], 0.1),
        (Largest(2), 2, [0.7, 0.2, 0.1], 0.1),
        (Cumulative(1), 1, [1e-17, 3e-17, 1.0], 1e-17 + 3e-17),
        (Cumulative(1), 1, [0.1 + 1e-13, 0.2, 0.7 - 1e-13], 0.1 + 1e-13 + 0.2),
    ],
)
def test_sums_of_few_digits_have_few_digits(lens, event, row, sum_):
    """0.1 + 0.2 tied with 0.3 in no sort, and lay in the bin above it; other sums stay."""
    assert lens(Predictions([row], [2])).probs[0, event] == sum_
