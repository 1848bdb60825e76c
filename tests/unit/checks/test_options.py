"""Options are checked and returned as plain values."""

import numpy as np
import pandas as pd
import pytest

from caltest.checks import check_groups, check_pair, check_rows, check_weights


def test_groups_that_are_no_text_have_the_names_that_they_print():
    """Dates without their midnight, periods, intervals and categories of pandas."""
    days = pd.Series(pd.to_datetime(["2024-01-31", "2024-02-29"]), index=["b", "a"], name="month")
    for times in (days, days.dt.tz_localize("UTC"), days.dt.date, days.astype("category")):
        assert check_groups(times, 2).tolist() == ["2024-01-31", "2024-02-29"]
    assert check_groups(days + pd.Timedelta("6h"), 2)[0] == "2024-01-31 06:00:00"
    assert check_groups(days.dt.to_period("M"), 2).tolist() == ["2024-01", "2024-02"]
    assert check_groups(pd.cut(pd.Series([1, 3]), [0, 2, 4]), 2).tolist() == ["(0, 2]", "(2, 4]"]


def test_check_weights_returns_a_locked_copy():
    given = np.array([1, 0, 2])
    weights = check_weights(given, 3)
    given[0] = 5
    assert weights.tolist() == [1.0, 0.0, 2.0]
    assert not weights.flags.writeable


@pytest.mark.parametrize("groups", [["a", "b"], [1, 2], [True, False], [0.5, 1.5]])
def test_check_groups_keeps_the_values(groups):
    values = check_groups(groups, 2)
    assert values.tolist() == groups
    assert not values.flags.writeable


@pytest.mark.parametrize("rows", [[0, 2], [True, False, True], slice(0, 3, 2), [0, -1]])
def test_check_rows_takes_masks_slices_and_indices(rows):
    assert np.arange(3)[check_rows(rows, 3)].tolist() == [0, 2]


def test_check_pair_lets_one_hot_labels_and_one_column_of_text_pass():
    """A vector of texts with one-hot labels is (X, y), not swapped."""
    texts, labels = np.array(["one", "two"]), np.eye(2)
    assert check_pair((texts, labels)) == (texts, labels)
    assert check_pair((texts, labels[:, 1:]))[0] is texts
