"""Lenses on the classes by name, on rows small enough to check by eye."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.lenses import Classwise, Confidence, Custom, Grouped, Strong, TopLabel

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


def assert_event(seen, value, happens):
    """Assert that binary predictions have the event in column 1."""
    np.testing.assert_array_equal(seen.probs, np.column_stack([1 - np.array(value), value]))
    assert seen.labels.tolist() == happens


def test_strong_is_the_predictions(predictions):
    assert Strong()(predictions) is predictions


def test_confidence_is_the_largest_probability(predictions):
    """The event is that the predicted class, the first of equals, is right."""
    seen = Confidence()(predictions)
    assert_event(seen, [0.5, 0.375, 1.0, 0.75], [1, 0, 1, 0])
    assert seen.classes.tolist() == ["not right", "right"]


@pytest.mark.parametrize("k", ["bee", 1])
def test_classwise_is_one_class_against_the_rest(predictions, k):
    """The event is the class, named or by its code."""
    seen = Classwise(k)(predictions)
    assert_event(seen, ROWS[:, 1].tolist(), [1, 0, 0, 0])
    assert seen.classes.tolist() == ["not bee", "bee"]


def test_classwise_of_two_classes_is_the_predictions():
    """With two classes, class 1 against the rest changes nothing."""
    binary = Predictions([0.25, 0.5], [0, 1])
    seen = Classwise(1)(binary)
    np.testing.assert_array_equal(seen.probs, binary.probs)
    assert seen.labels.tolist() == binary.labels.tolist()


def test_classwise_has_a_member_for_each_class(predictions):
    """The family has one lens per class, in the order of the columns."""
    assert Classwise().is_family
    assert Classwise().members(predictions) == [
        Classwise("ant"),
        Classwise("bee"),
        Classwise("cat"),
    ]
    assert Classwise("ant").members(predictions) == [Classwise("ant")]


def test_top_label_is_confidence_where_a_class_is_predicted(predictions):
    """Rows where another class is predicted are left out, with weights and groups."""
    seen = TopLabel("bee")(predictions)
    assert_event(seen, [0.5, 0.75], [1, 0])
    assert seen.sample_weight.tolist() == [0.4, 1.6]
    assert seen.groups.tolist() == ["u", "v"]


def test_top_label_has_a_member_for_each_predicted_class():
    """A class that is never predicted has no rows and no lens."""
    predictions = Predictions([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]], [0, 1])
    assert TopLabel().members(predictions) == [TopLabel(0), TopLabel(2)]
    assert TopLabel(2).members(predictions) == [TopLabel(2)]
    with pytest.raises(NotApplicable, match=r"top-label\[1\] must have rows where 1 is predicted"):
        TopLabel(1)(predictions)


def test_grouped_sums_over_groups(predictions):
    """Probabilities are added, and the label is that of the group."""
    seen = Grouped([["cat", "ant"], ["bee"]])(predictions)
    np.testing.assert_array_equal(
        seen.probs, np.column_stack([ROWS[:, 0] + ROWS[:, 2], ROWS[:, 1]])
    )
    assert seen.labels.tolist() == [1, 0, 0, 0]
    assert seen.classes.tolist() == ["cat+ant", "bee"]


def test_grouped_puts_the_rest_in_a_group_of_its_own(predictions):
    """Classes that no group names are the last group."""
    seen = Grouped(["bee"])(predictions)
    np.testing.assert_array_equal(seen.probs[:, 0], ROWS[:, 1])
    assert seen.labels.tolist() == [0, 1, 1, 1]
    assert seen.classes.tolist() == ["bee", "other"]


def test_custom_takes_what_the_function_returns(predictions):
    """Probabilities in one dimension, and booleans as labels, are taken as anywhere."""
    seen = Custom(lambda p, y: (p[:, 0], y == 0))(predictions)
    assert_event(seen, ROWS[:, 0].tolist(), [0, 0, 0, 1])
    assert seen.sample_weight.tolist() == [0.4, 0.8, 1.2, 1.6]
    assert seen.source == "a model"


@pytest.mark.parametrize("lens", [Confidence(), Classwise(0), Grouped([[0, 1]])])
def test_lenses_keep_weights_groups_and_source(predictions, lens):
    """What is known about the rows stays with them, and all arrays are locked."""
    seen = lens(predictions)
    assert seen.sample_weight is predictions.sample_weight
    assert seen.groups is predictions.groups
    assert seen.source == "a model"
    assert not seen.probs.flags.writeable
    assert not seen.labels.flags.writeable


def test_lenses_leave_the_predictions_alone(predictions):
    for lens in (Confidence(), Classwise(0), Grouped([[0, 1]]), TopLabel("bee")):
        lens(predictions)
    np.testing.assert_array_equal(predictions.probs, ROWS)
    assert predictions.labels.tolist() == [1, 2, 2, 0]
