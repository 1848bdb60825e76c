"""Parts that are wrong are named, or left out where the caller says so."""

from threading import active_count

import numpy as np
import polars as pl
import pytest

from caltest import InvalidInput, NotApplicable, report
from caltest import test_calibration as calibration_test
from caltest.predictions import files
from caltest.sources import sources
from caltest.sources.query import batches, has_batches


@pytest.fixture
def parts(tmp_path):
    """Three days of predictions in Parquet."""
    rng = np.random.default_rng(1)
    for day in range(3):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        p = rng.random(500)
        frame = pl.DataFrame({"y": (rng.random(500) < p).astype(np.int8), "p": p})
        frame.write_parquet(folder / "part-0.parquet")
    return tmp_path


def run(data, **options):
    options = {"label": "y", "probs": "p", "test": "ks", "engine": "cells", **options}
    few = {} if "segments" in options else {"n_resamples": 49}
    return calibration_test(None, data, rng=1, **few, **options)


def replaced(parts, **columns):
    """Replace the part of the second day."""
    path = parts / "day=1" / "part-0.parquet"
    pl.DataFrame(columns).write_parquet(path)


def test_tables_of_cells_are_added_up_on_the_way(parts, monkeypatch):
    """So that many files do not fill the memory."""
    whole = run(str(parts / "*" / "*.parquet"))
    monkeypatch.setattr(sources, "MERGED", 1)
    monkeypatch.setattr(sources, "AT_A_TIME", 1)
    assert run(str(parts / "*" / "*.parquet")) == whole


@pytest.mark.parametrize(
    ("columns", "words", "n"),
    [
        ({"p": [0.5, None]}, "no probability that is missing; got 1 in .*day=1", 1001),
        ({"p": [0.5, float("nan")]}, "no probability that is missing; got 1 in .*day=1", 1001),
        ({"p": [0.5, 1.5]}, r"no probability outside \[0, 1\]; got 1 in .*day=1", 1001),
        ({}, "day=1.*no column 'p'", 1000),
        ({"y": ["a", "b"], "p": [0.5, 0.5]}, "day=1.*column 'y' is String, not Int8", 1000),
    ],
)
def test_wrong_values_and_another_schema_name_the_part_and_the_rule(parts, columns, words, n):
    """A row that is wrong, a column that is missing or has another type."""
    replaced(parts, **{"y": np.array([0, 1], np.int8)} | columns)
    with pytest.raises(InvalidInput, match=words):
        run(str(parts / "*" / "*.parquet"))
    result = run(str(parts / "*" / "*.parquet"), on_error="skip")
    assert result.n == n
    left_out = "1 row with a probability" if n == 1001 else "1 part: "
    assert f"left out: {left_out}" in result.to_dict()["notes"][-1]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"y": [0, 1], "q": [0.1, 0.2]}, "it has no column 'p'"),
        ({"y": [0, 1], "p": ["0.1", "0.2"]}, "its column 'p' is String, not Float64 as in the"),
        ({"y": ["0", "1"], "p": [0.1, 0.2]}, "its column 'y' is String, not Int8 as in the"),
    ],
)
def test_other_schema_names_the_part_where_rows_are_read(parts, columns, words):
    """Few rows are as strict, but for kinds of numbers."""
    replaced(parts, **columns)
    with pytest.raises(InvalidInput, match=f"day=1/part-0.parquet: {words}"):
        run(str(parts / "*" / "*.parquet"), engine="rows")


def test_other_order_and_kinds_of_numbers_are_read(parts):
    replaced(parts, p=[0.1, 0.2], more=["a", "b"], y=[0.0, 1.0])
    assert run(str(parts / "*" / "*.parquet"), engine="rows").n == 1002
    with pytest.raises(InvalidInput, match="must have a part that can be read"):
        run(iter([]), engine="rows")


@pytest.mark.parametrize(
    "damaged",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[: int(0.98 * len(content))],
        lambda content: content[:4] + bytes(1996) + content[2000:],
    ],
    ids=["half", "cut off", "zeros"],
)
def test_damaged_part_is_named(parts, damaged):
    """Without its end a file has no schema; or this is whole, and the numbers are not."""
    path = parts / "day=1" / "part-0.parquet"
    path.write_bytes(damaged(path.read_bytes()))
    with pytest.raises(InvalidInput, match=r"parts must be readable; got .*day=1"):
        run(str(parts / "*" / "*.parquet"))
    assert run(str(parts / "*" / "*.parquet"), on_error="skip").n == 1000


