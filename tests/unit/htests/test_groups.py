"""Very many groups in one pass: as one by one, and what is wrong with their rows."""

import functools
import itertools
import json
import math
import sys

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import combine_pvalues

from caltest import DegenerateDataWarning, GroupsTest, HTestTable, InvalidInput, Predictions
from caltest import test_calibration as calibration_test
from caltest.cli.app import run as command
from caltest.cli.list_ import bundled
from caltest.htests import combine
from caltest.lenses import resolve_lens
from caltest.measures import REGISTRY
from caltest.nulls.base import Draws
from caltest.nulls.exact import bind_cells, exact_tests
from caltest.numerics.loops import threads
from caltest.sources import Counting, counted
from caltest.sources.columns import Columns
from caltest.testing import assert_calibrated

TESTS = [
    k for k, one in REGISTRY.items() if one.offers("bind_groups") and k in one.declared_tests()
]
SLOW = pytest.param("combined", marks=pytest.mark.full)
QUICK_TESTS = [SLOW if key == "combined" else key for key in TESTS]
GROUPS = 600


def shops(rows=20, seed=0, off=0.0, groups=GROUPS):
    """Return predictions for shops, of which number 17 has more events by `off`."""
    rng = np.random.default_rng(seed)
    shop = np.tile(np.arange(groups), rows)
    p = np.round(rng.beta(1, 3, shop.size), 3)
    y = rng.random(shop.size) < np.minimum(p + off * (shop == 17), 1.0)
    return pl.DataFrame({"shop": shop, "p": p, "y": y})


def run(data, **options):
    """Test a frame by shop, by KS where no other test is named; None is the default test."""
    asked = {"label": "y", "probs": "p", "by": "shop", "engine": "cells", "rng": 1, "test": "ks"}
    asked |= options
    return calibration_test(None, data, **asked)


def cells_of(data, bins=()):
    columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "truth", ("shop",))
    counting = Counting(columns, (resolve_lens("strong"),), bins)
    return counting.many(counted([data], counting), 0)


@pytest.mark.parametrize("test", TESTS)
def test_pass_agrees_with_one_group_after_the_other(test):
    """The statistic to rounding, the p-value within the error of resampling."""
    measure = REGISTRY[test]()
    many = cells_of(shops(60, groups=6), measure.cell_bins)
    bound = measure.bind_groups(many)
    pvalues = bound.pvalues(n_resamples=20_000, seed=1)
    for (_, cells), value, p in zip(many.each(), bound.values(), pvalues, strict=True):
        pair = (measure, bind_cells(measure, cells))
        alone = exact_tests([pair], Draws(1999, 2))[0]
        assert value == pytest.approx(alone.statistic, rel=1e-9, abs=1e-13)
        share = p / 4.5 if "Besag" in bound.null_text else 0.0
        draws = 299 if test == "combined" else 2000
        error = math.hypot(math.sqrt(p * (1 - p) / draws), share)
        assert abs(p - alone.pvalue) <= 4 * error + 1e-3


def test_groups_that_are_few_are_tested_one_by_one(monkeypatch):
    """Up to 500; by the joint adjustment."""
    assert combine.FROM == 501
    monkeypatch.setattr(combine, "FROM", 21)
    few = run(shops(1, groups=20), test="brier", n_resamples=1)
    assert type(few) is HTestTable
    assert isinstance(run(shops(1, groups=21)), GroupsTest)


@pytest.mark.full
def test_rows_and_cells_have_one_default_test(monkeypatch):
    """In one pass; the statistic of a group is that of the group alone."""
    monkeypatch.setattr("caltest.htests.combine.FROM", 100)
    data = shops(20, off=0.6, groups=100)
    for engine in ("rows", "cells"):
        found = run(data, test=None, engine=engine, level=0.05)
        assert isinstance(found, GroupsTest)
        assert (found[0].test, found.by, found.values[17]) == ("combined", ("shop",), (17,))
        assert (found.n_rejected, found.order[0]) == (1, 17)
        assert found.adjusted[17] <= 0.03
        for shop in (0, 17):
            alone = data.filter(pl.col("shop") == shop)
            one = run(alone, test=None, by=None, engine=engine)
            assert found.statistics[shop] == pytest.approx(one.statistic, rel=1e-9)
            assert abs(found.pvalues[shop] - one.pvalue) <= 0.1


