"""Time of the test of segments at the sizes of its goals."""

import numpy as np
import pytest

import caltest as ct


def data_of(n):
    """Return calibrated predictions with labels."""
    rng = np.random.default_rng(1)
    p = rng.beta(2, 5, n)
    return p, (rng.random(n) < p).astype(int), rng


@pytest.mark.benchmark(group="segments")
@pytest.mark.parametrize("statistic", ["mean", ["mean", "cumulative"]], ids=["mean", "both"])
def test_all_pairs_of_twenty_columns(benchmark, statistic):
    """76,401 segments of 10^6 rows, B = 199; the goal is two minutes on two cores."""
    p, y, rng = data_of(1_000_000)
    columns = {f"c{j}": rng.integers(0, 20, p.size).astype(np.uint8).astype(str) for j in range(20)}
    benchmark.pedantic(
        lambda: ct.test_segments(
            p, y, segments=columns, statistic=statistic, n_resamples=199, rng=1, n_jobs=2
        ),
        rounds=1,
    )


@pytest.mark.benchmark(group="segments")
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_matrix_of_two_thousand_segments(benchmark, share):
    """20,000 rows, B = 499; the goal is ten seconds."""
    p, y, rng = data_of(20_000)
    matrix = rng.random((20_000, 2000)) < share
    benchmark.pedantic(
        lambda: ct.test_segments(p, y, segments=matrix, n_resamples=499, rng=1, n_jobs=2),
        rounds=1,
        warmup_rounds=1,
    )


@pytest.mark.benchmark(group="segments")
def test_all_pairs_of_a_hundred_columns(benchmark):
    """Some 80,000 segments of 20,000 rows, B = 999; the goal is 8 s of CPU time."""
    p, y, rng = data_of(20_000)
    columns = {f"c{j}": rng.integers(0, 4, p.size).astype(np.int8) for j in range(100)}
    benchmark.pedantic(
        lambda: ct.test_segments(p, y, segments=columns, rng=1), rounds=1, warmup_rounds=0
    )


@pytest.mark.benchmark(group="many classes")
def test_default_of_a_hundred_classes(benchmark):
    """50,000 rows, B = 999; the goal is 5 s of CPU time."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(100, 0.3), 50_000)
    y = (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1).clip(max=99)
    benchmark.pedantic(lambda: ct.test_calibration(p, y, rng=1), rounds=1, warmup_rounds=0)


@pytest.mark.benchmark(group="smooth ECE")
def test_exact_test_of_the_smooth_ece(benchmark):
    """10^5 rows, B = 999; the goal is 0.5 s."""
    p, y, _ = data_of(100_000)
    benchmark.pedantic(lambda: ct.test_calibration(p, y, test="smooth-ece", rng=1), rounds=3)