def test_page_on_which_the_engine_panics_is_found(tmp_path):
    """No row that was not read is passed over."""
    rng = np.random.default_rng(1)
    for number in range(2):
        p = rng.beta(1, 3, 1000).astype(np.float32)
        frame = pl.DataFrame({"y": (rng.random(1000) < p).astype(np.int8), "p": p})
        frame.write_parquet(tmp_path / f"{number}.parquet")
    path = tmp_path / "1.parquet"
    content = bytearray(path.read_bytes())
    content[200:400] = b"\xff" * 200
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=r"parts must be readable; got 1\.parquet"):
        run(str(tmp_path / "*.parquet"))
    assert run(str(tmp_path / "*.parquet"), on_error="skip").n == 1000


class Panicking:
    """A lazy frame whose engine panics after two batches."""

    def sink_batches(self, function, **_):
        """Give two batches."""
        for number in range(2):
            function(pl.DataFrame({"p": [float(number)]}))
        raise pl.exceptions.PanicException("called unwrap")


def test_panic_after_some_batches_is_an_error():
    rows = batches(Panicking())
    assert [next(rows).item(), next(rows).item()] == [0.0, 1.0]
    with pytest.raises(pl.exceptions.ComputeError, match="panic: called unwrap"):
        next(rows)


class Changing:
    """A step of a lazy frame that gives something else, or panics, from a reading on."""

    def __init__(self, reading, change):
        self.left, self.change = reading, change

    def __call__(self, frame):
        """Give the rows."""
        self.left -= 1
        return frame if self.left > 0 else self.change(frame)


def panic(_):
    """Do as a damaged file has the engine do."""
    raise pl.exceptions.PanicException("called unwrap")


@pytest.mark.parametrize("groups", [3, 150])
def test_group_that_was_not_there_before_is_no_other_group(groups):
    """Groups are listed in a first reading of the rows and counted in a second."""
    frame = pl.DataFrame({"y": [0, 1] * 300, "p": [0.5] * 600, "g": np.arange(600) % groups})
    if not has_batches(frame.lazy()):
        pytest.skip("before Polars 1.34 groups are counted in one reading")
    step = Changing(2, lambda rows: rows.with_columns(pl.col("g") + 1))
    with pytest.raises(InvalidInput, match="be the same each time they are read"):
        run(frame.lazy().map_batches(step, projection_pushdown=False), by="g")
    step = Changing(1, panic)
    with pytest.raises(InvalidInput, match="panic: called unwrap"):
        run(frame.lazy().map_batches(step, projection_pushdown=False), by="g")


def test_segments_of_an_iterator_are_of_all_its_frames(parts):
    """The columns of the first are looked at before rows are counted."""
    paths = sorted(parts.glob("*/*.parquet"))
    frames = [pl.read_parquet(path).with_columns(pl.col("y").alias("g")) for path in paths]
    whole = run(pl.concat(frames), segments="g", test=None)
    own = [(one.n, one.statistic, one.pvalue) for one in whole]
    assert whole.n == 1500
    for some in (frames, [pl.concat(frames)]):
        result = run(iter(some), segments="g", test=None)
        assert [(one.n, one.statistic, one.pvalue) for one in result] == own


def test_empty_text_file_is_left_out_like_any_other(tmp_path):
    """Where its reader is this package's."""
    for name, content in {"a.csv": "", "b.csv": "y,p\n0,0.1\n1,0.9\n"}.items():
        (tmp_path / name).write_text(content)
    result = run(tmp_path, on_error="skip")
    assert result.n == 2
    assert "a.csv" in result.notes[0]
    with pytest.raises(InvalidInput, match=r"must be a valid \.csv file; got 'a\.csv'"):
        run(tmp_path)


def test_rows_without_a_group_are_no_number_of_segments():
    """Ten numbers, and some that are missing."""
    group = [*range(10), None] * 60
    frame = pl.DataFrame({"y": [0, 1] * 330, "p": [0.5] * 660, "g": group})
    assert run(frame, segments="g", test=None, on_error="skip").n == 600


