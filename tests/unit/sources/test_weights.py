"""Sums of weights in cells are those of a loop over the rows, and what is redrawn has their law."""

import numpy as np
import polars as pl
import pytest

from caltest.numerics.labels import resample_keys
from caltest.sources import count_rows, weights

DRAWS = 4000


def rows(n=600, seed=0, kind="continuous"):
    """Return predictions, some of them 0 and 1, labels and weights."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.013, 0.2, 0.55, 0.97, 1.0], n)
    y = (rng.random(n) < p).astype(int)
    spread = {"continuous": 1.0, "narrow": 0.4}
    weight = rng.integers(1, 6, n) if kind == "whole" else rng.lognormal(0, spread[kind], n)
    return p, y, weight / weight.mean()


def test_whole_weights_are_exact():
    """Sums and what is redrawn are whole numbers of units, and no more than all rows weigh."""
    p, y, w = rows(kind="whole")
    cells = count_rows(p, y, (), w)
    drawn = cells.redrawn(resample_keys(0, 200))
    assert cells.has_equal_weights is False
    assert cells.weights.missing == 0.0
    events = [w[p == q] @ y[p == q] for q in np.unique(p)]
    np.testing.assert_allclose(cells.events, events, rtol=2**-20)
    np.testing.assert_allclose(drawn / w.min(), np.rint(drawn / w.min()), atol=1e-3)
    assert ((drawn >= 0) & (drawn <= cells.n * (1 + 2**-20))).all()
    assert (drawn[:, 0] == 0).all()
    np.testing.assert_allclose(drawn[:, -1], cells.n[-1], rtol=2**-20)


@pytest.mark.parametrize("size", [120, 30_000])
def test_redrawn_sums_have_the_moments_of_the_rows(size):
    """Mean, variance and skewness, by inversion and above its limit as a normal number."""
    p, y, w = rows(size, kind="narrow")
    cells = count_rows(p, y, (), w)
    assert (np.count_nonzero(cells.weights.drawn.cell == 3) == 1) == (size > 120)
    drawn = cells.redrawn(resample_keys(1, DRAWS))
    for c in range(1, len(cells) - 1):
        own = p == np.unique(p)[c]
        v = (w**2 * p * (1 - p))[own].sum()
        skew = (w**3 * p * (1 - p) * (1 - 2 * p))[own].sum() / v**1.5
        z = (drawn[:, c] - w[own] @ p[own]) / np.sqrt(v)
        assert z.mean() == pytest.approx(0, abs=4 / np.sqrt(DRAWS))
        assert z.var() == pytest.approx(1, abs=0.1)
        assert (z**3).mean() == pytest.approx(skew, abs=0.25 + 0.2 * abs(skew))


def test_cumulants_are_those_of_the_rows():
    p, y, w = rows(30_000)
    cells = count_rows(p, y, (), w)
    v = p * (1 - p)
    powers = (w**2 * v, w**3 * v * (1 - 2 * p), w**4 * v * (1 - 6 * v))
    for found, terms in zip(cells.weights.cumulants, powers, strict=True):
        own = [terms[p == q].sum() for q in np.unique(p)]
        np.testing.assert_allclose(found, own, rtol=0.03, atol=1e-6)


def test_weights_of_a_class_are_redrawn_at_their_mean():
    """The variance that this leaves out is known."""
    cells = count_rows([0.5] * 4, [0, 1, 0, 1], (), [1.0, 1.0625] * 2)
    assert len(cells.weights.drawn) == 1
    assert cells.weights.missing == pytest.approx(1 - 1.03125**2 / (0.5 + 0.5 * 1.0625**2))


def test_classes_become_fewer_where_they_are_many(monkeypatch):
    """Sums stay as they are, and more of the variance is left out, as is said."""
    p, y, w = rows(600)
    fine = count_rows(p, y, (), w)
    monkeypatch.setattr(weights, "MOST", 100)
    coarse = count_rows(p, y, (), w)
    assert len(coarse.weights.drawn) < 0.6 * len(fine.weights.drawn)
    assert (fine.weights.ratio, coarse.weights.ratio) == (1.125, 1.5)
    assert fine.weights.missing < coarse.weights.missing < 0.015
    np.testing.assert_array_equal(coarse.events, fine.events)
    drawn = coarse.redrawn(resample_keys(1, DRAWS)).sum(axis=1)
    sd = np.sqrt((w**2 * p * (1 - p)).sum())
    assert drawn.mean() == pytest.approx(w @ p, abs=4 * sd / np.sqrt(DRAWS))
    assert drawn.std() == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize("kind", ["narrow", "whole"])
def test_cells_that_are_joined_keep_sums_and_cumulants(monkeypatch, kind):
    """Of what is redrawn: most of it as one normal number a cell, with the cumulants of its rows.

    A row that is heavy is not joined to others.
    """
    monkeypatch.setattr("caltest.sources.cells.SHARES", 64)
    monkeypatch.setattr("caltest.sources.cells.A_LOG_ODDS", 4)
    rng = np.random.default_rng(0)
    p, (_, _, w) = rng.random(20_000), rows(20_000, kind=kind)
    w[7] = 20_000.0
    cells = count_rows(p, rng.random(p.size) < p, (), w)
    joined = cells.coarser
    first = np.searchsorted(cells.least, joined.least)
    assert len(joined) < 200
    assert len(joined.weights.drawn) < 1000 < len(cells.weights.drawn)
    for name in ("n", "events", "expected", "variance", "squares", "noise", "counts", "hits"):
        sums = np.add.reduceat(getattr(cells, name), first)
        np.testing.assert_allclose(getattr(joined, name), sums, err_msg=name)
    for own, parts in zip(joined.weights.cumulants, cells.weights.cumulants, strict=True):
        np.testing.assert_allclose(own.sum(), parts.sum())
        np.testing.assert_allclose(own, np.add.reduceat(parts, first), atol=1e-3 * own.max())
    heavy = np.argmax(joined.n)
    assert joined.is_point[heavy] or joined.counts[heavy] < 5
    redrawn = joined.redrawn(resample_keys(1, DRAWS)) - joined.expected
    often = joined.counts * joined.mean * (1 - joined.mean) > 1
    sd = np.sqrt(joined.noise[often])
    np.testing.assert_allclose(redrawn.std(axis=0)[often], sd, rtol=0.2)
    assert redrawn.sum(axis=1).std() == pytest.approx(np.sqrt(joined.noise.sum()), rel=0.05)


@pytest.mark.parametrize("factor", [2.0**-20, 3.7, 1e30])
def test_unit_of_the_weights_is_no_matter(factor):
    p, y, w = rows(300)
    one, other = count_rows(p, y, (), w), count_rows(p, y, (), factor * w)
    np.testing.assert_allclose(other.events, one.events, rtol=1e-6)
    np.testing.assert_allclose(other.noise, one.noise, rtol=1e-5)


def test_rows_without_weight_take_no_part():
    p, y, w = rows(300)
    w[::3] = 0
    some, part = w > 0, count_rows(p, y, (), w)
    whole = count_rows(p[some], y[some], (), w[some])
    assert part.rows == some.sum()
    np.testing.assert_allclose(part.events, whole.events)


def test_bins_cut_places_of_weighted_rows():
    """Each part of a place has uniform numbers of its own, as each class of weights."""
    p = np.repeat([0.2 - 1e-9, 0.2 + 1e-9], 3)
    cells = count_rows(p, [0, 1] * 3, (5,), [1.0, 2.0, 4.0] * 2)
    assert cells.place[0] == cells.place[1]
    assert np.unique(cells.weights.drawn.hashes).size == 6


@pytest.mark.parametrize("wrong", [None, float("nan"), -1.0, float("inf"), 1e39])
def test_wrong_weights_are_counted(wrong):
    from caltest.lenses import resolve_lens
    from caltest.sources import Counting, counted
    from caltest.sources.columns import Columns

    frame = pl.DataFrame({"p": [0.5, 0.5], "y": [1, 0], "w": [2.0, wrong]})
    columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "number", weight="w")
    counting = Counting(columns, (resolve_lens("strong"),))
    table = counted([frame], counting)
    assert counting.wrong(table) == {"a weight that is missing, negative or above 1e38": 1}
    assert counting.split(table)[0][None].mass == 1.0
