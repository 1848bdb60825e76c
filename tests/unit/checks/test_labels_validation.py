"""Labels of all kinds become codes 0 to m - 1."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from caltest.calibrators import Identity
from caltest.checks import check_class, check_classes, check_labels, listing
from caltest.errors import InvalidInput
from caltest.predictions import Predictions

CODES = [1, 0, 1]


READ = [
    (CODES, [0, 1]),
    (np.array(CODES, dtype=np.uint8), [0, 1]),
    (np.array(CODES, dtype=np.float32), [0, 1]),
    (np.array(CODES, dtype=np.float16), [0, 1]),
    (np.array(CODES, dtype=object), [0, 1]),
    ([True, False, True], [False, True]),
    (["dog", "cat", "dog"], ["cat", "dog"]),
    (np.array([b"dog", b"cat", b"dog"]), ["cat", "dog"]),
    (np.array(["dog", "cat", "dog"], dtype=object), ["cat", "dog"]),
    (pl.Series(["dog", "cat", "dog"]), ["cat", "dog"]),
    (pl.Series(["dog", "cat", "dog"], dtype=pl.Categorical), ["cat", "dog"]),
    (np.array([Decimal(code) for code in CODES]), [0, 1]),
    ([[0, 1], [1, 0], [0, 1]], [0, 1]),
    (np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), [0, 1]),
    (np.array([[False, True], [True, False], [False, True]]), [0, 1]),
    (["dog", "cat", "dog"], ["cat", "dog", "emu"]),
    ([7, 3, 7], [3, 7, 9]),
    ([7.0, 3.0, 7.0], [3, 7, 9]),
    ([0.5, 0.25, 0.5], [0.25, 0.5, 0.75]),
    ([2, 1, 2], range(1, 4)),
    ([1, 0, 1], ["cat", "dog", "emu"]),
    ([1.0, 0.0, 1.0], ["cat", "dog", "emu"]),
    ([[0, 1, 0], [1, 0, 0], [0, 1, 0]], ["cat", "dog", "emu"]),
]


def test_check_labels_reads_integers_text_booleans_and_one_hot(case):
    """Whatever they stand for, the codes are the same, and the classes have their names.

    Where three classes are given, labels are names of these; integers with classes of text, and
    one-hot rows, are codes.
    """
    for labels, classes in READ:
        given = classes if len(classes) == 3 else None
        with case(type(labels).__name__, classes):
            codes, names = check_labels(labels, 3, len(classes), given)
            assert codes.tolist() == CODES
            assert codes.dtype == np.int64
            assert names.tolist() == list(classes)


@pytest.mark.parametrize("dtype", ["category", "string", "object", "Int64", "boolean"])
def test_check_labels_reads_the_types_of_pandas(dtype):
    pd = pytest.importorskip("pandas")
    values = [True, False, True] if dtype in ("Int64", "boolean") else ["dog", "cat", "dog"]
    assert check_labels(pd.Series(values, dtype=dtype), 3, 2)[0].tolist() == CODES


def test_check_labels_looks_at_every_block():
    """Long labels are checked and copied in blocks; the message names the row of all labels."""
    labels = np.tile([0, 1], 20_000)
    assert np.array_equal(check_labels(labels, 40_000, 2)[0], labels)
    labels[33_333] = 2
    with pytest.raises(InvalidInput, match="row 33333"):
        check_labels(labels, 40_000, 2)


def test_labels_and_classes_are_copied():
    labels = np.array(CODES)
    codes, names = check_labels(labels, 3, 2)
    labels[0] = 0
    assert codes.tolist() == CODES
    assert not codes.flags.writeable
    assert not names.flags.writeable
    given = np.array(["a", "b"])
    names = check_classes(given, 2)
    given[0] = "z"
    assert names.tolist() == ["a", "b"]
    assert not names.flags.writeable


def test_labels_that_are_no_class_are_refused():
    with pytest.raises(InvalidInput, match="k must be one of the classes; got 2; pass one of"):
        check_class(2, np.array(["cat", "dog"]))
    with pytest.raises(InvalidInput, match=r"whole numbers of 64 bits; got 1e\+308 at row 1"):
        Predictions([0.5, 0.5], np.array([1, 1e308], dtype=object))


def test_integers_that_doubles_cannot_tell_are_refused():
    """As labels and as names of groups and clusters, which would be merged."""
    rule = "must be whole numbers of 64 bits; got .* at row 1; pass strings"
    for values in ([0, 2**70 + 1], [Decimal(1), Decimal(10**22 + 1)]):
        for asked in ({}, {"groups": values}, {"clusters": values}):
            labels = [0, 1] if asked else values
            with pytest.raises(InvalidInput, match=rule):
                Predictions([0.5, 0.5], labels, **asked)
    with pytest.raises(InvalidInput, match="an integer of more than 300 digits"):
        check_labels([0, 10**400], 2, 2)


def test_listing_leaves_out_the_middle():
    """A thousand classes do not fill the screen."""
    assert listing(range(1000), limit=5) == "0, 1, 2, ..., 999"


def one_based(m=4, n=300, seed=0):
    """Predictions that know their labels, and these numbered from 1 without the last class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, m - 1, n)
    probs = np.full((n, m), 0.2 / (m - 1))
    probs[np.arange(n), labels] = 0.8
    return probs, labels + 1


@pytest.mark.parametrize("m", [3, 4, 100])
@pytest.mark.parametrize("take", [Predictions, lambda p, y: Identity().fit(p, y)])
def test_labels_from_one_without_the_last_class_are_an_error(m, take):
    """They would pass for 0 to m - 1; classes= says what they are."""
    probs, labels = one_based(m)
    match = rf"numbered from 0.*classes=range\(1, {m + 1}\), or classes=range\(0, {m}\)"
    with pytest.raises(InvalidInput, match=match):
        take(probs, labels)


def test_class_is_found_by_its_name_before_its_code():
    """A number that is no name is a code; text finds numbers too."""
    assert [check_class(k, np.array([3, 1, 0])) for k in (1, "1", np.int64(0), 2)] == [1, 1, 2, 2]
    assert [check_class(k, np.array(["b", "1", "0"])) for k in ("b", "1", 0, 2)] == [0, 1, 2, 2]
