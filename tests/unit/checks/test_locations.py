"""Checks of test locations."""

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.measures.kernel.cme import check_locations, check_points

CLASSES = np.array(["ant", "bee", "cat"])
PROBS = [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]


@pytest.mark.parametrize("value", [None, 1, np.int64(10), (PROBS, [0, 1])])
def test_locations_are_a_number_a_pair_or_nothing(value):
    assert check_locations(value) == value


def test_list_of_two_is_a_pair():
    assert check_locations([PROBS, [0, 1]]) == (PROBS, [0, 1])


@pytest.mark.parametrize("labels", [["cat", "ant"], [2, 0], np.eye(3)[[2, 0]]])
def test_points_become_probabilities_and_codes(labels):
    """Labels are names, codes or one-hot rows."""
    probs, codes = check_points((PROBS, labels), CLASSES)
    np.testing.assert_array_equal(probs, PROBS)
    np.testing.assert_array_equal(codes, [2, 0])


def test_points_need_the_classes_under_the_lens():
    """The message says how many there are."""
    with pytest.raises(
        InvalidInput, match="must have 3 columns, the classes under the lens; got 2"
    ):
        check_points(([0.2, 0.5], [0, 1]), CLASSES)
