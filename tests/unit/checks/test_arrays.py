"""Array-likes of all kinds are read alike."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from caltest.checks.arrays import as_array, as_numbers, check_column, read_only
from caltest.errors import InvalidInput

ROWS = [[0.25, 0.75], [0.5, 0.5]]


class Tensor:
    """What torch and others have in common: a type of their own that makes an array."""

    def __array__(self, dtype=None, copy=None):
        return np.array(ROWS, dtype=np.float32)


@pytest.mark.parametrize(
    "values",
    [
        ROWS,
        tuple(ROWS),
        np.array(ROWS, dtype=np.float32),
        np.array(ROWS, dtype=np.float16),
        np.array(ROWS, dtype=object),
        np.array(ROWS, order="F"),
        np.repeat(np.repeat(ROWS, 2, axis=0), 2, axis=1)[::2, ::2],
        np.ma.array(ROWS, mask=False),
        pl.DataFrame(ROWS, orient="row"),
        [[Decimal("0.25"), Decimal("0.75")], [Decimal("0.5"), Decimal("0.5")]],
        Tensor(),
    ],
    ids=lambda values: type(values).__name__,
)
def test_as_numbers_reads_any_array_like(values):
    np.testing.assert_array_equal(as_numbers(values, "probs"), ROWS)


def test_as_numbers_knows_what_is_missing():
    """NA of pandas, None and the text nan."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS)
    for table in (frame, frame.astype("Float64")):
        np.testing.assert_array_equal(as_numbers(table, "probs"), ROWS)
    values = pd.Series([0.5, pd.NA], dtype=object)
    with pytest.raises(InvalidInput, match=r"probs must not be missing; got <NA> at row 1"):
        as_numbers(values, "probs")
    with pytest.raises(InvalidInput, match="probs must not be missing; got 'nan' at row 1"):
        as_numbers(["0.5", "nan", "0.3"], "probs")


def test_as_numbers_names_the_first_that_is_none():
    """Where a column is text because of one value; Python alone takes 1_0 for a number."""
    with pytest.raises(InvalidInput, match="p must be numbers; got '1_0' at row 1;"):
        as_numbers(np.array(["0.7", "1_0", "x"]), "p")


def test_as_numbers_reads_arrow():
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"a": [0.25, 0.5], "b": [0.75, 0.5]})
    np.testing.assert_array_equal(as_numbers(table, "probs"), ROWS)


def test_as_array_keeps_text_and_numbers_apart():
    assert as_array([1, "1"], "labels").tolist() == [1, "1"]


def test_check_column_takes_a_column_vector():
    """A column vector, as a data frame of one column, is a vector; a row is not."""
    assert check_column([[1], [2]], 2, "groups").tolist() == [1, 2]
    with pytest.raises(InvalidInput, match=r"got shape \(1, 2\); pass one dimension, .ravel\(\)"):
        check_column([[1, 2]], 2, "groups")


def test_read_only_locks_in_place():
    array = np.zeros(2)
    assert read_only(array) is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1
