"""Intervals of kernel errors: U-statistics, blocks, and how they agree with the tests."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.kernels import Exponential, Gaussian, Matern32, Matern52, Sum
from caltest.measures import skce
from caltest.measures.kernel import bounds
from caltest.measures.kernel.bounds import BIASED, ZERO
from caltest.measures.kernel.skce import KCE, MMCE, SKCE

KERNELS = [
    Exponential(bandwidth=0.5),
    Gaussian(bandwidth=0.5),
    Matern52(bandwidth=0.4),
    Sum(Matern32(bandwidth=0.3), Exponential(bandwidth=2.0, metric="logit")),
    Sum(Matern32(bandwidth=0.3), Matern52(bandwidth=2.0, metric="logit")),
]


def pair_values(data, kernel):
    """Return h_ij of all pairs i > j, as a matrix with zeros elsewhere."""
    values = np.zeros((data.n, data.n))
    for i, j in zip(*np.tril_indices(data.n, -1), strict=True):
        values[i, j] = skce(data.subset(np.array([i, j])), kernel=kernel)
    return values


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_second_moment_is_the_mean_square_over_all_pairs(kernel, m):
    """On the line and by tiles, for sums of kernels of two metrics too."""
    if m > 2 and "logit" in str(kernel):
        pytest.skip("log odds are of two classes")
    data = generative_model("M2", n=16, m=m, rng=0)
    h = pair_values(data, kernel)
    sums, squares = SKCE(kernel=kernel).bind_all_pairs(data).row_moments()
    assert squares == pytest.approx(np.square(h).sum() / (16 * 15 / 2), rel=1e-9)
    expected = (h + h.T).sum(axis=1)
    np.testing.assert_allclose(np.sort(sums), np.sort(expected), atol=1e-12)


def test_second_moment_of_blocks_is_that_of_their_pairs():
    data, kernel = generative_model("M2", n=23, m=3, rng=0), Exponential(bandwidth=0.5)
    measure = SKCE(estimator="block", block_size=5, kernel=kernel)
    h = pair_values(data, kernel)
    blocks = [h[i : i + 5, i : i + 5] for i in range(0, 20, 5)]
    expected = np.mean([np.square(block).sum() / 10 for block in blocks])
    assert measure.bind(data).second_moment() == pytest.approx(expected, rel=1e-12)


KERNEL = Exponential(0.5)


def ends_of(measure, predictions, level=0.95):
    """Bound without resampling."""
    return measure.own_interval(predictions, level=level)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [KERNEL, Gaussian(bandwidth=0.5)])
@pytest.mark.parametrize("m", [2, 3])
def test_lower_end_is_that_of_the_jackknife(m, kernel, weighted):
    """The estimate less 1.96 standard errors, each row left out in turn; one has the weight 0."""
    probs, rows = generative_model("M2", n=20, m=m, rng=1).probs, np.arange(20)
    weight = np.where(rows == 3, 0.0, np.random.default_rng(2).uniform(0.5, 2.0, 20))
    data = Predictions(
        probs, probs.argmin(axis=1), classes=range(m), sample_weight=weight if weighted else None
    )
    measure = SKCE(kernel=kernel)
    rows = rows[weight > 0] if weighted else rows
    without = np.array([measure.evaluate(data.subset(rows[rows != i])) for i in rows])
    variance = (rows.size - 1) / rows.size * np.square(without - without.mean()).sum()
    found = ends_of(measure, data)
    low = measure.evaluate(data) - norm.ppf(0.975) * math.sqrt(variance)
    assert (found.low, found.estimate) == pytest.approx((low, measure.evaluate(data)), rel=1e-9)
    assert low > 0


def test_intervals_of_kce_and_mmce_are_roots_of_that_of_the_skce():
    """The MMCE is the KCE with half the exponential kernel of width w."""
    data = generative_model("M2", n=100, m=3, rng=1)
    square, root = ends_of(SKCE(kernel=KERNEL), data), ends_of(KCE(kernel=KERNEL), data)
    ends = (square.low, square.high, square.estimate)
    assert (root.low, root.high, root.estimate) == pytest.approx(np.sqrt(ends), rel=1e-12)
    assert BIASED in root.notes
    data = generative_model("M2", n=100, m=2, rng=1)
    mmce, kce = ends_of(MMCE(width=0.5), data), ends_of(KCE(kernel=KERNEL), data)
    assert mmce.high == pytest.approx(kce.high / math.sqrt(2.0), rel=1e-12)


def test_interval_that_reaches_zero_says_so():
    """A calibrated model has no normal limit."""
    found = ends_of(SKCE(kernel=KERNEL), generative_model("M1", n=100, m=3, rng=0))
    assert found.low == 0.0 < found.high
    assert ZERO in found.notes


@pytest.mark.parametrize(
    ("measure", "data", "message"),
    [
        (SKCE(), Predictions(np.eye(3), [0, 1, 2]), "SKCE is the same without any row"),
        (SKCE(), generative_model("M2", n=2, m=3, rng=0), "at least three observations, .* are 2"),
        (SKCE(estimator="block", block_size=5), generative_model("M2", n=5, m=3, rng=1),
         r"these \(1 in all\) do not"),
    ],
    ids=["perfect predictions", "two rows", "one block"],
)  # fmt: skip
def test_error_that_does_not_vary_has_no_interval(measure, data, message):
    with pytest.raises(NotApplicable, match=message):
        ends_of(replace(measure, kernel=KERNEL), data)


OPTIONS = {"level": 0.9}


@pytest.mark.parametrize(("estimator", "size"), [("linear", 2), ("block", 5)])
def test_ends_are_those_of_students_interval(estimator, size):
    """The block values are unbiased estimates of consecutive rows."""
    data = generative_model("M2", n=600, m=3, alpha=1.0, rng=1)
    measure = SKCE(estimator=estimator, block_size=size, kernel=Exponential(0.5))
    parts = [data.subset(np.arange(i, i + size)) for i in range(0, 600, size)]
    values = [SKCE(kernel=Exponential(0.5)).evaluate(part) for part in parts]
    low, high = stats.t.interval(0.9, len(values) - 1, np.mean(values), stats.sem(values))
    found = measure.own_interval(data, **OPTIONS)
    assert (found.low, found.high) == pytest.approx((max(low, 0.0), high), rel=1e-10)


def test_interval_of_rare_errors_is_that_of_all_pairs():
    """Pairs tell something only where both rows err: 25 errors in 500 rows are a few pairs."""
    data = generative_model("M2", n=500, m=2, pi=0.1, rng=1)
    measure = SKCE(estimator="linear", kernel=Exponential(0.5))
    found = measure.own_interval(data, **OPTIONS)
    pairs = SKCE(kernel=Exponential(0.5)).own_interval(data, **OPTIONS)
    assert (found.low, found.estimate, found.high) == (pairs.low, pairs.estimate, pairs.high)
    assert bounds.ALL in found.notes


def test_interval_of_rare_errors_among_many_rows_says_so(monkeypatch):
    monkeypatch.setattr(bounds, "PAIRS_UP_TO", 499)
    measure = SKCE(estimator="linear", kernel=Exponential(0.5))
    rare = generative_model("M2", n=500, m=2, pi=0.1, rng=1)
    assert bounds.RARE in measure.own_interval(rare, **OPTIONS).notes
    often = generative_model("M2", n=500, m=10, alpha=1.0, rng=1)
    assert bounds.RARE not in measure.own_interval(often, **OPTIONS).notes
