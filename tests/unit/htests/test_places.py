"""Places: which are named, which rows they have, and what they are called."""

import dataclasses

import numpy as np
import polars as pl
import pytest
from scipy import stats

import caltest as ct
from caltest.htests import places as found_places
from caltest.htests.places import CellSearch, find_places
from caltest.results import Verdict
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


def test_place_knows_its_rows():
    """Number, prediction and share are those of the rows that the mask has."""
    data = tail()
    (place,) = ct.test_calibration(data, **OPTIONS).places
    rows = place.mask(data)
    assert place.n == rows.sum()
    assert place.predicted == pytest.approx(data.probs[rows, 1].mean())
    assert place.observed == pytest.approx(data.labels[rows].mean())
    assert data.probs[rows, 1].min() > 0.7


def test_place_keeps_its_rows_through_json():
    """Of the result and of its verdict."""
    data = tempered()
    result = ct.test_calibration(data, **OPTIONS)
    again = ct.HTest.from_dict(result.to_dict())
    told = Verdict.from_dict(result.verdict().to_dict())
    assert again.places == told.places == result.places
    assert (again.places[0].mask(data) == result.places[0].mask(data)).all()


def test_interval_of_a_named_place_leaves_out_0():
    """And is wider than that of the same rows by themselves; the p-value is at most the level."""
    for data in (tail(), tempered()):
        for place in searched(data):
            alone = place.at(0.95)
            assert place.is_clear
            assert place.pvalue <= 0.05
            assert place.confidence > 0.99
            assert place.low < alone.low < alone.high < place.high


def test_next_places_share_no_rows():
    """Two wrong bands have a place each."""
    rng = np.random.default_rng(3)
    p = rng.random(4000)
    q = p + 0.2 * ((p > 0.2) & (p < 0.3)) - 0.2 * ((p > 0.7) & (p < 0.8))
    data = ct.Predictions(p, (rng.random(p.size) < q).astype(int))
    first, second = searched(data)[:2]
    assert not (first.mask(data) & second.mask(data)).any()
    assert {first.side, second.side} == {"high", "low"}


def test_no_place_is_named_where_the_test_does_not_reject():
    """Nor by the headline, which then has the mean gap alone."""
    rng = np.random.default_rng(1)
    p = rng.random(500)
    result = ct.test_calibration(p, (rng.random(500) < p).astype(int), **OPTIONS)
    assert result.pvalue > 0.05
    assert result.places == ()
    assert "between" not in str(result).partition("\n\n")[0]


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


def test_clusters_name_fewer_places():
    """Rows that come ten times over tell no more than once."""
    data = tail(150)
    many = np.tile(np.arange(150), 10)
    copied = {"probs": data.probs[many], "labels": data.labels[many]}
    assert searched(ct.Predictions(**copied))
    clustered = ct.Predictions(**copied, clusters=many)
    alone, together = searched(data), searched(clustered)
    assert len(together) <= len(alone) + 1


def test_weights_count_rows():
    """Weights of 2 say what rows twice over do not: they are as many rows as there are."""
    data = tail()
    weighted = ct.Predictions(data.probs, data.labels, sample_weight=np.full(data.n, 2.0))
    (one,), (other,) = searched(data), searched(weighted)
    assert other.where == one.where
    assert (other.low, other.high) == pytest.approx((one.low, one.high))


def test_rows_that_weigh_nothing_are_no_place():
    """Nor is a predicted class whose rows have no weight."""
    data = tempered()
    weight = (data.predicted != 2).astype(float)
    weighted = ct.Predictions(data.probs, data.labels, sample_weight=weight)
    places = searched(weighted)
    assert places
    assert all(weight[place.mask(weighted)].sum() > 0 for place in places)


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


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_impossible_outcomes_are_a_place():
    """Predictions of 0 and 1 of which one in five is wrong."""
    p = np.repeat([0.0, 1.0], 200)
    y = np.where(np.arange(400) % 5 == 0, 1 - p, p).astype(int)
    places = searched(ct.Predictions(p, y))
    assert {place.name for place in places} == {"P(1) above 50 %", "P(1) below 50 %"}


def test_classes_as_a_whole_may_share_rows():
    """One class too often, another too rarely."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(3, 5.0), 3000)
    q = np.column_stack([p[:, 0] * 0.6, p[:, 1] + 0.4 * p[:, 0], p[:, 2]])
    y = (rng.random(3000)[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    sides = {place.where.event: place.side for place in searched(ct.Predictions(p, y))}
    assert sides["0"] == "high"
    assert sides["1"] == "low"


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


def test_interval_of_another_confidence_has_the_same_gap():
    """Wider the larger it is; that of 95 % is the one that was measured."""
    size = ct.test_calibration(tail(), **OPTIONS).size
    assert size.at(0.95) == size
    wide = size.at(0.999)
    assert wide.low < size.low < size.gap < size.high < wide.high
    assert size.one_of(1) == size


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


def test_interval_of_hard_predictions_is_not_that_of_no_confidence():
    """Labels redrawn from 0 and 1 have no largest sum, yet the share of events has its error."""
    happens = np.arange(400) % 5 < 2
    wrong = np.arange(400) % 7 == 0
    places = searched(ct.Predictions(happens * (1 - 1e-12), happens ^ wrong))
    assert places
    assert all(place.confidence >= 0.95 and place.high - place.low > 0.05 for place in places)
