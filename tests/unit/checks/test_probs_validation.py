"""Probabilities and logits become a matrix whose rows sum to 1."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.calibrators import Identity
from caltest.checks import check_probs
from caltest.errors import InvalidInput

ROWS = np.array([[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])


def test_check_probs_returns_a_copy_that_is_locked():
    given = ROWS.copy()
    probs = check_probs(given)
    given[0] = 0
    np.testing.assert_array_equal(probs, ROWS)
    assert probs.flags.c_contiguous
    assert not probs.flags.writeable


@pytest.mark.parametrize("dtype", [np.float32, np.float64, object, np.longdouble])
def test_check_probs_takes_one_dimension_for_class_1(dtype):
    probs = check_probs(np.array([0.25, 1.0], dtype=dtype))
    np.testing.assert_array_equal(probs, [[0.75, 0.25], [0.0, 1.0]])


@pytest.mark.parametrize("values", [[0, 1], [False, True]])
def test_check_probs_takes_hard_predictions(values):
    np.testing.assert_array_equal(check_probs(values), [[1, 0], [0, 1]])


@pytest.mark.parametrize("wrong", [np.nan, 1.5, -0.1])
def test_check_probs_looks_at_every_block(wrong):
    """A long column is checked and copied in blocks; the message names the row of the column."""
    column = np.full(40_000, 0.25)
    assert check_probs(column)[[0, 20_000, -1]].tolist() == [[0.75, 0.25]] * 3
    column[33_333] = wrong
    with pytest.raises(InvalidInput, match="row 33333"):
        check_probs(column)


def test_rows_that_are_exact_to_single_precision():
    """They are rescaled and clipped; others are left as they are."""
    rng = np.random.default_rng(1)
    single = rng.dirichlet(np.ones(100), 50).astype(np.float32)
    probs = check_probs(single)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(probs, single, rtol=1e-5)
    probs = check_probs([1.0000001, -1e-7, 0.5])
    np.testing.assert_array_equal(probs[:, 1], [1, 0, 0.5])
    probs = check_probs([[1.0000001, -1e-7]])
    np.testing.assert_array_equal(probs, [[1, 0]])
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
        check_probs(rounded, renormalize=False)
    np.testing.assert_allclose(check_probs(rounded, renormalize=True)[0], 1 / 3)


def test_check_probs_names_the_argument_it_is_told():
    """And no option that the caller lacks."""
    with pytest.raises(InvalidInput, match=r"0.99 at row 0; divide each row by its sum"):
        Identity().fit([[0.33, 0.33, 0.33], [0.2, 0.3, 0.5]], [0, 1])
    with pytest.raises(InvalidInput, match=r"^scores must lie in \[0, 1\]"):
        check_probs([2.0], name="scores")


def bfloat16(values):
    """Round to bfloat16, as float32: the first half of its bits, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)


@pytest.mark.parametrize("half", [np.float16, bfloat16])
@pytest.mark.parametrize("m", [3, 10, 1000])
@pytest.mark.parametrize("later", [np.float32, np.float64])
def test_rows_in_half_precision_are_probabilities(half, m, later):
    """Rounded to their type, and passed as it or in another one; calibrators take them too."""
    rng = np.random.default_rng(m)
    exact = rng.dirichlet(np.full(m, 0.3), 500)
    rounded = half(exact)
    assert np.abs(rounded.astype(float).sum(axis=1) - 1).max() > 1e-6 * m or m == 1000
    for probs in (rounded, rounded.astype(later)):
        found = check_probs(probs)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(found, exact, rtol=2e-2, atol=1e-6)
    assert Identity().fit(rounded, rng.integers(0, m, 500)).n_features_in_ == m


def test_rows_that_are_no_half_precision_need_the_option():
    """The same sum of numbers with more digits is an error that may be a missing column."""
    good = np.float16([[0.1, 0.2, 0.7]]).astype(float)
    good[0, 2] -= 2.0**-11
    assert check_probs(good).sum() == pytest.approx(1, rel=1e-12)
    with pytest.raises(InvalidInput, match="must sum to 1"):
        check_probs(good + np.array([0, 0, 1e-7]))


class Tensor:
    """A tensor of PyTorch in bfloat16, which NumPy cannot read."""

    dtype = "torch.bfloat16"

    def __init__(self, values):
        self.values = bfloat16(values)

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Got unsupported ScalarType BFloat16")

    def float(self):
        """The same numbers in single precision."""
        return self.values


def test_bfloat16_is_read():
    """Of a tensor and of an array, by way of single precision."""
    np.testing.assert_allclose(check_probs(Tensor([[0.3, 0.7]])), [[0.3, 0.7]], rtol=5e-3)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    probs = np.array([[0.3, 0.6, 0.1]], dtype=ml_dtypes.bfloat16)
    np.testing.assert_allclose(check_probs(probs), [[0.3, 0.6, 0.1]], rtol=5e-3)


def test_check_probs_reads_logits_by_the_softmax():
    """In one dimension they are log odds."""
    probs = check_probs([[1000.0, 1000.0], [0.0, -np.inf], [0.0, np.log(3)]], from_logits=True)
    np.testing.assert_allclose(probs, [[0.5, 0.5], [1, 0], [0.25, 0.75]], rtol=1e-15)
    probs = check_probs([800.0, -800.0, np.inf, 40.0, -40.0], from_logits=True)
    expected = [[0, 1], [1, 0], [0, 1], [np.exp(-40), 1], [1, np.exp(-40)]]
    np.testing.assert_allclose(probs, expected, rtol=1e-14, atol=1e-300)


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


class Lent:
    """What gives its memory by DLPack alone, as the tensors of some libraries."""

    def __init__(self, values):
        self.values = np.array(values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_tensors_are_read_by_dlpack():
    """They have no other way into NumPy."""
    probs = [[0.25, 0.75], [0.5, 0.5]]
    found = Predictions(Lent(probs), Lent([1, 0]))
    assert found.probs.tolist() == probs
    assert found.labels.tolist() == [1, 0]


def test_masked_number_is_refused():
    with pytest.raises(InvalidInput, match="probs must be complete; got a masked value;"):
        Predictions(np.ma.masked_array(0.5, mask=True), [1])