@pytest.mark.parametrize("groups", [2, 300])
def test_zero_is_one_group_whatever_its_sign(groups):
    group = np.arange(600.0) % groups
    group[300:] *= -1.0
    frame = pl.DataFrame({"y": [0, 1] * 300, "p": [0.5] * 600, "g": group})
    for one in (frame, frame[::-1]):
        result = run(one, by="g")
        (zero,) = (row for row in result if row.group == 0)
        assert (str(zero.group), zero.n) == ("0.0", 600 // groups)


def test_first_file_of_segments_is_left_out_once(parts):
    for path in parts.glob("*/*.parquet"):
        pl.read_parquet(path).with_columns(pl.col("y").alias("g")).write_parquet(path)
    first = parts / "day=0" / "part-0.parquet"
    content = first.read_bytes()
    damaged = [content[:4] + b"\xff" * 4000 + content[4004:], b"damaged"]  # its rows, its columns
    for one in damaged:
        first.write_bytes(one)
        result = run(str(parts / "*" / "*.parquet"), segments="g", test=None, on_error="skip")
        assert result.n == 1000
        assert sum("left out: 1 part" in note for note in result.notes) == 1
        with pytest.raises(InvalidInput, match=r"readable; got day=0"):
            run(str(parts / "*" / "*.parquet"), segments="g", test=None)


def test_batches_may_be_left_before_the_end():
    """The engine's thread ends, however many batches wait."""
    before = active_count()
    frame = pl.DataFrame({"p": np.zeros(2_000_000)}).lazy()
    if not has_batches(frame):
        pytest.skip("Polars hands out batches from 1.34 on")
    rows = batches(frame)
    next(rows)
    rows.close()
    assert active_count() == before


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (2.0, "none of the classes; got 1 in data frame; name them by"),
        (np.nan, "no label that is missing; got 1 in data frame; corr"),
    ],
)
def test_unknown_and_missing_labels_are_counted(label, words):
    """A label of 2 of two classes; a NaN is no other class, which could be named."""
    with pytest.raises(InvalidInput, match=words):
        run(pl.DataFrame({"y": [0.0, 1.0, label], "p": [0.1, 0.2, 0.3]}))


def test_nothing_matches(tmp_path):
    """A pattern without a file, a path without one, a folder."""
    with pytest.raises(InvalidInput, match="must match a file; got"):
        run(str(tmp_path / "*.parquet"))
    with pytest.raises(InvalidInput, match="path must name a file; got"):
        run(str(tmp_path / "a.parquet"))
    with pytest.raises(InvalidInput, match="a folder with no table; check the spelling"):
        run(tmp_path)


@pytest.mark.parametrize("engine", ["cells", "rows", "auto"])
def test_folder_stands_for_all_files_in_it(parts, engine):
    assert run(parts, engine=engine).n == 1500


@pytest.mark.parametrize("engine", ["cells", "rows"])
@pytest.mark.parametrize("empty", ["a.csv", "c.csv"])
def test_text_file_without_rows_has_no_other_types(tmp_path, engine, empty):
    """A header alone, of an hour in which nothing happened; a line that is too long is named."""
    (tmp_path / empty).write_text("y,p\n")
    (tmp_path / "b.csv").write_text("y,p\n0,0.1\n1,0.9\n")
    assert run(tmp_path, engine=engine).n == 2
    with pytest.raises(InvalidInput, match=r"must have (a part that|at least one row)"):
        run(tmp_path / empty, engine=engine)
    (tmp_path / "b.csv").write_text("y,p\n0,0,1\n1,0.9\n")
    with pytest.raises(InvalidInput, match=r"got 3 for 2 at line 2 of 'b\.csv'"):
        run(tmp_path, engine=engine)


def test_text_is_read_once(tmp_path, monkeypatch):
    """Where it is the only file, and its rows are counted in cells."""
    (tmp_path / "b.csv").write_text("y,p\nno,0.1\nyes,0.9\n")
    read, seen = files.raw_table, []
    monkeypatch.setattr(files, "raw_table", lambda *a, **k: seen.append(a) or read(*a, **k))
    assert run(tmp_path / "b.csv").n == 2
    assert len(seen) == 1


def test_nothing_is_left(parts):
    for path in parts.glob("*/*.parquet"):
        path.write_bytes(b"PAR1")
    with pytest.raises(InvalidInput, match="must have a part that can be read; got none; day=0"):
        run(str(parts / "*" / "*.parquet"), on_error="skip")


@pytest.mark.parametrize(
    "options",
    [
        {"probs": "p"},
        {"probs": "p", "by": "g"},
        {"probs": "p", "test": None, "segments": ["g"]},
        {"probs": ["a", "b", "c"], "engine": "chunks", "test": None},
    ],
)
def test_no_row_is_an_error(options):
    """Neither where there is none, nor where all are left out."""
    names = ["y", "p", "g", "a", "b", "c"]
    wrong = pl.DataFrame({name: [0, 1] if name == "y" else [2.0, 3.0] for name in names})
    with pytest.raises(InvalidInput, match="must have at least one row; got none; pass"):
        run(wrong.clear(), **options)
    with pytest.raises(InvalidInput, match="got none; left out: 2 rows with a probability outs"):
        run(wrong, on_error="skip", **options)


