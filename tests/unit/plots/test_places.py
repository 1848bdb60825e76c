"""Pictures of very many groups, and of the grades of a master scale."""

import dataclasses
from functools import cache

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

import caltest as ct
from caltest import DegenerateDataWarning, InvalidInput
from caltest.plots import groups, master_scale

RNG = np.random.default_rng(2)
SHOP = np.repeat(np.arange(600), RNG.integers(20, 300, 600))
P = RNG.uniform(0.05, 0.4, SHOP.size)
OFF = 0.4 * np.isin(SHOP, (3, 300)) - P * (SHOP == 500)
FRAME = pl.DataFrame({"shop": SHOP, "p": P, "y": RNG.random(SHOP.size) < P + OFF})


@cache
def result():
    asked = {"label": "y", "probs": "p", "by": "shop", "engine": "cells", "level": 0.05}
    return ct.test_calibration(None, FRAME, test="ks", rng=1, **asked)


def points(ax, *, filled):
    """Return the points of the groups that are filled, or of the others."""
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    some = [line for line in marks if (line.get_markerfacecolor() != "none") == filled]
    return np.concatenate([line.get_xydata() for line in some])


def test_every_group_is_a_point_at_its_gap():
    ax = groups(result())
    gaps = 100 * result().gap
    np.testing.assert_allclose(
        np.sort(points(ax, filled=True)[:, 1]), np.sort(gaps[result().rejected])
    )
    np.testing.assert_allclose(
        np.sort(points(ax, filled=False)[:, 1]), np.sort(gaps[~result().rejected])
    )


def test_control_limits_are_those_of_the_groups():
    """A point is at z standard deviations of its gap where it is at z of the funnel."""
    ax = groups(result())
    x, y = points(ax, filled=False).T
    others = ~result().rejected
    inner = next(line for line in ax.lines if line.get_label() == "control limits, 95 %")
    log_limits = np.interp(np.log(x), np.log(inner.get_xdata()), np.log(inner.get_ydata()))
    z = (result().gap / result().deviation)[others]
    np.testing.assert_allclose(y / np.exp(log_limits), z / 1.96, rtol=1e-4)


def test_equal_mixes_of_predictions_have_their_number_of_rows():
    even = dataclasses.replace(result(), deviation=0.3 / np.sqrt(result().sizes))
    x = np.sort(
        np.concatenate([points(groups(even), filled=filled)[:, 0] for filled in (True, False)])
    )
    np.testing.assert_allclose(x, np.sort(result().sizes), rtol=1e-9)


def test_worst_groups_are_named():
    """Those that are rejected, and no others."""
    assert {text.get_text() for text in groups(result()).texts} == {"3", "300", "500"}
    none = dataclasses.replace(result(), adjusted=np.ones(600))
    assert not groups(none).texts
    assert groups(none).get_title(loc="left").startswith("0 of 600 groups")
    ax = Figure().add_subplot()
    assert result().plot("gaps", rows=2, ax=ax) is ax
    assert result().plot(ax=Figure().add_subplot()).get_xscale() == "log"


def test_names_do_not_cover_each_other():
    """Of groups in one place one is named, or the names stand apart."""
    same = {
        name: np.full(600, getattr(result(), name)[3]) for name in ("sizes", "events", "predicted")
    }
    adjusted = np.where(np.arange(600) < 6, 0.001, 1.0)
    made = dataclasses.replace(result(), **same, deviation=np.full(600, 0.05), adjusted=adjusted)
    ax = groups(made)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert 1 <= len(boxes) <= 4
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_gaps_are_those_of_the_worst_groups():
    """With intervals, sizes and adjusted p-values, from the top."""
    ax = groups(result(), kind="gaps", rows=4)
    worst = result().worst(4)
    assert [text.get_text() for text in ax.get_yticklabels()] == [gap.name for gap in worst]
    ends = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2][1:]
    for gap, found in zip(worst, ends, strict=True):
        assert found == pytest.approx([100 * gap.low, 100 * gap.high])
    assert ax.texts[0].get_text().startswith(f"n = {worst[0].n}, p < 1e-04")


@pytest.mark.parametrize("sizes", [[1], [3, 50_000]])
def test_few_groups_without_variance_have_a_picture(sizes):
    """Predictions of 0 and 1 have no limits to draw."""
    sizes = np.array(sizes)
    arrays = ("events", "predicted", "low", "high", "deviation", "statistics")
    empty = {name: np.zeros(sizes.size) for name in arrays}
    ones = {name: np.ones(sizes.size) for name in ("pvalues", "adjusted")}
    values = tuple((k,) for k in range(sizes.size))
    made = dataclasses.replace(result(), sizes=sizes, values=values, **empty, **ones)
    groups(made).figure.draw_without_rendering()


@pytest.mark.parametrize("given", [{"kind": "bars"}, {"rows": 0}])
def test_wrong_arguments_are_refused(given):
    with pytest.raises(InvalidInput, match=f"{next(iter(given))} must be"):
        groups(result(), **given)


PD, D, N = [0.001, 0.01, 0.05], [0, 30, 55], [1000, 2000, 1000]


def test_extreme_grades_are_drawn():
    """No default, only defaults, and PDs of 0 and 1."""
    with pytest.warns(DegenerateDataWarning, match="its number of defaults is certain"):
        table = ct.test_master_scale([0, 1, 0.5], [0, 4, 0], [4, 4, 4], lights=None, portfolio=())
    low, high = master_scale(table).get_ylim()
    assert 0 < low < high


@pytest.mark.parametrize(
    ("test", "options", "interval"),
    [
        ("jeffreys", {}, "Jeffreys"),
        ("binomial", {}, "Clopper-Pearson"),
        ("normal", {}, "Wilson"),
        ("vasicek", {}, "Vasicek"),
        ("vasicek", {"correlation": 0.1}, "Vasicek"),
    ],
)
def test_lower_end_is_above_the_pd_where_the_test_rejects(test, options, interval):
    """The interval at 90 % and the one-sided p-value at 5 % agree, from JSON too."""
    rng = np.random.default_rng(0)
    pd = np.geomspace(0.001, 0.3, 30)
    d = rng.binomial(800, np.minimum(pd * rng.uniform(0.8, 4.0, 30), 1.0))
    table = ct.test_master_scale(pd, d, [800] * 30, test=test, **options)
    rejected = np.array([row.pvalue < 0.05 for row in table])
    ax = master_scale(ct.HTestTable.from_dict(table.to_dict()))
    low = np.array([path.vertices[0, 1] for path in ax.collections[0].get_paths()])
    assert 0 < rejected.sum() < 30
    assert (low > pd).tolist() == rejected.tolist()
    assert ax.get_ylabel() == f"default rate, 90 % {interval} interval"


def test_several_tests_of_a_grade_are_one_mark():
    several = ct.test_master_scale(PD, D, N, test=["jeffreys", "binomial"])
    assert len(master_scale(several).get_xticks()) == 3
