"""Files of tables: formats by name, open files, and writing what was read."""

import bz2
import contextlib
import datetime as dt
import gzip
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest import Predictions
from caltest.errors import InvalidInput, ReadAsWarning
from caltest.predictions import files

FRAME = pl.DataFrame({"y": ["a", "b", "a"], "p_a": [0.7, 0.2, 0.5], "p_b": [0.3, 0.8, 0.5]})


TABLES = tuple(name for name in files.FILE_FORMATS if name != "excel")


@pytest.mark.parametrize("name", TABLES)
def test_open_file_is_read_in_the_format_that_is_named(name):
    buffer = io.BytesIO()
    files.write_table(FRAME, buffer, file_format=name)
    buffer.seek(0)
    predictions = Predictions.read(buffer, label="y", file_format=name)
    assert predictions.source == "standard input"
    np.testing.assert_array_equal(predictions.probs, FRAME.select("p_a", "p_b").to_numpy())


@pytest.mark.parametrize("nan", ["nan", "NaN", "NAN", " nan"])
@pytest.mark.parametrize(("column", "name"), [("p", "probs"), ("y", "labels")])
def test_text_nan_among_numbers_is_missing_in_its_row(tmp_path, nan, column, name):
    """However it is written, the row that has it is named."""
    path = tmp_path / "t.csv"
    rows = {"p": ["0.5", "0.2", "0.3"], "y": ["0", "1", "0"]}
    rows[column][1] = nan
    path.write_text("p,y\n" + "".join(f"{p},{y}\n" for p, y in zip(*rows.values(), strict=True)))
    with pytest.raises(InvalidInput, match=rf"{name} must not be missing; got nan at line 3"):
        Predictions.read(path, label="y", probs="p")


def test_text_nan_among_words_is_a_word(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p,y\n0.5,nan\n0.2,roti\n")
    assert Predictions.read(path, label="y", probs="p").classes.tolist() == ["nan", "roti"]


@pytest.mark.parametrize("name", TABLES)
def test_open_file_without_a_format_is_known_by_what_is_in_it(name):
    """Also where it is packed."""
    buffer = io.BytesIO()
    files.write_table(FRAME, buffer, file_format=name)
    packed = io.BytesIO(gzip.compress(buffer.getvalue()))
    how = {"sep": "tab"} if name == "tsv" else {}
    assert Predictions.read(packed, label="y", **how).n == 3


TEXT = "y;p;ort\n1;0,75;Köln\n0;0,25;Bonn\n\n1;0,5;Bonn\n"
POINTS = TEXT.replace(",", ".")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", TEXT.encode(), "semicolons between columns, decimal commas;"),
        ("t.csv", POINTS.replace(";", "\t").encode(), "tabs between columns;"),
        ("t.tsv", POINTS.replace(";", ",").encode(), "commas between columns;"),
        (
            "t.txt",
            POINTS.replace(";", "|").encode("cp1252"),
            "bars between columns, encoding cp1252;",
        ),
        ("t.csv", POINTS.replace(";", ",").encode("utf-16"), "with encoding utf-16;"),
        ("t.csv", POINTS.replace(";", ",").replace("ö", "o").encode("utf-16-le"), "utf-16-le;"),
        ("t.csv", POINTS.replace(";", ",").encode("utf-32"), "with encoding utf-32;"),
        ("t.csv", POINTS.replace(";", ",").encode("utf-8-sig"), None),
        ("t.csv", POINTS.replace(";", ",").replace("\n", "\r").encode(), None),
        ("t.csv", b"sep=;\r\n" + POINTS.encode(), None),
        (
            "t.csv",
            b'y,p,ort\n1,"0,75",K\xc3\xb6ln\n0,"0,25",Bonn\n1,"0,5",Bonn\n',
            "decimal commas",
        ),
    ],
)
def test_text_is_read_as_it_is_written(tmp_path, name, content, said):
    """What the suffix does not say is told, and the rows are those of the text."""
    (tmp_path / name).write_bytes(content)
    with contextlib.nullcontext() if said is None else pytest.warns(ReadAsWarning, match=said):
        read = Predictions.read(tmp_path / name, label="y", groups="ort")
    assert read.probs[:, 1].tolist() == [0.75, 0.25, 0.5]
    assert read.groups.tolist() in (["Köln", "Bonn", "Bonn"], ["Koln", "Bonn", "Bonn"])


