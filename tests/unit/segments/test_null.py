"""The joint null of all segments, against the plainest code on the same redrawn labels."""

from itertools import combinations

import numpy as np
import pytest

import caltest as ct
from caltest.numerics.joint import step_down
from caltest.numerics.labels import resample_keys
from caltest.segments import null
from caltest.segments.loops import residual, surprise

N, B = 300, 49
RNG = np.random.default_rng(1)
P = RNG.beta(2, 4, N).round(2)  # with ties
Y = (RNG.random(N) < P).astype(int)
X = RNG.integers(0, 3, (N, 3))
W = RNG.uniform(0.5, 2.0, N)


def run(y=Y, *, weight=None, **options):
    """Test all cells of two columns."""
    data = ct.Predictions(P, y, sample_weight=weight)
    return ct.test_segments(
        data, features=X, n_resamples=B, rng=3, min_size=10, keep=999, **options
    )


def plain_segments():
    """Yield the definition, the depth and the rows of each segment."""
    yield "all rows", 0, np.ones(N, dtype=bool)
    for d in (1, 2):
        for columns in combinations(range(3), d):
            for values in np.ndindex(*[3] * d):
                rows = (X[:, list(columns)] == values).all(axis=1)
                if rows.sum() >= 10:
                    pairs = zip(columns, values, strict=True)
                    yield " & ".join(f"x{j} = {v}" for j, v in pairs), d, rows


def plain_scores(y, rows, weight, statistic):
    """Score one segment for labels (n,)."""
    p, w = P[rows], weight[rows]
    variance = (w**2 * p * (1 - p)).sum()
    skewness = (w**3 * p * (1 - p) * (1 - 2 * p)).sum() / variance**1.5
    gaps = w * (y[rows] - p)
    mean = surprise(abs(residual(gaps.sum() / variance**0.5, skewness)))
    order = np.argsort(p, kind="stable")
    ends = np.flatnonzero(np.diff(p[order], append=2))
    sums = np.append(0, np.cumsum(gaps[order])[ends]) / variance**0.5
    up = (sums - np.minimum.accumulate(sums)).max()
    down = (np.maximum.accumulate(sums) - sums).max()
    r = max(residual(up, skewness), -residual(-down, skewness))
    cumulative = surprise(r) - np.log(4)
    return {"mean": mean, "cumulative": cumulative, "both": max(mean, cumulative)}[statistic]


@pytest.mark.cases(1)
@pytest.mark.parametrize("weight", [None, W], ids=["", "weighted"])
@pytest.mark.parametrize("statistic", ["mean", "cumulative", "both"])
def test_adjusted_pvalues_are_those_of_plain_code(statistic, weight):
    """The labels are those that every test redraws with that seed."""
    asked = ["mean", "cumulative"] if statistic == "both" else statistic
    result = run(weight=weight, statistic=asked)
    data = ct.Predictions(P, Y)
    redrawn = data.redrawing.labels(resample_keys(3, B + null.SHARING))
    found = list(plain_segments())
    w = np.ones(N) if weight is None else weight
    scores = np.array(
        [[plain_scores(y, rows, w, statistic) for y in (Y, *redrawn)] for _, _, rows in found]
    )
    depths = np.array([depth for _, depth, _ in found])
    for depth in range(3):
        own = depths == depth
        largest = scores[own][:, 1 + B :].max(axis=0).mean()
        scores[own] -= largest - np.euler_gamma - np.log(1 + depth)
    adjusted = step_down(scores[:, : 1 + B])
    assert len(result) == len(found)
    expected = {name: p for (name, _, _), p in zip(found, adjusted, strict=True)}
    assert {row.definition: row.adjusted for row in result} == pytest.approx(expected)


def test_numbers_of_a_segment_are_those_of_its_rows():
    row = next(row for row in run() if row.definition == "x0 = 1 & x2 = 2")
    rows = (X[:, 0] == 1) & (X[:, 2] == 2)
    assert row.n == rows.sum()
    assert row.predicted == pytest.approx(P[rows].mean())
    assert row.observed == pytest.approx(Y[rows].mean())
    z = (Y - P)[rows].sum() / np.sqrt((P * (1 - P))[rows].sum())
    assert row.z == pytest.approx(z)
    own = ct.measures.gap.gap_of(ct.measures.gap.EventRows(P[rows], Y[rows] > 0), "segment", "")
    assert (row.low, row.gap, row.high) == pytest.approx((own.low, own.gap, own.high))


@pytest.mark.parametrize("change", [{"SUMS": 50}, {"LANES": 7}, {"n_jobs": 2}, {"ROWS": 64}])
def test_answer_does_not_depend_on_how_it_is_computed(monkeypatch, change):
    """Nor on threads, blocks and resamples at a time."""
    whole = run()
    jobs = change.pop("n_jobs", None)
    for name, value in change.items():
        monkeypatch.setattr(null if name != "ROWS" else ct.segments.cells, name, value)
    again = run(n_jobs=jobs)
    assert [row.adjusted for row in again] == [row.adjusted for row in whole]
    assert again.null_distribution == pytest.approx(whole.null_distribution)


def test_few_kept_scores_give_upper_bounds(monkeypatch):
    """Segments beyond those that are kept for the step-down are adjusted in one step."""
    whole = {row.definition: row.adjusted for row in run()}
    monkeypatch.setattr(null, "SCORES", 5 * (B + 1))
    few = run()
    assert few.pvalue == run().pvalue
    assert all(row.adjusted >= whole[row.definition] - 1e-12 for row in few)
    assert all(row.adjusted == whole[row.definition] for row in few[:5])


def test_cumulative_differences_stop_where_they_cost_too_much(monkeypatch):
    monkeypatch.setattr(null, "AFFORDABLE", 5 * N * B)
    result = run()
    assert "cumulative difference up to depth 1" in str(result).replace("\n    ", " ")
    assert {row.depth for row in result if row.cumulative is None} == {2}
    assert "up to" not in run(statistic="cumulative").statistics


def test_scan_of_numbers_scores_both_sides_of_cuts():
    """Of twice as many parts; the first and the last part are segments once."""
    age = np.random.default_rng(4).integers(0, 40, N)
    scan = ct.test_segments(
        P, Y, features={"age": age}, bins=4, depth=1, n_resamples=B, rng=3, keep=99
    )
    sides = {row.definition: row for row in scan if " <= " in row.definition}
    assert len(sides) == 7  # eight parts
    for name, row in sides.items():
        cut = int(name.split()[-1])
        assert row.n == (age <= cut).sum()
        assert row.observed == pytest.approx(Y[age <= cut].mean())
    assert scan.n_segments == (1, 4 + 2 * 7 - 2)