@pytest.mark.parametrize("engine", ["cells", "rows"])
@pytest.mark.parametrize(
    ("columns", "labels", "classes"),
    [
        (["p_cat", "p_dog"], ["cat", "dog"], ["dog", "cat"]),
        (["p_cat"], ["cat", "dog"], ["cat", "dog"]),
        (["p_0"], [0, 1], [0, 1]),
        (["p_false", "p_true"], [False, True], [True, False]),
    ],
)
def test_classes_in_another_order_than_their_columns_are_refused(engine, columns, labels, classes):
    """The columns would silently get the names of each other."""
    table = pl.DataFrame({"y": labels, **{name: [0.5, 0.5] for name in columns}})
    with pytest.raises(InvalidInput, match="classes must be those that the columns are named aft"):
        run(table, probs=columns, classes=classes, engine=engine)


@pytest.mark.parametrize("engine", ["cells", "rows"])
@pytest.mark.parametrize("site", ["1", "a"])
def test_folder_of_rows_without_a_value_is_a_missing_group(tmp_path, engine, site):
    """As Spark and Arrow name it; the others are numbers, or text, as ever."""
    for name in (site, "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"site={name}").mkdir()
        pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9]}).write_csv(tmp_path / f"site={name}" / "a.csv")
    with pytest.raises(InvalidInput, match=r"missing; got .* site=__HIVE"):
        run(tmp_path, by="site", engine=engine)
    (result,) = run(tmp_path, by="site", on_error="skip")
    assert result.group == (1 if site == "1" else "a")
    assert run(tmp_path, engine=engine).n == 4


def test_segments_of_files_name_these_and_need_no_other_columns(tmp_path):
    for name, other in (("a", "x"), ("b", 1)):
        frame = pl.DataFrame({"y": [0, 1] * 40, "p": [0.5] * 80, "g": ["u", "u", "v", "v"] * 20})
        frame.with_columns(other=pl.lit(other)).write_parquet(tmp_path / f"{name}.parquet")
    options = {"segments": "g", "test": None, "engine": "rows"}
    result = run(tmp_path, **options)
    assert (result.data_name, result.n) == (tmp_path.name, 160)
    (tmp_path / "b.parquet").unlink()
    pl.DataFrame({"y": [0], "p": [0.5], "other": ["x"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match="it has no column 'g'; correct it"):
        run(tmp_path, **options)


def test_column_with_a_name_that_means_all_columns_to_the_engine(tmp_path):
    pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "*": [1, 2]}).write_csv(tmp_path / "a.csv")
    assert run(tmp_path / "a.csv", engine="rows").n == 2


@pytest.mark.parametrize("engine", ["cells", "rows"])
def test_crossed_groups_of_one_name_are_not_one_group(engine):
    """By rows they would be pooled, by cells one of them lost."""
    frame = pl.DataFrame({"y": [0, 1] * 2, "p": [0.4] * 4, "g": ["a, b", "a"] * 2})
    frame = frame.with_columns(h=pl.Series(["c", "b, c"] * 2))
    with pytest.raises(InvalidInput, match="must have names that differ; got 'a, b, c' twice"):
        run(frame, by=["g", "h"], engine=engine)


@pytest.mark.parametrize("engine", ["cells", "rows"])
def test_batches_of_arrow_are_chunks(parts, engine):
    """As Parquet files and databases hand them out."""
    pq = pytest.importorskip("pyarrow.parquet")
    path = parts / "day=0" / "part-0.parquet"
    found = run(pq.ParquetFile(path).iter_batches(batch_size=90), engine=engine)
    assert (found.n, found.statistic) == (500, run(path, engine=engine).statistic)


@pytest.mark.parametrize("unit", [pl.Date, pl.Datetime("us"), pl.Datetime("ms")])
def test_groups_that_are_dates_have_the_same_names(unit):
    """By cells and by rows, alone and crossed; a missing one is named."""
    rng = np.random.default_rng(1)
    p = rng.random(300)
    frame = pl.DataFrame({"y": rng.binomial(1, p), "p": p, "d": rng.integers(0, 3, 300)})
    start = pl.lit("2026-01-01").str.to_datetime().cast(unit)
    frame = frame.with_columns(g=pl.col("d") % 2, d=start + pl.duration(days="d"))
    for by in ("d", ["g", "d"]):
        cells, rows = (run(frame, by=by, engine=engine) for engine in ("cells", "rows"))
        assert [str(row.group) for row in cells] == [str(row.group) for row in rows]
        assert [row.n for row in cells] == [row.n for row in rows]
    missing = frame.with_columns(d=pl.when(pl.col("g") == 1).then(pl.col("d")))
    for one in (missing, missing.to_pandas()):
        with pytest.raises(InvalidInput, match="must not be missing"):
            run(one, by="d", engine="rows")


