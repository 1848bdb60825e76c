"""Places: which are named, which rows they have, and what they are called."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit

import caltest as ct
from caltest.htests import places as found_places
from caltest.htests.places import CellSearch, find_places
from caltest.results import Verdict, wording
from caltest.sources import count_rows

OPTIONS = {"n_resamples": 199, "rng": 1}


def tail(n=2000, seed=1):
    """Two classes, P(1) above .8 too high by 25 points."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1.5, n)
    y = rng.random(n) < np.where(p > 0.8, p - 0.25, p)
    return ct.Predictions(p, y.astype(int))


def tempered(n=1000, m=5, seed=1):
    """Several classes, labels drawn at temperature 2."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    q = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)
    return ct.Predictions(p, (rng.random(n)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1))


def searched(predictions, **options):
    asked = {"lens": "strong", "n_resamples": 199, "seed": 1, "level": None} | options
    return find_places(predictions, **asked)


def test_place_keeps_its_rows_through_json():
    """Of the result and of its verdict."""
    data = tempered()
    result = ct.test_calibration(data, **OPTIONS)
    again = ct.HTest.from_dict(result.to_dict())
    told = Verdict.from_dict(result.verdict().to_dict())
    assert again.places == told.places == result.places
    assert (again.places[0].mask(data) == result.places[0].mask(data)).all()


@pytest.mark.parametrize("lens", ["confidence", "classwise[2]", "top-label[1]", "within-top-2"])
def test_mask_of_a_place_under_a_lens_is_of_all_rows(lens):
    """A lens may leave rows out; the mask has them as False."""
    data = tempered(3000)
    places = ct.test_calibration(data, lens=lens, **OPTIONS).places
    assert places
    for place in places:
        rows = place.mask(data)
        assert (rows.size, rows.sum()) == (data.n, place.n)


def test_places_of_groups_allow_for_all_groups():
    """The mask finds the group; p-values are multiplied by the number of groups."""
    data = tail(3000)
    group = np.repeat(["a", "b", "c"], 1000)
    grouped = ct.Predictions(data.probs, data.labels, groups=group)
    table = ct.test_calibration(grouped, by=group, n_resamples=999, rng=1)
    places = [place for row in table for place in row.places]
    assert places
    for place in places:
        rows = place.mask(grouped)
        assert set(group[rows]) == {place.where.group}
        assert rows.sum() == place.n
        assert place.pvalue >= 3 / 1000
    with pytest.raises(ct.InvalidInput, match="must have groups"):
        places[0].mask(data)


@pytest.mark.parametrize(("factor", "word"), [(3.0, "Too extreme"), (0.3, "Not extreme enough")])
def test_ranges_on_both_sides_of_the_mean_are_one_error(factor, word):
    """Each half of the sentence is true of its rows; the verdict keeps the word."""
    rng = np.random.default_rng(1)
    z = rng.normal(0.0, 1.5, 600)
    p, y = expit(factor * z), (rng.random(600) < expit(z)).astype(int)
    result = ct.test_calibration(p, y, **OPTIONS)
    first, second = sorted(
        (place for place in result.places if place.name in result.finding),
        key=lambda place: place.predicted,
    )
    assert first.side != second.side
    for place in (first, second):
        rows = place.mask(ct.Predictions(p, y))
        sure = 100 * place.surely
        assert f"{place.name} is at least {sure:.1f} points too {place.side}" in result.finding
        assert (p[rows].mean() > y[rows].mean()) == (place.side == "high")
    assert f". {word}: {first.name}" in " ".join(str(result).split())
    assert f". {word}. P(1) is" in " ".join(str(result.verdict()).split())


def test_ranges_that_are_no_shape_of_all_rows_are_not_called_one():
    """Not on one side of the mean, of another event, or against the temperature of all rows."""
    rng = np.random.default_rng(1)
    z = rng.normal(0.0, 1.5, 600)
    y = (rng.random(600) < expit(z)).astype(int)
    result = ct.test_calibration(expit(3.0 * z), y, **OPTIONS)
    *sides, other = result.places
    assert wording.shape_of(result) == "too extreme"
    aside = dataclasses.replace(other, where=dataclasses.replace(other.where, event="0"))
    for some in ((*sides, aside), (other,), ()):
        assert not wording.shape_of(dataclasses.replace(result, places=some))
    parts = result.components
    reverse = tuple(dataclasses.replace(row, estimate=1.0 / row.estimate) for row in parts.rows)
    against = dataclasses.replace(parts, rows=reverse)
    assert not wording.shape_of(dataclasses.replace(result, components=against))
    assert not wording.shape_of(dataclasses.replace(result, components=None))


def test_cells_name_the_places_of_rows():
    """The same ends, but for those that no grid of cells has, and the same rows."""
    data = tail(5000)
    frame = pl.DataFrame({"p": data.probs[:, 1], "y": data.labels})
    asked = {"label": "y", "probs": "p"} | OPTIONS
    by_rows, by_cells = (
        ct.test_calibration(None, frame, engine=engine, **asked).places
        for engine in ("rows", "cells")
    )
    for rows, cells in zip(by_rows, by_cells, strict=True):
        assert cells.where == rows.where
        assert cells.n == rows.n == cells.mask(data).sum()
        assert cells.gap == pytest.approx(rows.gap, abs=1e-6)
        assert cells.at(0.95).low == pytest.approx(rows.at(0.95).low, abs=1e-3)


@pytest.mark.full
def test_parts_are_redrawn_as_their_cells_are(monkeypatch):
    """Sums of a part of many rows have the distribution of the sums over its cells."""
    rng = np.random.default_rng(3)
    p = rng.beta(0.7, 2.0, 150_000)
    search = CellSearch(count_rows(p, (rng.random(p.size) < p).astype(int)))
    assert search.variance.min() > 50
    monkeypatch.setattr(found_places, "LARGE", 50.0)
    parts = search.sums(3000, 1)
    monkeypatch.setattr(found_places, "LARGE", np.inf)
    cells = search.sums(3000, 1)
    np.testing.assert_array_equal(parts[0], cells[0])
    for one in (parts[1:], cells[1:]):
        sums = (one / np.sqrt(search.variance)).T
        assert np.abs(np.corrcoef(sums) - np.eye(len(sums))).max() < 0.08
        for found in sums:
            assert stats.kstest(found, "norm").statistic < 0.045
        skewness = stats.skew(sums, axis=1) - search.third / search.variance**1.5
        assert np.abs(skewness).max() < 0.2


@pytest.mark.parametrize(
    "p",
    [np.full(8, 0.3), np.linspace(0.1, 0.9, 8), np.full(300, 0.3), np.zeros(300), np.ones(300)],
    ids=["8 equal", "8", "constant", "zeros", "ones"],
)
def test_few_or_constant_predictions_have_no_range(p):
    """All rows at most are a place, from 20 rows on."""
    data = ct.Predictions(p, (np.arange(p.size) % 2).astype(int))
    for place in searched(data):
        assert place.n == p.size >= 20
        assert place.where.above is place.where.below is None


@pytest.mark.parametrize("counted", [False, True])
def test_rows_of_large_weight_do_not_hide_where_they_are(counted):
    """All rows count as few of equal weight: the half that is wrong is surer to be."""
    rng = np.random.default_rng(6)
    p = rng.beta(2, 3, 3000)
    y = (rng.random(3000) < np.where(p > 0.5, p - 0.08, p)).astype(int)
    weight = np.where(p > 0.5, 10.0, 1.0)
    cells, data = count_rows(p, y, weight=weight), ct.Predictions(p, y, sample_weight=weight)
    assert searched(cells if counted else data)[0].where.above > 0.45


def test_level_of_the_test_is_that_of_its_places():
    """A place that 5 % names is not named at 0.1 %, for which 199 resamples are too few."""
    assert searched(tail())
    assert not searched(tail(), level=0.001)
    assert searched(tail(), level=0.001, n_resamples=1999)


def test_worst_group_is_told_with_an_interval_for_all_groups():
    """The headline leads with its sure end, and the place has the rows of the group."""
    rng = np.random.default_rng(1)
    p, group = rng.beta(2, 3, 2000), np.tile(np.arange(10), 200)
    y = (rng.random(2000) < np.clip(p + 0.25 * (group == 7), 0, 1)).astype(int)
    table = ct.test_calibration(p, y, by=group, **OPTIONS)
    (place,) = table.verdict().places
    assert place.confidence == pytest.approx(1 - 0.05 / 10)
    assert f"at least {100 * place.surely:.1f} points too low" in table.verdict().headline
    assert "simultaneously" in table.verdict().headline
    rows = place.mask(ct.Predictions(p, y, groups=group))
    assert (rows == (group == 7)).all()


def test_segments_cannot_be_found_in_predictions():
    ward = np.repeat(["a", "b", "c", "d"], 500)
    data = tail()
    wrong = ct.Predictions(data.probs, np.where(ward == "a", 1, data.labels))
    found = ct.test_calibration(wrong, segments={"ward": ward}, **OPTIONS).verdict()
    assert found.places[0].where.segment == "ward = a"
    with pytest.raises(ct.NotApplicable, match="columns of the segment"):
        found.places[0].mask(wrong)


def test_class_that_predictions_lack_is_named():
    """Other predictions than those of the test."""
    (place,) = searched(tail())
    other = dataclasses.replace(place.where, event="cat")
    with pytest.raises(ct.InvalidInput, match="must have the class 'cat'"):
        dataclasses.replace(place, where=other).mask(tail())
