"""Labels of all kinds become codes 0 to m - 1."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caltest.errors import InvalidInput
from caltest.validation import check_class, check_classes, check_labels, listing

CODES = [1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (CODES, [0, 1]),
        (np.array(CODES, dtype=np.uint8), [0, 1]),
        (np.array(CODES, dtype=np.float32), [0, 1]),
        (np.array(CODES, dtype=object), [0, 1]),
        ([True, False, True], [False, True]),
        (["dog", "cat", "dog"], ["cat", "dog"]),
        (np.array([b"dog", b"cat", b"dog"]), ["cat", "dog"]),
        (np.array(["dog", "cat", "dog"], dtype=object), ["cat", "dog"]),
        (pl.Series(["dog", "cat", "dog"]), ["cat", "dog"]),
        (pl.Series(["dog", "cat", "dog"], dtype=pl.Categorical), ["cat", "dog"]),
        ([[0, 1], [1, 0], [0, 1]], [0, 1]),
        (np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), [0, 1]),
        (np.array([[False, True], [True, False], [False, True]]), [0, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_check_labels_reads_integers_text_booleans_and_one_hot(labels, classes):
    """Whatever they stand for, the codes are the same, and the classes have their names."""
    codes, names = check_labels(labels, 3, 2)
    assert codes.tolist() == CODES
    assert codes.dtype == np.int64
    assert names.tolist() == classes


@pytest.mark.parametrize("dtype", ["category", "string", "object", "Int64", "boolean"])
def test_check_labels_reads_the_types_of_pandas(dtype):
    """The types of pandas are read as what they hold."""
    pd = pytest.importorskip("pandas")
    values = [True, False, True] if dtype in ("Int64", "boolean") else ["dog", "cat", "dog"]
    assert check_labels(pd.Series(values, dtype=dtype), 3, 2)[0].tolist() == CODES


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["dog", "cat", "dog"], ["cat", "dog", "emu"]),
        ([7, 3, 7], [3, 7, 9]),
        ([7.0, 3.0, 7.0], [3, 7, 9]),
        ([0.5, 0.25, 0.5], [0.25, 0.5, 0.75]),
        ([2, 1, 2], range(1, 4)),
        ([1, 0, 1], ["cat", "dog", "emu"]),
        ([1.0, 0.0, 1.0], ["cat", "dog", "emu"]),
        ([[0, 1, 0], [1, 0, 0], [0, 1, 0]], ["cat", "dog", "emu"]),
    ],
    ids=str,
)
def test_check_labels_follows_the_classes_given(labels, classes):
    """Labels are names of classes; integers with classes of text, and one-hot rows, are codes."""
    codes, names = check_labels(labels, 3, 3, classes)
    assert codes.tolist() == CODES
    assert names.tolist() == list(classes)


def test_check_labels_follows_the_order_of_the_classes():
    """Classes need not be sorted: the columns stand in their order."""
    codes, names = check_labels(["a", "b", "c"], 3, 3, classes=["c", "a", "b"])
    assert codes.tolist() == [1, 2, 0]
    assert names.tolist() == ["c", "a", "b"]


def test_check_labels_copies():
    """The codes are locked, while the labels given stay as they are."""
    labels = np.array(CODES)
    codes, names = check_labels(labels, 3, 2)
    labels[0] = 0
    assert codes.tolist() == CODES
    assert not codes.flags.writeable
    assert not names.flags.writeable


def test_check_classes_copies():
    """The classes are a locked copy of those given."""
    given = np.array(["a", "b"])
    names = check_classes(given, 2)
    given[0] = "z"
    assert names.tolist() == ["a", "b"]
    assert not names.flags.writeable


@pytest.mark.parametrize(("k", "code"), [("dog", 1), (1, 1), (np.int64(1), 1)])
def test_check_class_takes_a_name_or_a_code(k, code):
    """A class is found by its name, or by its code where no class has that name."""
    assert check_class(k, np.array(["cat", "dog"])) == code


@pytest.mark.parametrize("k", [7, "7"])
def test_check_class_prefers_the_name(k):
    """Classes named by numbers are found by these, as text too."""
    assert check_class(k, np.array([5, 7, 0])) == 1


def test_check_class_refuses_what_is_neither():
    """A code beyond the classes is no class."""
    with pytest.raises(InvalidInput, match="k must be one of the classes; got 2; pass one of"):
        check_class(2, np.array(["cat", "dog"]))


def test_listing_leaves_out_the_middle():
    """A thousand classes do not fill the screen."""
    assert listing(range(1000), limit=5) == "0, 1, 2, ..., 999"
