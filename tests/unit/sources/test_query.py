"""The query counts what a plain loop over the rows counts."""

import re

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.lenses import resolve_lens
from caltest.numerics.bins import bin_of
from caltest.sources import Counting, count_rows, counted, tally
from caltest.sources.cells import NEVER, UNIT
from caltest.sources.columns import Columns
from caltest.sources.tally import BITS, MOST, Tally


def rows(n=400, seed=0):
    """Return predictions, of which some are 0, 1 and on edges, with labels."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 1.5, n)
    p[:12] = [0, 1, 0.2, 0.4, 0.6, 0.7, 1 / 3, 2 / 3, 0.5, 1e-9, 2**-16, 1 - 2**-53]
    return p, (rng.random(n) < p).astype(int)


def grouped_by_query(frame, counting):
    """Return the cells as the query groups the rows."""
    return counting.merged([counting.query(nw.from_native(frame).lazy())])


def assert_cells_of_the_query(frame, counting, wrong=None):
    """Compare rows that are tallied, at once and in halves, with those that the query groups."""
    grouped = grouped_by_query(frame, counting)
    tallied = counted([frame], counting)
    half = frame.height // 2
    for found in (tallied, counted([frame[:half], frame[half:]], counting)):
        fine = pl.col("place") >= NEVER
        assert found.filter(fine).select(grouped.columns).equals(grouped.filter(fine))
    assert counting.wrong(tallied) == counting.wrong(grouped)
    assert wrong is None or counting.wrong(tallied) == wrong


@pytest.mark.parametrize("bins", [1, 10, 15, 100])
def test_bins_are_unions_of_cells(bins):
    """The same right-closed edges as those of the binned errors."""
    p, y = rows()
    cells = count_rows(p, y, (bins,))
    own = np.array([bin_of(one, float(bins)) for one in p])
    got = np.bincount(cells.bins[bins], cells.n, minlength=bins)
    assert got.tolist() == np.bincount(own, minlength=bins).tolist()


@pytest.mark.parametrize("lens", ["confidence", "classwise", "top-label"])
def test_rows_of_three_classes_are_tallied_as_the_query_groups_them(lens):
    """Also rows that do not count: of another class, or wrong."""
    probs = np.random.default_rng(0).dirichlet([0.5, 1, 2], 300)
    probs[:3] = np.eye(3)
    probs[3] = [0.5, 0.6, 0.7]
    frame = pl.DataFrame({f"p{k}": probs[:, k] for k in range(3)} | {"y": np.arange(300) % 3})
    names, values = (0, 1, 2), (0.0, 1.0, 2.0)
    columns = Columns("y", ("p0", "p1", "p2"), names, values, "number")
    counting = Counting(columns, tuple(resolve_lens(lens).members_of(names)), (15,))
    assert_cells_of_the_query(frame, counting, {"probabilities whose sum is not 1": 1})


def faulty_rows(kind):
    """Return rows of three classes in single precision, of which some are wrong."""
    probs = np.random.default_rng(0).dirichlet([0.5, 1, 2], 300).astype(np.float32)
    probs[:3] = np.eye(3)
    probs[3] = [0.5, 0.6, 0.7]
    probs[4] = [-0.1, 1.1, 0.0]
    probs[5] = [np.nan, 0.5, 0.5]
    probs[6] = [-1e-6, 1 + 1e-6, 0.0]
    columns = {f"p{k}": probs[:, k].tolist() for k in range(3)}
    columns["p1"][7] = None
    labels = (np.arange(300) % 3).tolist()
    labels[8:10] = [None, 3]
    labels[5] = None
    if kind == "text":
        labels = [None if one is None else "abcd"[one] for one in labels]
    schema = {f"p{k}": pl.Float32 for k in range(3)} | {
        "y": {"number": pl.Int8, "float": pl.Float64, "text": pl.String}[kind]
    }
    if kind == "float":
        labels[10] = np.nan
    return pl.DataFrame(columns | {"y": labels}, schema=schema, strict=False)


@pytest.mark.parametrize("kind", ["number", "float", "text"])
def test_columns_as_they_are_have_the_cells_and_faults_of_the_query(kind):
    """Single precision, values that are missing, and labels of numbers and of text."""
    frame, names = faulty_rows(kind), ("a", "b", "c")
    values = names if kind == "text" else (0.0, 1.0, 2.0)
    own = "text" if kind == "text" else "number"
    columns = Columns("y", ("p0", "p1", "p2"), names, values, own)
    counting = Counting(columns, tuple(resolve_lens("classwise").members_of(names)), (10, 15))
    wrong = {
        "a probability that is missing": 2,
        "a label that is missing": 1 + (kind == "float"),
        "a probability outside [0, 1]": 1,
        "probabilities whose sum is not 1": 1,
        "a label that is none of the classes": 1,
    }
    assert_cells_of_the_query(frame, counting, wrong)


@pytest.mark.full
def test_weighted_rows_are_tallied_as_the_query_groups_them():
    """Weights of all sizes, some of them missing, and more rows of a class than a line holds."""
    p, y = rows(2000)
    w = np.random.default_rng(3).lognormal(0, 30, p.size)
    w[:4] = 0, np.nan, -1, 1e39
    p, y, w = (
        np.append(own, last)
        for own, last in ((p, [0.4] * 1500), (y, [1] * 1500), (w, [1.9999999] * 1500))
    )
    frame = pl.DataFrame({"p": p, "y": y.astype(int), "w": w})
    columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "number", weight="w")
    counting = Counting(columns, (resolve_lens("strong"),), (10, 15))
    assert_cells_of_the_query(frame, counting)


@pytest.mark.cases(1)
@pytest.mark.parametrize("groups", [3, 700])
@pytest.mark.parametrize("held", [1 << 24, 999])
def test_groups_are_tallied_as_the_query_groups_them(groups, held, monkeypatch):
    """Few and very many groups of any type, some of them missing, and rows that are wrong."""
    monkeypatch.setattr(tally, "AT_ONCE", held)
    p, y = rows(1000)
    number = np.random.default_rng(4).integers(groups, size=p.size)
    p[:3], y = (np.nan, 1.5, -0.0), y.astype(float)
    y[5:7] = np.nan, 3.0
    own = pl.Series(number)
    kinds = {
        "text": own.cast(pl.String),
        "categorical": own.cast(pl.String).cast(pl.Categorical),
        "float": own / 7,
        "date": pl.Series(np.datetime64("2026-01-01") + number),
        "truth": own > 1,
    }
    for kind in [*({name: one} for name, one in kinds.items()), kinds]:
        frame = pl.DataFrame({"p": p, "y": y, **kind})
        names = tuple(kind)
        lacks = pl.int_range(pl.len()).is_between(8, 9)
        frame = frame.with_columns(pl.when(~lacks).then(pl.col(names[0])))
        columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "number", by=names)
        for lenses in (("strong",), ("strong", "confidence")):
            counting = Counting(columns, tuple(map(resolve_lens, lenses)), (10,))
            tallied = counted([frame], counting)
            grouped = grouped_by_query(frame, counting)
            for event in range(len(lenses)):
                ours, theirs = counting.many(tallied, event), counting.many(grouped, event)
                assert ours.values == theirs.values
                for name in ("start", "n", "events", "expected", "variance"):
                    assert np.array_equal(getattr(ours, name), getattr(theirs, name))
                for name in ("place", "least", "most"):
                    assert np.array_equal(getattr(ours.cells, name), getattr(theirs.cells, name))
            assert counting.wrong(tallied) == counting.wrong(grouped)
            halves = counted([frame[:850], frame[850:]], counting)
            assert np.array_equal(counting.many(halves, 0).events, counting.many(grouped, 0).events)


def test_sums_of_very_many_rows_of_a_cell_do_not_run_over():
    """Two sums share a number of 64 bits, which are parted in time."""
    n = 3 * MOST + 5
    p = np.full(n, (65535.5 + 2.0**-14) / 2**16)
    tally = Tally(())
    tally.add(p[:7], np.ones(7, np.int8))
    tally.add(p, np.ones(n, np.int8))
    rest = 0.5 + 2.0**-14
    table = tally.table()
    assert table.select("n", "y", "least", "most").row(0) == (n + 7, n + 7, rest, rest)
    assert table["r1"][0] == (n + 7) * np.floor(rest * UNIT + 0.5)
    assert table["r2"][0] == (n + 7) * np.floor(rest**2 * UNIT + 0.5)


def test_bits_of_the_largest_sums_suffice():
    """Every row adds all that it can."""
    assert MOST * (UNIT << BITS) + MOST < 2**63
    assert MOST < 2**BITS


@pytest.mark.parametrize("label", [pl.Int64, pl.Float64, pl.Boolean], ids=str)
@pytest.mark.parametrize("name", ["p_0", "p_false"])
def test_single_column_of_no_event_is_read_as_where_rows_are(label, name):
    """A column that is named after the label 0 is its probability, however many rows there are."""
    table = pl.DataFrame({name: [0.9, 0.8, 0.3, 0.6], "y": [0, 0, 1, 1]})
    table = table.with_columns(pl.col("y").cast(label))
    options = {"label": "y", "probs": name, "test": "ece", "n_resamples": 9, "rng": 0}
    rows, cells = (
        ct.test_calibration(None, table, engine=engine, **options) for engine in ("rows", "cells")
    )
    assert rows.statistic == pytest.approx(cells.statistic, abs=1e-9)
    assert rows.statistic == pytest.approx(0.3)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("weight", "part"), [(None, 200), (None, 1 << 19), ("w", 1 << 19)])
def test_margins_are_the_cells_of_rows_without_the_other_columns(monkeypatch, weight, part):
    """Of no column, of some and of all, with groups that are missing nowhere; in parts of cells."""
    p, y = rows(3000)
    rng = np.random.default_rng(8)
    frame = pl.DataFrame({"p": p, "y": y.astype(int), "w": rng.integers(1, 9, p.size) / 3})
    frame = frame.with_columns(a=rng.integers(30, size=p.size), b=pl.Series(["u", "v"])[y * 1])

    def counting(by):
        columns = Columns("y", ("p",), (0, 1), (0.0, 1.0), "number", by=by, weight=weight)
        return Counting(columns, (resolve_lens("strong"),), (10, 15))

    every = counting(("a", "b"))
    table = counted([frame], every)
    monkeypatch.setattr("caltest.sources.query.PART", part)
    for columns in ((), (0,), (1,), (0, 1)):
        names = tuple("ab"[k] for k in columns)
        parts = list(every.margins(table, columns))
        assert (len(parts) > 1) == (part == 200 and len(columns) > 0)
        theirs = counting(names).many(counted([frame], counting(names)), 0)
        assert [value for one in parts for value in one.values] == list(theirs.values)
        assert {one.columns for one in parts} == {names}
        before = np.cumsum([0, *(len(one.cells) for one in parts)])
        assert [one.before for one in parts] == before[:-1].tolist()
        starts = [one.start[:-1] + one.before for one in parts]
        assert np.array_equal(np.append(np.concatenate(starts), before[-1]), theirs.start)
        for name in ("n", "events", "expected", "variance"):
            ours = np.concatenate([getattr(one, name) for one in parts])
            assert np.array_equal(ours, getattr(theirs, name))
        assert np.array_equal(np.concatenate([one.cells.most for one in parts]), theirs.cells.most)


@pytest.mark.cases(1)
@pytest.mark.parametrize("test", ["ks", "brier", "hosmer-lemeshow"])
def test_groups_in_parts_have_the_pvalues_of_all_at_once(monkeypatch, test):
    """Beyond 500 groups, which are tested in one pass."""
    p, y = rows(9000)
    number = np.random.default_rng(8).integers(600, size=p.size)
    frame = pl.DataFrame({"p": p, "y": y.astype(int), "g": number})
    options = {"label": "y", "probs": "p", "by": "g", "engine": "cells", "rng": 1}

    def tested(part):
        seen = []
        many = Counting.many
        with monkeypatch.context() as patch:
            patch.setattr("caltest.sources.query.PART", part)
            patch.setattr(Counting, "many", lambda *args: seen.append(1) or many(*args))
            found = ct.test_calibration(None, frame, test=test, n_resamples=99, **options)
        return found, len(seen)

    (at_once, one), (in_parts, several) = tested(1 << 19), tested(1000)
    assert one + 1 < several
    assert str(in_parts) == str(at_once)
    assert np.array_equal(in_parts.pvalues, at_once.pvalues)


@pytest.mark.full
def test_default_alone_unites_many_cells_and_says_how_far_it_is_from_theirs():
    """With another test, which sees the same redrawn numbers, it takes the cells themselves."""
    rng = np.random.default_rng(9)
    p = rng.beta(0.7, 0.7, 60_000)
    frame = pl.DataFrame({"p": p, "y": rng.random(p.size) < p**1.02})
    options = {"label": "y", "probs": "p", "engine": "cells", "n_resamples": 199, "rng": 1}
    alone = ct.test_calibration(None, frame, **options)
    beside, _ = ct.test_calibration(None, frame, test=["combined", "ks"], **options)
    assert alone.parameters["cells"] < 10_000 < beside.parameters["cells"]
    said = alone.parameters["error by cells"]
    error, cells = re.fullmatch(
        r"at most (\S+) from that of ([\d,]+) cells, at the mean.*", said
    ).groups()
    assert int(cells.replace(",", "")) == beside.parameters["cells"]
    assert 0 < float(error) < 0.05
    assert alone.statistic == pytest.approx(beside.statistic, rel=0.2)
    assert alone.pvalue == pytest.approx(beside.pvalue, abs=0.1)
    assert (alone.n, alone.size) == (beside.n, beside.size)
