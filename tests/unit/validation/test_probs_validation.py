"""Probabilities and logits become a matrix whose rows sum to 1."""

from __future__ import annotations

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.validation import check_probs

ROWS = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])


def test_check_probs_returns_a_copy_that_is_locked():
    """Later changes to the input do not reach the copy, which cannot be changed."""
    given = ROWS.copy()
    probs = check_probs(given)
    given[0] = 0
    np.testing.assert_array_equal(probs, ROWS)
    assert probs.flags.c_contiguous
    assert not probs.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64, object, np.longdouble])
def test_check_probs_takes_one_dimension_for_class_1(dtype):
    """A vector p stands for the rows (1 - p, p)."""
    probs = check_probs(np.array([0.25, 1.0], dtype=dtype))
    np.testing.assert_array_equal(probs, [[0.75, 0.25], [0.0, 1.0]])


@pytest.mark.parametrize("values", [[0, 1], [False, True]])
def test_check_probs_takes_hard_predictions(values):
    """Zeros and ones are probabilities, as numbers or booleans."""
    np.testing.assert_array_equal(check_probs(values), [[1, 0], [0, 1]])


def test_check_probs_mends_single_precision_silently():
    """Rows that sum to 1 in float32 sum to 1 in float64 after the check."""
    rng = np.random.default_rng(1)
    single = rng.dirichlet(np.ones(100), 50).astype(np.float32)
    probs = check_probs(single)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(probs, single, rtol=1e-5)


def test_check_probs_clips_single_precision_excess():
    """A value above 1 or below 0 by a rounding error of float32 is clipped."""
    probs = check_probs([1.0000001, -1e-7, 0.5])
    np.testing.assert_array_equal(probs[:, 1], [1, 0, 0.5])
    probs = check_probs([[1.0000001, -1e-7]])
    np.testing.assert_array_equal(probs, [[1, 0]])


def test_check_probs_leaves_exact_rows_untouched():
    """Checking twice is checking once, bit for bit, also beside a row that is rescaled."""
    rng = np.random.default_rng(2)
    once = check_probs(rng.dirichlet(np.ones(7), 200))
    np.testing.assert_array_equal(check_probs(once), once)
    off = np.array([[0.1, 0.9 + 1e-6]])
    two = check_probs(np.vstack([once[:, :1] * [[1, -1]] + [[0, 1]], off]))
    np.testing.assert_array_equal(two[:-1, 0], once[:, 0])


def test_check_probs_rescales_rounded_rows_on_request():
    """Rows off by at most 0.01 are rescaled where renormalize is true, and only there."""
    rounded = [[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]]
    with pytest.raises(InvalidInput, match=r"a sum of 0.99 at row 0; pass renormalize=True"):
        check_probs(rounded)
    np.testing.assert_allclose(check_probs(rounded, renormalize=True)[0], 1 / 3)


def test_check_probs_refuses_rows_far_from_one_all_the_same():
    """The option renormalize does not turn scores into probabilities."""
    with pytest.raises(InvalidInput, match=r"a sum of 0.88 at row 1; pass one column per class"):
        check_probs([[0.5, 0.5], [0.44, 0.44]], renormalize=True)


def test_check_probs_reads_logits_by_the_softmax():
    """Large, equal and minus infinite logits give what the softmax gives, without overflow."""
    probs = check_probs([[1000.0, 1000.0], [0.0, -np.inf], [0.0, np.log(3)]], from_logits=True)
    np.testing.assert_allclose(probs, [[0.5, 0.5], [1, 0], [0.25, 0.75]], rtol=1e-15)


def test_check_probs_reads_log_odds_on_both_sides():
    """A vector of logits holds log odds; small probabilities keep their digits in both columns."""
    probs = check_probs([800.0, -800.0, np.inf, 40.0, -40.0], from_logits=True)
    expected = [[0, 1], [1, 0], [0, 1], [np.exp(-40), 1], [1, np.exp(-40)]]
    np.testing.assert_allclose(probs, expected, rtol=1e-14, atol=1e-300)


def test_check_probs_names_the_argument_it_is_told():
    """The name in the message is the name of the caller's argument."""
    with pytest.raises(InvalidInput, match=r"^scores must lie in \[0, 1\]"):
        check_probs([2.0], name="scores")


@pytest.mark.parametrize(
    ("values", "remedy"),
    [
        ([[20.0, 80.0], [55.0, 45.0]], "divide by 100 if they are percentages$"),
        ([[20, 80], [55, 45], [50, 40]], "divide by 100 if they are percentages$"),
        ([20.0, 80.0, 0.5], "divide by 100 if they are percentages, or pass from_logits=True$"),
        ([0.2, 1.2, 0.5], "; pass probabilities, or from_logits=True$"),
        ([[2.0, 1.5], [0.3, 0.1]], "; pass probabilities, or from_logits=True$"),
        ([[120.0, -20.0]], "; pass probabilities, or from_logits=True$"),
    ],
)
def test_percentages_are_told_from_logits(values, remedy):
    """Rows that sum to 100 are to be divided, whatever one mistyped row sums to."""
    with pytest.raises(InvalidInput, match=remedy):
        check_probs(values)