ROWS = pl.DataFrame({"y": [0, 1] * 30, "p": [0.5] * 60, "g": [0, 0, 1] * 20})
CALLS = {  # of a part: what is no frame, no group, or named twice
    "got array": lambda _: run(iter([np.ones(3)])),
    "takes a data frame": lambda _: calibration_test([0.5], [1], test="ks", engine="cells"),
    "a single value; got 'l': List": lambda _: run(ROWS.with_columns(l=pl.lit([1])), by="l"),
    "a single value; got 'o': Object": lambda _: run(
        ROWS.with_columns(o=pl.Series([object()] * 60, dtype=pl.Object)), by="o"
    ),
    "one entry per row; got shape": lambda _: run(
        ROWS.with_columns(w=pl.lit([1, 2])), sample_weight="w", engine="rows"
    ),
    "1.5 at row 2 of chunk 2": lambda _: run(
        iter([ROWS, ROWS.with_columns(p=pl.Series([0.5, 0.5, 1.5] * 20))]), engine="auto"
    ),
    "each column once": lambda _: run(ROWS, by=["g", "g"]),
    "name each column once": lambda _: run(ROWS, segments=["g", "g"], test=None),
    "each file once": lambda part: run([str(part), str(part.parent / "*.parquet")]),
}


def test_what_is_no_source_of_cells_is_refused(parts, case):
    for message, call in CALLS.items():
        error = NotApplicable if message == "takes a data frame" else InvalidInput
        with case(message), pytest.raises(error, match=message):
            call(parts / "day=1" / "part-0.parquet")


@pytest.mark.parametrize(
    "name", ['a "b"', "a.b", "a b", "status", "p0", "label", "'; DROP TABLE t"]
)
def test_names_of_columns_cannot_change_the_query(name):
    """Quotes, dots and blanks; names that the query has itself."""
    frame = pl.DataFrame({name: [0.25, 0.75, 0.5], "y": [0, 1, 1]})
    assert run(frame, probs=name).statistic == run(frame.rename({name: "p"})).statistic


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0, 1, 1], ("p_0", "p_1")),
        ([False, True, True], ("p_0", "p_1")),
        (["a", "b", "b"], ("p_a", "p_b")),
    ],
)
def test_labels_of_every_type(labels, names):
    frame = pl.DataFrame({"y": labels, names[0]: [0.5, 0.25, 0.5], names[1]: [0.5, 0.75, 0.5]})
    assert run(frame, probs=None).size.observed == pytest.approx(2 / 3)


def test_text_labels_of_one_column():
    """The column that is named after a label is its probability."""
    frame = pl.DataFrame({"y": ["no", "yes", "yes"], "p_yes": [0.5, 0.5, 0.5]})
    result = run(frame, probs="p_yes")
    assert result.size.name == "yes"
    assert result.size.observed == pytest.approx(2 / 3)
    with pytest.raises(InvalidInput, match="two distinct labels"):
        run(pl.DataFrame({"y": ["a", "b", "c"], "p": [0.5, 0.5, 0.5]}))


def test_progress_counts_parts(parts):
    seen = []
    run(str(parts / "*" / "*.parquet"), progress=lambda *at: seen.append(at))
    assert seen[-1] == (3, 3)


def test_what_is_wrong_is_left_out_of_few_rows_too(parts):
    """Where the engine is not given, cells are taken, which alone can do so."""
    (parts / "day=1" / "part-0.parquet").write_bytes(b"PAR1")
    files = str(parts / "*" / "*.parquet")
    result = run(files, engine="auto", on_error="skip")
    assert result.n == 1000
    assert result.notes[-1].startswith("left out: 1 part: day=1/part-0.parquet")
    assert result.pvalue == run(files, on_error="skip").pvalue
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.2, 0.3, 3.0]})
    assert run(frame, engine="auto", on_error="skip").n == 3
    with pytest.raises(InvalidInput, match="on_error must be one of"):
        run(frame, engine="auto", on_error="ignore")


@pytest.mark.full
def test_report_leaves_out_what_is_wrong_of_few_rows_too(parts):
    (parts / "day=1" / "part-0.parquet").write_bytes(b"PAR1")
    page = report(
        None, str(parts / "*" / "*.parquet"), label="y", probs="p", on_error="skip", rng=1
    )
    assert "left out: 1 part: day=1/part-0.parquet" in page.to_json()