@pytest.mark.full
@pytest.mark.parametrize("test", [key for key in TESTS if key != "combined"])
def test_few_and_many_groups_of_rows_have_one_table(test):
    """The same statistic of a group and the same columns, whatever rows and labels it has."""
    data = shops(7, groups=501).filter((pl.col("shop") > 0) | (pl.int_range(pl.len()) == 0))
    data = data.with_columns(y=(pl.col("shop") == 2) | pl.col("y"))
    asked = {"by": ["shop", "site"], "engine": "rows", "test": test, "n_resamples": 1}
    many = run(data.with_columns(site=pl.lit("a")), **asked)
    few = run(data.filter(pl.col("shop") < 5).with_columns(site=pl.lit("a")), **asked)
    assert (type(many), type(few)) == (GroupsTest, HTestTable)
    one, other = few.to_frame(), many.to_frame().filter(pl.col("shop") < 5)
    assert one.columns == other.columns
    assert one.columns[:4] == ["shop", "site", "n", "predicted"]
    names = ["shop", "n", "gap", "low", "high", "statistic"]
    for name in names:
        np.testing.assert_allclose(other[name], one[name], atol=1e-9)


@pytest.mark.parametrize("kind", [pl.Series, pd.Series])
def test_groups_have_the_name_of_their_series(kind):
    data = shops(7, groups=3)
    probs, labels = data["p"].to_numpy(), data["y"].to_numpy()
    named = kind(data["shop"].to_list(), name="shop") if kind is pd.Series else data["shop"]
    for rows in (
        calibration_test(probs, labels, by=named, rng=1),
        calibration_test(Predictions(probs, labels, groups=named), by=True, rng=1),
    ):
        assert rows.to_frame().columns[0] == "shop"
        assert "3 of shop" in str(rows)


