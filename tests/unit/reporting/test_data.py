"""What is said of the data before the tests, and the hash."""

from functools import partial

import numpy as np
import pytest

import caltest as ct
from caltest.reporting.source import ReportedRows, data_blocks, describe_data
from caltest.reporting.source import TestPlan as Plan

reported = partial(ReportedRows, plan=Plan(()), logits=None, hashed="")


def test_counts_are_observed_expected_and_predicted():
    """Of each class the labels, the sum of probabilities and the predicted rows are counted."""
    data = ct.Predictions(
        [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], ["a", "a", "a"], classes=["a", "b"]
    )
    first, second = describe_data(reported(data)).classes
    assert (first.name, first.observed, first.expected, first.predicted) == ("a", 3, 1.5, 2)
    assert (second.name, second.observed, second.expected, second.predicted) == ("b", 0, 1.5, 1)


@pytest.mark.parametrize(
    ("probs", "labels", "warning"),
    [
        ([[0.5, 0.5]] * 2, [0, 1], "With as few rows as 2"),
        ([[0.5, 0.5]] * 2, [0, 1], "All rows have the same predictions"),
        ([[0.4, 0.6], [0.5, 0.5]], [1, 1], "Classes that were never observed: 0."),
        ([[1.0, 0.0], [0.5, 0.5]], [1, 1], "In one row a class of predicted probability 0"),
        ([[1.0, 0.0], [0.5, 0.5]], [0, 1], "In one row one class has probability 1"),
    ],
)
def test_warnings_name_what_is_odd(probs, labels, warning):
    """Few rows, constant predictions, unseen classes, impossible labels and certainty are said."""
    found = describe_data(reported(ct.Predictions(probs, labels))).warnings
    assert any(line.startswith(warning) for line in found)


def test_difference_of_a_class_is_observed_less_expected():
    """As every gap: the class that happens more often than predicted has a positive one."""
    data = describe_data(reported(ct.Predictions([0.25] * 40, np.arange(40) % 2)))
    (sheet,) = (block.sheet for block in data_blocks(data) if block.sheet.header)
    assert [row[4] for row in sheet.rows] == ["\u221210.0", "+10.0"]
    assert "observed less expected" in sheet.closing[0][1]
