"""Resamples in batches: the same rows however they are grouped, and p-values with ties."""

import numpy as np
import pytest

from caltest.errors import NotApplicable
from caltest.nulls import base as resampling
from caltest.nulls.base import (
    BATCH,
    batch_seeds,
    drawn_batches,
    resampled_values,
    resampling_pvalue,
)
from caltest.numerics.joint import TIES
from caltest.numerics.loops import threads


def draw(rng, size):
    """Draw rows of five labels."""
    return rng.integers(0, 9, (size, 5)).astype(np.uint8)


def evaluate(rows):
    """Give each row of labels a number of its own."""
    return rows @ 9.0 ** np.arange(5)


@pytest.mark.parametrize("n_resamples", [1, BATCH, BATCH + 1, 999])
def test_batch_seeds_cover_all_resamples(n_resamples):
    """Every batch but the last is full, and every one has a seed of its own."""
    seeds, sizes = zip(*batch_seeds(3, n_resamples), strict=True)
    assert sum(sizes) == n_resamples
    assert set(sizes[:-1]) <= {BATCH}
    assert len({seed.spawn_key for seed in seeds}) == len(seeds)


def test_more_resamples_begin_with_the_same():
    """B = 999 starts with the resamples of B = 640."""
    values = [
        resampled_values(drawn_batches(draw, 1, b), evaluate, 5, pooled=False)
        for b in (10 * BATCH, 999)
    ]
    np.testing.assert_array_equal(values[1][: 10 * BATCH], values[0])


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("at_a_time", [1, 100, 1 << 28])
def test_values_do_not_depend_on_grouping(pooled, n_jobs, at_a_time, monkeypatch):
    """Pools, chunks and threads give the rows of the plain loop."""
    children = np.random.SeedSequence(7).spawn(4)
    sizes = [BATCH, BATCH, BATCH, 8]
    rows = [draw(np.random.default_rng(c), s) for c, s in zip(children, sizes, strict=True)]
    monkeypatch.setattr(resampling, "AT_A_TIME", at_a_time)
    monkeypatch.setattr(resampling, "POOL", at_a_time)
    batches = drawn_batches(draw, 7, 200)
    for several in (evaluate, lambda *given: np.stack([evaluate(*given)] * 2)):
        with threads(n_jobs):
            values = resampled_values(batches, several, 5, pooled=pooled)
        np.testing.assert_array_equal(values, several(np.concatenate(rows)))


@pytest.mark.parametrize(
    ("observed", "alternative", "expected"),
    [
        (3.5, "greater", 2 / 6),
        (3.0, "greater", 3 / 6),  # a tie counts as extreme
        (9.0, "greater", 1 / 6),
        (0.0, "greater", 1.0),
        (3.5, "two-sided", 4 / 6),
        (0.5, "two-sided", 4 / 6),
        (9.0, "two-sided", 2 / 6),
        (2.0, "two-sided", 1.0),
    ],
)
def test_pvalue_counts_what_is_at_least_as_extreme(observed, alternative, expected):
    """It is (1 + #) / (1 + B); two-sided, twice the smaller tail and at most 1."""
    resampled = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert resampling_pvalue(observed, resampled, 1.0, alternative) == pytest.approx(expected)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_pvalue_has_ties_within_rounding_of_the_scale(scale):
    """What is less by some eps of the scale is a tie; what is less by more is not."""
    observed = 0.25 * scale
    near, far = observed - 0.5 * TIES * scale, observed - 2 * TIES * scale
    assert resampling_pvalue(observed, np.array([near]), scale) == 1.0
    assert resampling_pvalue(observed, np.array([far]), scale) == 0.5


def test_infinite_values_tie_with_infinite_values_only():
    """The log loss is infinite where a label was impossible."""
    resampled = np.array([0.0, 1.0, np.inf])
    assert resampling_pvalue(np.inf, resampled) == 0.5
    assert resampling_pvalue(1.0, resampled) == 0.75
    assert resampling_pvalue(np.inf, resampled, alternative="two-sided") == 1.0
    assert resampling_pvalue(np.inf, resampled[:2]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("observed", "resampled"), [(np.nan, [0.0]), (0.0, [np.nan, 1.0])])
def test_resampling_pvalue_of_nan_is_an_error(observed, resampled):
    """A comparison with nan is false, which would make the p-value small."""
    with pytest.raises(NotApplicable, match="not a number"):
        resampling_pvalue(observed, np.array(resampled))