@pytest.mark.full
@pytest.mark.parametrize("asked", [{"sample_weight": "w"}, {"cluster": "w"}, {"test": "skce"}])
def test_rows_that_go_on_one_by_one(monkeypatch, asked):
    """Those with weights and clusters, and by a test without sums over groups."""
    monkeypatch.setattr("caltest.htests.combine.FROM", 11)
    data = shops(4, groups=11)
    assert type(run(data)) is GroupsTest
    data = data.with_columns(w=pl.int_range(data.height) // 22 + 2 * pl.col("shop") + 1)
    found = run(data, **{"test": None, "engine": "rows", "n_resamples": 9, **asked})
    assert type(found) is HTestTable


def test_default_test_in_stages(monkeypatch):
    """A group that is far off has as many redrawn labels as work allows, and digits by KS."""
    data = shops(40, groups=6).with_columns(y=pl.col("shop") == 3)
    bound = REGISTRY["combined"]().bind_groups(cells_of(data.filter(pl.col("shop") > 1)))
    values = bound.values()
    pvalues = bound.pvalues(n_resamples=6000, seed=1)
    np.testing.assert_array_equal(values, bound.values())
    assert "B = 6,000 and the exact law of KS" in bound.null_text
    ks = REGISTRY["ks"]().bind_groups(bound.many).pvalues(n_resamples=1, seed=1)
    assert pvalues[1] == pytest.approx(2 * ks[1])
    monkeypatch.setattr(sys.modules["caltest.measures.combined.combined"], "WORK", 10)
    with threads(2):
        assert bound.pvalues(n_resamples=6000, seed=1)[1] == pvalues[1]
    assert "B = 4,999 and the exact law of KS" in bound.null_text


def test_it_is_a_table_whose_rows_are_made_when_asked_for():
    """Each a test of its group, with the gap as the arrays have it."""
    result = run(shops(20, off=0.6), level=0.05)
    assert isinstance(result, HTestTable)
    row = result[17]
    assert (row.group, row.n, row.pvalue) == (17, 20, result.pvalues[17])
    assert row.size.gap == pytest.approx(result.gap[17])
    assert (row.size.low, row.size.high) == pytest.approx(
        (result.low[17], result.high[17]), abs=0.01
    )
    assert [one.group for one in result[1:3]] == [1, 2]
    assert result.rows[-1].group == GROUPS - 1
    assert result.together == result.pvalue


@pytest.mark.parametrize("test", ["ks", "kuiper", "ece"])
def test_group_that_is_off_is_found(test):
    """It alone, adjusted for all, by p-values that 999 resamples do not have."""
    result = run(shops(80, off=0.6), test=test, level=0.02)
    assert result.worst(1)[0].name == "17"
    with pytest.raises(InvalidInput, match="count must be"):
        result.worst(-1)
    assert result.n_rejected == 1
    assert result.adjusted[result.order[0]] <= 0.01  # 600 / 60001
    assert result.verdict().places[0].name == "17"
    assert result.verdict().answer == "not calibrated"


def test_corrections():
    """Those of statsmodels; joint is Holm's, which groups without a shared row lose nothing by."""
    data = shops(60, off=0.3)
    joint, holm, fdr, none = (
        run(data, correction=one) for one in ("joint", "holm", "fdr_bh", None)
    )
    np.testing.assert_array_equal(joint.adjusted, holm.adjusted)
    assert joint.correction == "holm"
    assert (fdr.adjusted <= holm.adjusted).all()
    assert (none.adjusted == none.pvalues).all()
    assert fdr.omnibus[1].pvalue == pytest.approx(fdr.adjusted.min())


def test_many_that_are_a_little_off_are_seen_together():
    """None by itself, all of them by the dispersion of their numbers of events."""
    rng = np.random.default_rng(5)
    data = shops(40).with_columns(p=pl.lit(0.3))
    effect = 0.3 + rng.choice([-0.12, 0.12], GROUPS)[data["shop"].to_numpy()]
    result = run(data.with_columns(y=pl.Series(rng.random(data.height) < effect)))
    fisher, _, dispersion = result.omnibus
    assert dispersion.pvalue <= 0.001
    assert fisher.pvalue == pytest.approx(combine_pvalues(result.pvalues).pvalue, rel=1e-9)
    assert result.pvalue <= 0.005


# ---- the same answer ----------------------------------------------------------------------------


@functools.cache
def all_at_once(test):
    """Return rows of shops, and their test at once."""
    data = shops(3, groups=501)
    return data, run(data, test=test)


@pytest.mark.full
@settings.get_profile("few")
@given(order=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 4000), max_size=3))
@pytest.mark.parametrize("test", ["ks", "brier"])
def test_order_and_chunks_change_no_digit(test, order, cuts):
    """Of statistics, p-values and the dispersion; nor do threads."""
    data, one = all_at_once(test)
    rows = np.random.default_rng(order).permutation(data.height)
    edges = [0, *sorted({cut for cut in cuts if cut < data.height}), data.height]
    shuffled = data[rows]
    chunks = (shuffled[a:b] for a, b in itertools.pairwise(edges))
    other = run(chunks, test=test, n_jobs=2)
    for name in ("statistics", "pvalues", "adjusted", "low", "sizes"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.values == other.values
    assert one.pvalue == other.pvalue


def test_engine_changes_no_digit():
    duckdb = pytest.importorskip("duckdb")
    data = shops(9)
    with duckdb.connect() as connection:
        other = run(connection.from_arrow(data.to_arrow()))
    one = run(data)
    np.testing.assert_array_equal(one.pvalues, other.pvalues)
    assert one.pvalue == other.pvalue


def test_several_columns_are_crossed():
    """Names join their values; each is a column of the data frame."""
    data = shops(20).with_columns(n=pl.col("shop") % 2, day=pl.lit("mon"))
    result = run(data, by=["shop", "day", "n"])
    assert result.name(17) == "17, mon, 1"
    frame = result.to_frame()
    assert frame.columns[:4] == ["shop", "day", "group n", "n"]
    assert frame.height == GROUPS
    assert frame["n"].sum() == data.height


# ---- rows that are wrong, and groups that say nothing ------------------------------------------


def test_missing_group_is_an_error_or_left_out():
    data = shops().with_columns(shop=pl.when(pl.col("p") > 0.9).then(None).otherwise("shop"))
    wrong = data["shop"].null_count()
    with pytest.raises(InvalidInput, match=f"no group that is missing; got {wrong}"):
        run(data)
    result = run(data, on_error="skip")
    assert result.notes[0] == f"left out: {wrong} rows with a group that is missing"
    assert result.n == data.height - wrong


@pytest.mark.cases(2, full=5)
@pytest.mark.parametrize("test", QUICK_TESTS)
def test_groups_of_one_row(test):
    """Have p-values of one toss each, and a whole that is one of many."""
    result = run(shops(1), test=test)
    assert ((result.pvalues > 0) & (result.pvalues <= 1)).all()
    assert result.adjusted.min() > 0.01


@pytest.mark.cases(2, full=5)
@pytest.mark.parametrize("test", QUICK_TESTS)
def test_certain_predictions_that_hold_say_nothing(test):
    """All of a group are 0 or 1: its p-value is 1."""
    rng = np.random.default_rng(1)
    data = shops(5)
    sure = pl.col("shop") == 3
    tossed = pl.Series(rng.integers(0, 2, data.height))
    data = data.with_columns(p=pl.when(sure).then(tossed).otherwise("p"))
    data = data.with_columns(y=pl.when(sure).then(pl.col("p") == 1).otherwise("y"))
    result = run(data, test=test)
    assert result.pvalues[3] == 1.0
    assert result.statistics[3] == 0.0


def test_impossible_label_is_told():
    """Of the log loss it is infinite."""
    data = shops(5).with_columns(p=pl.when(pl.col("shop") == 3).then(0.0).otherwise("p"))
    data = data.with_columns(y=(pl.col("shop") == 3) | pl.col("y"))
    for test in ("ks", "log-loss"):
        result = run(data, test=test)
        assert any("5 labels have probability 0" in note for note in result.notes)
        assert result.name(int(result.order[0])) == "3"
    assert math.isinf(result.statistics[3])
    assert result.adjusted[3] <= 0.01


# ---- what the result gives ----------------------------------------------------------------------


def test_print_begins_with_the_answer():
    """How many of how many, and the worst with its rows, gap and interval."""
    text = str(run(shops(60, off=0.5), level=0.05))
    first = text.partition("\n\n")[0].replace("\n", " ")
    told = "Not calibrated (p < 1e-04, level 0.05), in 1 of 600 groups. Worst is group 17. P(1) at"
    assert first.startswith(told)
    assert "shown: the worst 20 of 600 groups" in text
    assert "rejected at level 0.05: 1 of 600 groups" in text
    assert text.count("\n17 ") == 1
    assert len(str(run(shops()).summary()).splitlines()) > 100


def test_print_of_all_and_of_groups_agree():
    """Without an adjustment some groups are below 5 % where all together say nothing."""
    text = str(run(shops(rows=50, seed=5), correction=None, n_resamples=99))
    words = " ".join(text.split())
    assert words.startswith("No evidence against calibration (p = ")
    assert "for all together; the p-value, not adjusted, is at most 0.05 in " in words
    assert "adjusted: not at all, 600 groups" in words


@pytest.mark.full
def test_json_and_records_hold_all_groups():
    """They follow the schema, and are read again."""
    result = run(shops(20, off=0.5), level=0.05)
    values = json.loads(result.to_json())
    assert not list(jsonschema.Draft202012Validator(bundled("groups")).iter_errors(values))
    again = GroupsTest.from_json(result.to_json())
    assert again == GroupsTest.from_dict(values) == result
    assert str(again) == str(result)
    np.testing.assert_array_equal(again.adjusted, result.adjusted)
    assert result.records()[17]["shop"] == 17
    assert result.to_frame(backend="pandas").equals(result.to_frame().to_pandas())
    assert result.to_csv().count("\n") == GROUPS + 1
    with pytest.raises(InvalidInput, match="needs a significance level"):
        _ = run(shops()).rejected


def test_command_line(tmp_path, capsys, monkeypatch):
    """A pattern of files by group, as text and as CSV."""
    monkeypatch.chdir(tmp_path)
    shops(20, off=0.6)[:6000].write_parquet("part-0.parquet")
    shops(20, off=0.6)[6000:].write_parquet("part-1.parquet")
    typed = "test part-*.parquet --label y --probs p --by shop --test ks --engine cells --seed 1"
    words = [*typed.split(), "--level", "0.05", "--quiet"]
    assert command(words) == 0
    text = capsys.readouterr().out.replace("\n", " ")
    assert "in 1 of 600 groups. Worst is group 17. P(1) at least" in text
    assert command([*words, "--format", "csv", "--fail"]) == 1
    assert capsys.readouterr().out.startswith("shop,n,predicted")


def test_assertion_reads_the_result():
    """It fails with the groups that are off."""
    asked = {"label": "y", "probs": "p", "by": "shop", "engine": "cells", "test": "ks"}
    assert len(assert_calibrated(None, shops(20), **asked)) == GROUPS
    with pytest.raises(AssertionError, match="in 1 of 600 groups"):
        assert_calibrated(None, shops(60, off=0.5), **asked)


@pytest.mark.parametrize("off", [1.0, 1.01])
def test_large_group_takes_the_limit(monkeypatch, off):
    """Above a variance of 10^5, by Brownian motion: larger by up to 1 %."""
    rng = np.random.default_rng(2)
    p = rng.beta(2, 3, 300_000)
    data = pl.DataFrame({"shop": np.repeat(0, p.size), "p": p, "y": rng.random(p.size) < p * off})
    bound = REGISTRY["ks"]().bind_groups(cells_of(data))
    asked = {"n_resamples": 1, "seed": 1}
    exact = bound.pvalues(**asked)
    monkeypatch.setattr("caltest.measures.cumulative.cumulative.LARGE", 1e4)
    assert 1.0 <= bound.pvalues(**asked)[0] / exact[0] <= 1.01


def test_many_groups_with_degenerate_data_are_one_warning():
    """The first is named; the tests of the others say it in their notes."""
    p = np.tile([0.0, 0.2, 0.4, 0.6], 40)
    labels, groups = np.tile([0, 1, 0, 1], 40), np.repeat(np.arange(8), 20)
    with pytest.warns(DegenerateDataWarning) as told:
        found = calibration_test(p, labels, test="cox", by=groups, n_resamples=9)
    [one] = [str(one.message) for one in told]
    assert one.startswith("group 0, lens strong: predictions of 0 and 1 have no log odds")
    assert one.endswith("(and 7 more: see the notes)")
    assert all("no log odds" in str(row.notes) for row in found.rows)