def test_quotes_in_names_of_columns_are_those_of_classes(tmp_path):
    """A name and a field that hold a quotation mark are written alike, and read alike."""
    (tmp_path / "t.csv").write_text('y,p_a,"p_""b"""\n"""b""",0.5,0.5\na,0.5,0.5\n')
    assert Predictions.read(tmp_path / "t.csv", label="y").labels.tolist() == [1, 0]


def test_quotes_inside_fields_stand_for_themselves(tmp_path):
    """Where no quotes surround them; one before a field would take in the next lines."""
    path = tmp_path / "t.csv"
    path.write_text('y,p,note\n1,0.75,5" pipe\n\n0,0.25,6" pipe\n1,0.5,"a, b"\n')
    assert Predictions.read(path, label="y").n == 3
    assert files.raw_table(path)["note"].to_list() == ['5" pipe', '6" pipe', "a, b"]
    for note in ('"6 pipe', '"6" pipe"'):
        path.write_text(f'y,p,note\n1,0.75,5" pipe\n0,0.25,{note}\n1,0.5,x\n')
        with pytest.raises(InvalidInput, match=rf"end with one .*{note}' at line 3 of 't.csv'"):
            Predictions.read(path, label="y")
    path.write_text('"y,p\n1,0.75\n0,0.5\n')
    with pytest.raises(InvalidInput, match=r"end with one .*'\"y,p' at line 1 of 't\.csv'"):
        Predictions.read(path, label="y")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.json", b"[]", "the reader reports: it has no columns"),
        ("t.csv", b"y,p\n1,0.5\n0,0.2\0\n", "which holds binary data; convert the file"),
        ("t.csv", b"Results\n\ny,p\n1,0.5\n", "drop what stands above the names of the columns"),
        ("t.csv.bz2", bz2.compress(b"y,p\n1,0.5\n"), "packed by gzip; got 't.csv.bz2'; unpack it"),
        ("t.zip", b"PK\3\4\0\0t.csv y,p", "packed by gzip; got 't.zip'; unpack it"),
    ],
)
def test_what_is_no_table_is_told_apart(tmp_path, name, content, words):
    """A list of nothing, and a byte of 0 in a text, which is no UTF-16 for that."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        Predictions.read(tmp_path / name, label="y")


def test_how_a_text_is_read_can_be_forced(tmp_path):
    """Then nothing is told."""
    (tmp_path / "t.csv").write_bytes(TEXT.encode("latin-1"))
    how = {"sep": ";", "decimal": ",", "encoding": "latin-1"}
    assert Predictions.read(tmp_path / "t.csv", label="y", **how).n == 3
    with pytest.raises(InvalidInput, match="must be numbers; got '0,75' at line 2"):
        Predictions.read(tmp_path / "t.csv", label="y", **how | {"decimal": "."})
    with pytest.raises(InvalidInput, match="encoding must be one that Python knows; got 'x9'"):
        Predictions.read(tmp_path / "t.csv", label="y", encoding="x9")
    with pytest.raises(InvalidInput, match=r"a path or an open binary file; got .*StringIO"):
        Predictions.read(io.StringIO(TEXT), label="y")
    with pytest.raises(InvalidInput, match=r"sep must be one ASCII character; got \[';'\]"):
        Predictions.read(tmp_path / "t.csv", label="y", sep=[";"])


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("t.pq", FRAME.write_parquet),
        ("t.json", FRAME.write_json),
        ("pandas.json", lambda path: FRAME.to_pandas().to_json(path)),
        ("columns.json", lambda path: path.write_text(json.dumps(FRAME.to_dict(as_series=False)))),
        ("t.xlsx", FRAME.write_excel),
    ],
)
def test_other_formats_are_read(tmp_path, name, write):
    if name == "t.xlsx":
        pytest.importorskip("fastexcel")
        pytest.importorskip("xlsxwriter")
    write(tmp_path / name)
    read = Predictions.read(tmp_path / name, label="y")
    np.testing.assert_array_equal(read.probs, FRAME.select("p_a", "p_b").to_numpy())
    assert read.labels.tolist() == [0, 1, 0]


def test_sheet_is_read_by_its_name(tmp_path):
    """By default the first, which is told where there are several; unknown ones are listed."""
    pytest.importorskip("fastexcel")
    path = tmp_path / "t.xlsx"
    with pytest.importorskip("xlsxwriter").Workbook(path) as book:
        FRAME.write_excel(book, worksheet="2023")
        FRAME.reverse().write_excel(book, worksheet="2024")
    with pytest.warns(ReadAsWarning, match=r"the sheet '2023' of 't\.xlsx' is read; sheet= names"):
        assert Predictions.read(path, label="y").probs[0, 0] == FRAME["p_a"][0]
    assert Predictions.read(path, label="y", sheet="2024").probs[0, 0] == FRAME["p_a"][-1]
    with pytest.raises(InvalidInput, match="sheet must be one of '2023', '2024'; got '2025'"):
        Predictions.read(path, label="y", sheet="2025")
    rows = pl.DataFrame({"y": ["a", None, "b"], "p": [0.5, None, 1.5]})  # one of them is blank
    rows.write_excel(path)
    with pytest.raises(
        InvalidInput, match=r"got 1\.5 at row 2, blank ones aside, below the header"
    ):
        Predictions.read(path, label="y", probs="p")


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_folder_is_read_with_its_folders_as_columns(tmp_path, suffix):
    """By `Predictions.read` and by the engines; an error names the row and its file."""
    for day, site in ((1, "a"), (2, "b c")):
        folder = tmp_path / "all" / f"day={day}" / f"site={site.replace(' ', '%20')}"
        folder.mkdir(parents=True)
        files.write_table(FRAME, folder / f"{day}.{suffix}", file_format=suffix)
    (tmp_path / "all" / "_SUCCESS").touch()
    read = Predictions.read(tmp_path / "all", label="y", groups=["day", "site"])
    assert read.groups.tolist() == ["1, a"] * 3 + ["2, b c"] * 3
    asked = {"label": "y", "test": "brier", "n_resamples": 9, "rng": 0, "by": "site"}
    for engine in ("rows", "cells"):
        table = ct.test_calibration(None, str(tmp_path / "all"), engine=engine, **asked)
        assert [row.group for row in table.rows] == ["a", "b c"]
    wrong = FRAME.with_columns(p_a=pl.Series([0.7, 0.2, 0.6]))
    files.write_table(wrong, folder / f"2.{suffix}", file_format=suffix)
    where = "line 4 of 2.csv" if suffix == "csv" else "row 3 of 2.parquet"
    for read_it in (
        lambda: Predictions.read(tmp_path / "all", label="y"),
        lambda: ct.test_calibration(tmp_path / "all", label="y", engine="rows"),
    ):
        with pytest.raises(InvalidInput, match=rf"a sum of 1.1 at {where};"):
            read_it()


def test_raw_table_keeps_the_text_of_csv(tmp_path):
    """And reads numbers that are no codes."""
    path = tmp_path / "t.csv"
    path.write_text("id,x,note\n007,0.10,\n8,NA,b\n")
    raw = files.raw_table(path)
    assert raw.rows() == [("007", "0.10", None), ("8", "NA", "b")]
    typed = files.raw_table(path, as_text=False)
    assert typed["id"].to_list() == ["007", "8"]
    assert typed["x"].to_list() == [0.10, None]
    path.write_text("k,x,code\n0,0.10,00\n-10,01.5,-01\n")
    raw = files.raw_table(path, as_text=False)
    assert raw.rows() == [(0, 0.1, "00"), (-10, 1.5, "-01")]


def test_text_is_compressed_where_the_name_says_so(tmp_path):
    """The same table gives the same bytes."""
    path = tmp_path / "t.tsv.gz"
    files.write_table(FRAME, path, file_format="tsv")
    first = path.read_bytes()
    assert gzip.decompress(first).splitlines()[0] == b"y\tp_a\tp_b"
    files.write_table(FRAME, path, file_format="tsv")
    assert path.read_bytes() == first
    assert files.raw_table(path, as_text=False).equals(FRAME)


@pytest.mark.parametrize(
    ("file_format", "value", "got"),
    [
        ("csv", pl.lit([["a"]] * 3), r"a CSV file must be plain values; got 'x' of type List\("),
        ("tsv", pl.duration(seconds=1), "a TSV file must be plain values; got 'x' of type Durat"),
        ("jsonl", pl.lit(b"a"), "a JSON file must be plain values; got 'x' of type Binary"),
        ("excel", pl.lit(b"a"), "an Excel file must be plain values; got 'x' of type Binary"),
        (
            "excel",
            pl.lit(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
            "an Excel file must be plain values; got 'x' of type Datetime",
        ),
        ("npz", pl.lit(1).cast(pl.Int128), "must be numbers or whole text; got 'x' of type Int128"),
    ],
)
def test_columns_that_a_format_cannot_hold_are_refused(file_format, value, got):
    """The message names the column and a format that can."""
    frame = FRAME.with_columns(x=value)
    with pytest.raises(InvalidInput, match=rf"{got}.*; write Parquet"):
        files.write_table(frame, io.BytesIO(), file_format=file_format)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a.csv", "csv"),
        ("A.TSV.GZ", "tsv"),
        ("a.ipc", "feather"),
        ("a.ndjson", "jsonl"),
        ("a.parquet.gz", None),
        ("a", None),
    ],
)
def test_format_is_that_of_the_suffix(name, found):
    """Capitals count as small letters; only text may be compressed."""
    assert files.format_of(name) == found


def test_npz_holds_no_missing_text_and_one_or_two_dimensions():
    arrays = {"probs": np.ones((2, 2))}
    with pytest.raises(InvalidInput, match=r"got 'probs' of shape \(2, 2\); write an NPZ file"):
        files.write_table(arrays, io.BytesIO(), file_format="csv")
    frame = pl.DataFrame({"note": ["a", None]})
    with pytest.raises(InvalidInput, match=r"got 'note' of type String, 1 missing; write Parquet"):
        files.write_table(frame, io.BytesIO(), file_format="npz")


def test_folder_without_tables_is_none(tmp_path):
    """Nor is one with tables of several formats, of which the message names the pattern."""
    with pytest.raises(InvalidInput, match=r"got '.*', a folder with no table; check"):
        files.table_of_file(tmp_path)
    for name in ("a.csv", "b.parquet"):
        files.write_table(FRAME, tmp_path / name, file_format=files.format_of(name))
    with pytest.raises(InvalidInput, match=r"with files of csv, parquet; pass a pattern, '.*csv'"):
        files.table_of_file(tmp_path)


def test_truncated_gzip_is_no_valid_file(tmp_path):
    """It is no error of the system."""
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"y,p_a,p_b\n" + b"a,0.5,0.5\n" * 100)[:-20])
    with pytest.raises(InvalidInput, match="must be a valid"):
        Predictions.read(path, label="y")


@pytest.mark.cases(2, full=12)
@pytest.mark.parametrize("name", ["q[1]", "star*", "w?", "~/h", "d[1]/x"])
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "parquet", "feather", "jsonl", "npz"])
def test_path_that_is_there_is_opened_as_it_is(tmp_path, monkeypatch, name, suffix):
    """Beside what its name would match as a pattern, a file is itself, by every way of reading."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    other = {"q[1]": "q1", "star*": "stars", "w?": "wx", "~/h": "home/h", "d[1]/x": "d1/x"}[name]
    for path, rows in ((name, 3), (other, 5)):
        file = Path(f"{path}.{suffix}")
        file.parent.mkdir(exist_ok=True)
        table = pl.DataFrame({"p": [0.5] * rows, "y": [0, 1, *[0] * (rows - 2)]})
        files.write_table(table, file, file_format=suffix.removesuffix(".gz"))
    assert ct.Predictions.read(f"{name}.{suffix}", label="y", probs="p").n == 3
    if suffix != "npz":
        for given in (f"{name}.{suffix}", [Path(f"{name}.{suffix}")]):
            for engine in ("rows", "cells"):
                options = {"label": "y", "probs": "p", "test": "brier", "n_resamples": 9}
                assert ct.test_calibration(None, given, engine=engine, rng=0, **options).n == 3


def test_json_that_python_writes_is_read(tmp_path):
    """A NaN is missing in its line, blank ones counted; what is broken is named by its line."""
    path = tmp_path / "rows.jsonl"
    lines = ['{"y": 1, "p": 0.5}', "", "", '{"y": 0, "p": 0.25}', '{"y": 0, "p": NaN}']
    for last, message in ((lines[4], "missing; got nan at line 5;"), ('{"y":', "line 5 column 6")):
        path.write_text("\n".join([*lines[:4], last]))
        with pytest.raises(InvalidInput, match=message):
            Predictions.read(path, label="y", probs="p")
    rows = [{"y": 1, "p": 0.5}, {"y": 0, "p": 1.5}]
    for text in ("\n".join(json.dumps(row, indent=1) for row in rows), json.dumps(rows, indent=1)):
        path.write_text(text)  # no line is a row
        with pytest.raises(InvalidInput, match=r"1\.5 at row 2 of the file"):
            Predictions.read(path, label="y", probs="p")
