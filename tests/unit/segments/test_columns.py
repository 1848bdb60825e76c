"""Columns become categories."""

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.segments.inputs import column_of, without_rare


def test_names_are_categories():
    """Texts, booleans and mixed objects are as they are."""
    column = column_of(["b", "a", "b"], 3, "site", bins=10)
    assert column.conditions == ("site = a", "site = b")
    assert column.codes.tolist() == [1, 0, 1]
    assert column_of([True, False], 2, "old", bins=10).conditions == ("old = False", "old = True")


def test_few_numbers_are_categories():
    """Up to `bins` values are not cut."""
    assert column_of([3, 1, 3], 3, "grade", bins=2).conditions == ("grade = 1", "grade = 3")


def test_many_numbers_are_cut_at_quantiles():
    """Each part has about as many rows, and the ends say which rows they hold."""
    values = np.arange(100) / 8
    column = column_of(values, 100, "age", bins=4)
    assert np.bincount(column.codes).tolist() == [25, 25, 25, 25]
    assert column.conditions[:2] == ("age <= 3", "age in (3, 6.125]")
    assert values[column.codes == 0].max() == 3.0
    assert column.conditions[-1] == "age > 9.25"


def test_ends_have_the_digits_that_tell_them_apart():
    """Large numbers that hardly differ get more of them."""
    values = 1e6 + np.arange(40) / 8
    names = column_of(values, 40, "t", bins=4).conditions
    assert len(set(names)) == 4


@pytest.mark.parametrize("values", [[1.5, np.nan, 2.5], ["a", None, "b"], [1, None, 2.5]])
def test_missing_values_are_a_value(values):
    column = column_of(np.array(values, dtype=None), 3, "x", bins=5)
    assert column.conditions[-1] == "x missing"
    assert column.codes.tolist() == [0, 2, 1]


def test_rare_values_are_put_together():
    """What all rows share is no segment either."""
    column = column_of(list("aaabbc"), 6, "x", bins=5)
    kept = without_rare(column, 2)
    assert kept.conditions == ("x = a", "x = b", "")
    assert kept.codes.tolist() == [0, 0, 0, 1, 1, 2]
    assert without_rare(column_of(list("aaa"), 3, "x", bins=5), 2) is None


def test_wrong_length_is_an_error():
    with pytest.raises(InvalidInput, match="column 'x' must have one entry per row"):
        column_of([1, 2], 3, "x", bins=5)
