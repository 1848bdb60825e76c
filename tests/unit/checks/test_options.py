"""Options are checked and returned as plain values."""

import numpy as np
import pandas as pd
import pytest

from caltest.checks import (
    check_choice,
    check_groups,
    check_integer,
    check_level,
    check_pair,
    check_positive,
    check_rows,
    check_seed,
    check_weights,
)
from caltest.errors import InvalidInput


@pytest.mark.parametrize("value", ["exactt", "Exact", "EXACT"])
def test_check_choice_guesses_what_was_meant(value):
    """The message names the nearest choice, whatever its case."""
    with pytest.raises(InvalidInput, match=r"got .*; did you mean 'exact'\?"):
        check_choice(value, ["exact", "bootstrap"], "null")


def test_check_choice_returns_the_choice():
    """Or the one whose beginning was given."""
    with pytest.raises(InvalidInput, match=r"did you mean 'confidence'\?"):
        check_choice("Conf", ["strong", "confidence"], "lens")
    with pytest.raises(InvalidInput, match="pass one of these"):
        check_choice("c", ["strong", "confidence"], "lens")
    assert check_choice("exact", {"exact": 1}, "null") == "exact"


@pytest.mark.parametrize(
    "value",
    [0, 1, -0.1, 1.5, float("nan"), "0.05", None, True, pytest.param(10**400, id="beyond floats")],
)
def test_check_level_refuses_all_but_the_open_interval(value):
    """A level lies strictly between 0 and 1; text, None and booleans are no numbers."""
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1; got "):
        check_level(value)


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        ("level", 95, "0.05 for 5 %, which goes with a confidence of 95 %"),
        ("level", 10, "0.1 for 10 %$"),
        ("level", 1, "0.05 for 5 %$"),
        ("confidence", 95, "0.95 for 95 %$"),
        ("confidence", 5, "0.95 for 95 %, which goes with a level of 5 %"),
        ("power", 80, "0.8 for 80 %$"),
    ],
)
def test_check_level_takes_large_numbers_for_per_cent(name, value, remedy):
    """A level of 95 is meant as a confidence, and the other way round."""
    with pytest.raises(InvalidInput, match=f"; pass {remedy}"):
        check_level(value, name, percent=5 if name == "level" else 95)


def test_check_level_takes_more_than_a_half_for_a_confidence():
    """At a level of 0.95 almost every model would be called not calibrated."""
    with pytest.raises(InvalidInput, match=r"got 0\.95; pass 0\.05 for a confidence of 95 %"):
        check_level(0.95)
    assert (check_level(0.5), check_level(0.95, "confidence")) == (0.5, 0.95)


def test_groups_that_are_no_text_have_the_names_that_they_print():
    """Dates without their midnight, periods, intervals and categories of pandas."""
    days = pd.Series(pd.to_datetime(["2024-01-31", "2024-02-29"]), index=["b", "a"], name="month")
    for times in (days, days.dt.tz_localize("UTC"), days.dt.date, days.astype("category")):
        assert check_groups(times, 2).tolist() == ["2024-01-31", "2024-02-29"]
    assert check_groups(days + pd.Timedelta("6h"), 2)[0] == "2024-01-31 06:00:00"
    assert check_groups(days.dt.to_period("M"), 2).tolist() == ["2024-01", "2024-02"]
    assert check_groups(pd.cut(pd.Series([1, 3]), [0, 2, 4]), 2).tolist() == ["(0, 2]", "(2, 4]"]


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), "1", None, True])
def test_check_positive_refuses_all_but_positive_finite_numbers(value):
    """Zero, infinity, text and booleans are refused."""
    with pytest.raises(InvalidInput, match="bandwidth must be a positive number; got "):
        check_positive(value, "bandwidth")


@pytest.mark.parametrize("value", [1, 2.0, "3", None, True])
def test_check_integer_refuses_floats_text_and_small_numbers(value):
    """Not even a whole float passes for an integer."""
    with pytest.raises(InvalidInput, match="bins must be an integer of at least 2; got "):
        check_integer(value, "bins", minimum=2)


def test_numbers_come_back_as_plain_python():
    assert type(check_integer(np.int32(3), "bins")) is int
    assert type(check_positive(np.float32(3), "bandwidth")) is float
    assert type(check_level(np.float64(0.05))) is float


def test_check_weights_returns_a_locked_copy():
    """Weights are floats that the caller cannot change."""
    given = np.array([1, 0, 2])
    weights = check_weights(given, 3)
    given[0] = 5
    assert weights.tolist() == [1.0, 0.0, 2.0]
    assert not weights.flags.writeable


@pytest.mark.parametrize("groups", [["a", "b"], [1, 2], [True, False], [0.5, 1.5]])
def test_check_groups_keeps_the_values(groups):
    """Groups may be text, numbers or booleans."""
    values = check_groups(groups, 2)
    assert values.tolist() == groups
    assert not values.flags.writeable


@pytest.mark.parametrize("groups", [["a", None], [1.0, float("nan")], ["a", float("nan")]])
def test_check_groups_refuses_missing_values(groups):
    """No row is left without a group."""
    with pytest.raises(InvalidInput, match=r"groups must not be missing; got .* at row 1"):
        check_groups(groups, 2)


@pytest.mark.parametrize("rows", [[0, 2], [True, False, True], slice(0, 3, 2), [0, -1]])
def test_check_rows_takes_masks_slices_and_indices(rows):
    """All of them name the first and the last of three rows."""
    assert np.arange(3)[check_rows(rows, 3)].tolist() == [0, 2]


@pytest.mark.parametrize("rng", [-1, 1.5, "1", True, np.random])
def test_check_seed_refuses_the_rest(rng):
    """Negative numbers, text, booleans and the global random state are no seeds."""
    with pytest.raises(InvalidInput, match="rng must be None, a non-negative integer"):
        check_seed(rng)


def test_check_pair_lets_one_hot_labels_and_one_column_of_text_pass():
    """A vector of texts with one-hot labels is (X, y), not swapped."""
    texts, labels = np.array(["one", "two"]), np.eye(2)
    assert check_pair((texts, labels)) == (texts, labels)
    assert check_pair((texts, labels[:, 1:]))[0] is texts
