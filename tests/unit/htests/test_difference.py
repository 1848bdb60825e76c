"""Whether groups differ, at the same predictions."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import caltest as ct
from caltest.htests.difference import difference_of


def _rows(shift, *, n=800, slope=0.5, seed=1):
    """Draw predictions with a common error and another shift in the group "west"."""
    rng = np.random.default_rng(seed)
    group = np.array(["east", "north", "west"])[np.arange(n) % 3]
    x = rng.normal(0.0, 1.2, n) + 1.5 * (group == "north")
    y = rng.random(n) < expit(slope * x + shift * (group == "west"))
    return expit(x), y.astype(int), group


def _test(p, y, group, **options):
    asked = {"test": "brier", "n_resamples": 199, "rng": 1} | options
    return ct.test_calibration(p, y, by=group, **asked)


def test_common_error_is_no_difference():
    """A model that is too extreme in all groups, whose predictions differ, is alike in them."""
    table = _test(*_rows(0.0))
    assert table.pvalue < 0.05 < table.difference.pvalue
    assert "is not ruled out in" in " ".join(str(table).split())


def test_interval_that_leaves_out_0_where_no_difference_is_shown_is_said():
    """At a level of .001, or of three statistics of which one alone sees it."""
    found = _test(*_rows(0.9), level=0.001).difference
    assert found.size.is_clear
    told = " ".join(str(_test(*_rows(0.9), level=0.001)).split())
    assert "No difference between groups is shown (p = 0.005, level 0.001), though the" in told
    assert "not ruled out" not in told


def test_gap_is_what_the_curve_of_the_others_leaves():
    """Log odds are linear here, so that a plain logistic regression gives nearly the same."""
    p, y, group = _rows(0.9, n=3000)
    found = _test(p, y, group).difference
    own, x = group == "west", np.log(p / (1 - p))
    columns, gamma = np.column_stack([np.ones(p.size), x, own]), np.zeros(3)
    for _ in range(20):
        q = expit(columns @ gamma)
        gamma += np.linalg.solve((q * (1 - q) * columns.T) @ columns, columns.T @ (y - q))
    expected = y[own].mean() - expit(columns[own, :2] @ gamma[:2]).mean()
    assert (found.pvalue, found.size.name) == (0.005, "west")
    assert found.size.gap == pytest.approx(expected, abs=0.01)
    assert found.size.low < expected < found.size.high
    told = dict(_test(p, y, group).verdict().sentences)["difference"]
    assert "west is farthest from the others" in told


@pytest.mark.parametrize("seed", range(5))
def test_sure_predictions_that_come_true_are_no_difference(seed):
    """Labels that are redrawn are nearly all the same: what tells them apart is rounding."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.002, 0.998, 1.0], 30)
    assert _test(p, (p > 0.5).astype(int), rng.integers(0, 5, 30)).difference.pvalue == 1.0


def test_clusters_with_few_events_have_no_smaller_p_than_redrawn_labels():
    """Signs of clusters alone reject in a tenth of such data sets."""
    cluster, raised = np.arange(1000) // 10, 0
    group = (cluster * 4) // 100
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = expit(-3.9 + 1.2 * rng.normal(size=1000) + np.linspace(-1, 1, 4)[group])
        y = (rng.random(1000) < p).astype(int)
        signs = _test(p, y, group, cluster=cluster).difference.pvalue
        redrawn = _test(p, y, group).difference.pvalue
        assert signs >= redrawn
        raised += signs == redrawn
    assert raised


def test_groups_are_compared_under_a_lens_that_all_have():
    """In the small group no bin has two rows under the first lens, so that its first is another."""
    probs, row = np.random.default_rng(0).dirichlet([2, 2, 2], 44), np.arange(44)
    asked = {"test": ["debiased-ece", "brier"], "lens": ["strong", "confidence"]}
    with pytest.warns(ct.DegenerateDataWarning, match="group 1, lens strong is left out"):
        table = _test(probs, row % 3, row // 40, cluster=row // 2, **asked)
    assert next(one.lens for one in table if one.group == 1) == "confidence"
    assert table.difference.n == 44


def test_slopes_that_differ_are_found():
    """One group is right and one the wrong way round, both with the same mean."""
    p, y, _ = _rows(0.0, slope=1.0, n=600)
    group = np.arange(600) % 2
    y = np.where(group == 1, 1 - y, y)
    assert _test(p, y, group).difference.pvalue <= 0.01


@pytest.mark.parametrize("form", ["cells", "weights", "clusters", "classes"])
def test_every_form_finds_the_group(form):
    """Counted in cells, with weights, by flipped signs of clusters, and of several classes."""
    p, y, group = _rows(1.2)
    if form == "cells":
        frame = pl.DataFrame({"p": p, "y": y, "g": group})
        table = ct.test_calibration(
            frame, label="y", probs="p", by="g", test="ks", engine="cells", n_resamples=199, rng=1
        )
    elif form == "weights":
        table = _test(p, y, group, sample_weight=np.repeat([1.0, 2.0], y.size // 2))
    elif form == "clusters":
        table = _test(p, y, group, cluster=np.arange(y.size) // 4)
    else:
        table = _test(np.column_stack([0.9 - 0.9 * p, 0.9 * p, np.full(p.size, 0.1)]), y, group)
    assert table.difference.pvalue <= 0.02
    assert "west" in table.difference.size.name


def test_difference_survives_json_and_is_of_groups_only():
    """Tables of lenses, and of tests within a tolerance, have none."""
    rows = _rows(0.5, n=90)
    table = _test(*rows)
    assert ct.HTestTable.from_dict(table.to_dict()).difference == table.difference
    assert _test(*rows, tolerance=0.05, test="ks").difference is None
    assert difference_of(table.rows[:1], n_resamples=19, seed=1, level=None) is None
    frame = table.to_frame()
    east = rows[2] == "east"
    assert frame["observed"][0] == pytest.approx(rows[1][east].mean())
    assert (frame["low"] < frame["gap"]).all()
    assert (frame["gap"] < frame["high"]).all()


def test_group_with_predictions_of_its_own_is_compared_with_none():
    """A difference of 90 points was not ruled out in it, and one of 0.000000 where all are so."""
    p = np.r_[np.resize([0.2, 0.4, 0.6], 200), np.full(50, 0.9)]
    y = np.random.default_rng(1).random(250) < p
    group = np.repeat(["a", "b", "c"], [100, 100, 50])
    assert _test(p, y.astype(int), group).difference.size.name in {"a", "b"}
    alone = _test(np.repeat([0.2, 0.4, 0.6], 50), y[:150].astype(int), np.repeat([1, 2, 3], 50))
    assert alone.difference is None
