"""How often the test of segments rejects: family-wise error, and power for a planted slice."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct

BAND = 0.999
LEVEL = 0.05


@pytest.fixture(params=[200, pytest.param(2000, marks=pytest.mark.slow)])
def n_datasets(request):
    """Return the number of data sets: 200, and 2000 where --slow asks for it."""
    return request.param


def features_of(rng, n):
    """Return two columns of names and two of numbers."""
    names = {f"c{j}": rng.integers(0, 4, n).astype(str) for j in range(2)}
    return names | {f"x{j}": rng.normal(size=n) for j in range(2)}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "risks"), [(50, (2, 5)), (50, (0.3, 3)), (500, (0.3, 3))])
def test_family_wise_error_is_the_level(n, risks, n_datasets):
    """Some segment of calibrated predictions is rejected in 5 % of the data sets, rare or not."""
    rejected = 0
    for seed in range(n_datasets):
        rng = np.random.default_rng(seed)
        p = rng.beta(*risks, n)
        result = ct.test_segments(
            p,
            (rng.random(n) < p).astype(int),
            features=features_of(rng, n),
            min_size=8,
            n_resamples=99,
            rng=seed,
        )
        rejected += result.pvalue <= LEVEL
    low, high = binom.interval(BAND, n_datasets, LEVEL)
    assert low <= rejected <= high


def test_family_wise_error_holds_beside_a_wrong_segment(n_datasets):
    """Of the segments without the rows of a wrong one, some is rejected in at most 5 %."""
    rejected = 0
    for seed in range(n_datasets):
        rng = np.random.default_rng(seed)
        p, site = rng.uniform(0.1, 0.5, 300), rng.integers(0, 6, 300)
        y = rng.random(300) < np.where(site == 0, p + 0.5, p)
        result = ct.test_segments(
            p, y, segments={"site": site}, n_resamples=99, rng=seed, statistic="mean"
        )
        wrong = {"site = 0", "all rows"}
        rejected += any(row.adjusted <= LEVEL for row in result if row.definition not in wrong)
    assert rejected <= binom.ppf(BAND, n_datasets, LEVEL)


PLANTED = {  # the rows, what definitions of segments have that hold them, the share that is found
    "cell": (lambda x: (x["a"] == 3) & (x["b"] == 5), ("a = 3 & b = 5",), 0.8),
    "corner": (lambda x: (x["x0"] > 1.07) & (x["x1"] < -1.07), ("x0 > ", "x1 <= "), 0.75),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLANTED)
def test_planted_slice_is_found_by_a_scan(kind):
    """One row in fifty, a cell or between the cuts of two numbers, at 5 % and observed at 15 %."""
    rows, parts, share = PLANTED[kind]
    found, n, n_datasets = 0, 10_000, 100
    for seed in range(n_datasets):
        rng = np.random.default_rng([seed, 77])
        columns = {f"x{j}": rng.normal(size=n) for j in range(4)}
        columns |= {name: rng.integers(0, 7, n) for name in "ab"}
        p = rng.beta(1, 19, n)
        y = rng.random(n) < p + 0.1 * rows(columns)
        result = ct.test_segments(p, y, features=columns, n_resamples=199, rng=seed)
        inside = [row for row in result if all(part in row.definition for part in parts)]
        found += any(row.adjusted <= LEVEL for row in inside)
    assert found >= binom.ppf(1 - BAND, n_datasets, share)
