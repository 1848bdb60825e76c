"""`caltest calibrate apply`: every column stays, calibrated ones come behind, mistakes are said."""

import io
import json
import sys

import numpy as np
import polars as pl
import pytest

from caltest import Forecasts
from caltest.calibrators import Calibrator, ForecastCalibrator, TemperatureScaling
from caltest.cli.app import run
from caltest.predictions import files

pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")

NEW = """\
id,p_bee,note,p_cat,p_ant,when
007,0.2,"a, ""b"" c",0.1,0.7,2026-01-02
08,0.50,,0.25,0.25,
"""
PROBS = np.array([[0.7, 0.2, 0.1], [0.25, 0.5, 0.25]])
ADDED = ["calibrated_ant", "calibrated_bee", "calibrated_cat"]


@pytest.fixture
def map_json(caltest, predictions_csv, tmp_path):
    """Write a temperature map of the three classes."""
    path = tmp_path / "map.json"
    words = ("--label", "y", "--method", "temperature", "-q", "-o", path)
    assert caltest("calibrate", "fit", predictions_csv, *words) == (0, "", "")
    return path


@pytest.fixture
def new_csv(tmp_path):
    """Write two rows without labels, their columns in another order."""
    path = tmp_path / "new.csv"
    path.write_text(NEW, encoding="utf-8")
    return path


@pytest.fixture
def expected(map_json):
    """Return the calibrated probabilities of the two rows."""
    return Calibrator.from_json(map_json.read_text(encoding="utf-8")).predict_proba(PROBS)


def apply(caltest, *words):
    """Run the command and return what it left on standard output."""
    finished = caltest("calibrate", "apply", *words)
    assert (finished.status, finished.err) == (0, "")
    return finished.out


def test_every_column_stays_as_it_is(caltest, map_json, new_csv, expected):
    """Order, leading zeros, trailing zeros, quotes and gaps; the new columns are last."""
    lines = apply(caltest, map_json, new_csv).splitlines()
    for before, after, row in zip(NEW.splitlines()[1:], lines[1:], expected, strict=True):
        assert after == f"{before},{','.join(repr(float(value)) for value in row)}"
    assert lines[0] == f"{NEW.splitlines()[0]},{','.join(ADDED)}"


FORMATS = ("csv", "tsv", "parquet", "feather", "jsonl", "npz")


def written(tmp_path, name):
    """Write the probabilities of the two rows in a format."""
    frame = pl.DataFrame(dict(zip(("p_ant", "p_bee", "p_cat"), PROBS.T, strict=True)))
    path = tmp_path / f"in.{name}"
    files.write_table(frame, path, file_format=name)
    return path


def assert_calibrated(path, expected):
    """Compare the new columns of a file, which are its last, with what is expected."""
    table = files.table_of_file(path)
    assert list(table.names) == ["p_ant", "p_bee", "p_cat", *ADDED]
    np.testing.assert_array_equal(np.column_stack([table.column(c) for c in ADDED]), expected)


@pytest.mark.parametrize("name", [*FORMATS, "csv.gz"])
def test_file_of_any_format_is_written_in_it(caltest, map_json, expected, tmp_path, name):
    """By the suffixes of the two files."""
    out = tmp_path / f"out.{name}"
    apply(caltest, map_json, written(tmp_path, name.removesuffix(".gz")), "-o", out)
    assert (out.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    assert_calibrated(out, expected)


@pytest.mark.parametrize("name", FORMATS)
def test_stream_of_any_format_is_written_in_it(map_json, expected, stdin, monkeypatch, name):
    """From standard input to standard output, bytes where the format is no text."""
    out = map_json.parent / f"out.{name}"
    stdin(written(map_json.parent, name).read_bytes())
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
        run(["calibrate", "apply", str(map_json), "-", "--input-format", name])
        out.write_bytes(sys.stdout.buffer.getvalue())
    assert_calibrated(out, expected)


def test_types_of_parquet_stay(caltest, map_json, tmp_path):
    """Dates, categories and small integers are what they were."""
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame = pl.read_csv(NEW.encode(), try_parse_dates=True).with_columns(
        pl.col("id").cast(pl.Int16), pl.col("note").cast(pl.Categorical)
    )
    frame.write_parquet(path)
    apply(caltest, map_json, path, "-o", out)
    assert pl.read_parquet(out).drop(ADDED).equals(frame)
    assert pl.read_parquet(out).drop(ADDED).schema == frame.schema


def test_codes_keep_their_zeros_in_a_format_with_types(caltest, map_json, new_csv, tmp_path):
    """Read from CSV, "007" is no number; what is one is."""
    out = tmp_path / "out.parquet"
    apply(caltest, map_json, new_csv, "-o", out)
    frame = pl.read_parquet(out)
    assert frame["id"].to_list() == ["007", "08"]
    assert frame["p_bee"].to_list() == [0.2, 0.5]


def test_matrix_of_npz_gets_a_matrix(caltest, predictions_csv, tmp_path):
    """One array (n, m) gives another beside it."""
    table = pl.read_csv(predictions_csv)
    probs = table.select(pl.col("^p_.*$")).to_numpy()
    path, out = tmp_path / "in.npz", tmp_path / "out.npz"
    np.savez(path, probs=probs, y=table["y"].to_numpy().astype(str))
    words = ("--label", "y", "--classes", "ant,bee,cat", "--method", "temperature", "-q")
    caltest("calibrate", "fit", path, *words, "-o", tmp_path / "map.json")
    apply(caltest, tmp_path / "map.json", path, "-o", out)
    with np.load(out) as arrays:
        assert list(arrays) == ["probs", "y", "calibrated"]
        assert arrays["calibrated"].shape == probs.shape


def test_single_column_gets_a_single_column(caltest, tmp_path):
    """The probability of the second of two classes, before and after."""
    path, out = tmp_path / "risk.csv", tmp_path / "map.json"
    path.write_text("died,risk\n" + "0,0.2\n1,0.7\n1,0.4\n0,0.5\n" * 5)
    words = ("--label", "died", "--probs", "risk", "--method", "platt", "-q", "-o", out)
    assert caltest("calibrate", "fit", path, *words).status == 0
    header, first = apply(caltest, out, path).splitlines()[:2]
    assert header == "died,risk,calibrated_1"
    values = json.loads(out.read_text(encoding="utf-8"))
    expected = Calibrator.from_dict(values).predict_proba([0.2])[0, 1]
    assert float(first.split(",")[2]) == expected


def test_columns_may_have_other_names(caltest, map_json, expected, tmp_path):
    """A prefix matches the classes by name, in any order; a list is in their order."""
    path = tmp_path / "new.csv"
    path.write_text("q_cat,q_ant,q_bee\n0.1,0.7,0.2\n")
    for probs in ("q_", "q_ant,q_bee,q_cat"):
        row = apply(caltest, map_json, path, "--probs", probs).splitlines()[1]
        assert [float(value) for value in row.split(",")[3:]] == expected[0].tolist()


def test_map_of_python_is_applied(caltest, new_csv, tmp_path, expected):
    """What `to_json` wrote has no names of columns: those of the classes are taken."""
    path = tmp_path / "python.json"
    labels = ["ant", "bee", "cat", "ant"]
    probs = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6], [0.4, 0.3, 0.3]]
    fitted = TemperatureScaling().fit(probs, labels)
    path.write_text(fitted.to_json(), encoding="utf-8")
    row = apply(caltest, path, new_csv).splitlines()[1]
    values = fitted.predict_proba(PROBS)[0]
    assert [float(value) for value in row.split(",")[-3:]] == values.tolist()


def test_result_can_be_tested(caltest, map_json, predictions_csv, tmp_path):
    """The new columns are what `caltest test` reads under the prefix that was chosen."""
    out = tmp_path / "out.csv"
    apply(caltest, map_json, predictions_csv, "--prefix", "q_", "-o", out)
    words = ("--label", "y", "--probs", "q_", "--n-resamples", "9", "--seed", "1")
    finished = caltest("test", out, *words)
    assert "out.csv (n = 8, m = 3)" in finished.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("MAP", "no.csv"), "FILE must name a file; got 'no.csv'"),
        (("no.json", "NEW"), "MAP must name a file; got 'no.json'; fit one with caltest calibrate"),
        (("MAP", "NEW", "--prefix", "p_"), "columns that are added must have new names"),
        (("MAP", "NEW", "-o", "NEW"), "--output must not be a file that is read"),
        (("MAP", "NEW", "-o", "MAP"), "--output must not be a file that is read"),
        (("MAP", "NEW", "-o", "out.pdf"), "--output must end in .csv"),
        (("MAP", "NEW", "--format", "xlsx"), "--format must be one of"),
        (("MAP", "NEW", "--probs", "q_"), "--probs must be a column or the prefix"),
        (("MAP", "NEW", "--probs", "p_ant,p_bee"), "a column for each of the 3 classes"),
        (("MAP", "LOGITS"), "got 2.5 at line 2, class 'ant'; pass probabilities, as in"),
        (("NEW", "NEW"), "must be JSON"),
        (("MAP", "OTHER"), "NEW must have the columns of the fit, 'p_ant', 'p_bee', 'p_cat'"),
        (("MAP", "OTHER", "--probs", "p_"), "columns of --probs must be those of the classes"),
    ],
)
def test_mistake_is_one_line(refused, map_json, new_csv, words, message):
    """Status 2, one line on stderr, and no file is written or changed."""
    folder = new_csv.parent
    other = folder / "other.csv"
    other.write_text("p_dog,p_emu,p_fox\n0.2,0.3,0.5\n")
    logits = folder / "logits.csv"
    logits.write_text("p_ant,p_bee,p_cat\n2.5,-1,0\n")
    places = {"MAP": map_json, "NEW": new_csv, "OTHER": other, "LOGITS": logits}
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert message in refused("calibrate", "apply", *(places.get(word, word) for word in words))
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "caltest/calibration-map/2"}, "use the version of caltest that wrote it"),
        ({"schema": "caltest/htest/1"}, "must be of the schema caltest/calibration-map/1"),
        ({"state": {}}, "MAP must be a calibration map; got 'map.json' without a fitted"),
        ({"calibrator": "temprature"}, "did you mean 'temperature'?"),
        ({"state": {"temperature_": 2.0}}, "state of temperature must have the key 'classes_'"),
        ({"temperature_": "warm"}, "temperature_ must be of the type number; got 'warm'"),
        ({"temperature_": None}, "temperature_ must be of the type number; got None"),
        ({"data": {"columns": 5}}, "MAP 'map.json'.data must have the key 'label'"),
        ({"columns": "p_ant"}, "data.columns must be of the type array; got 'p_ant'"),
        ({"n_features_in_": 4}, "3 classes for 4 columns"),
        ({"options": {"from_logits": False, "lam": 1}}, "values must be those of to_dict"),
    ],
)
def test_damaged_map_is_one_line(refused, map_json, new_csv, change, message):
    """Another version, another kind of JSON, or values that do not fit together."""
    values = json.loads(map_json.read_text(encoding="utf-8"))
    for name, value in change.items():
        part = "state" if name.endswith("_") else "data" if name == "columns" else None
        (values[part] if part else values)[name] = value
    map_json.write_text(json.dumps(values), encoding="utf-8")
    assert message in refused("calibrate", "apply", map_json, new_csv)


@pytest.mark.parametrize("name", ["csv", "csv.gz", "parquet", "feather", "jsonl", "npz"])
def test_full_disk_leaves_the_old_file_alone(caltest, map_json, tmp_path, name):
    """Calibrated predictions take the place of what was there when they are all written."""
    resource = pytest.importorskip("resource")
    new, old = tmp_path / "new.parquet", tmp_path / f"old.{name}"
    random = np.random.default_rng(0).dirichlet([1, 1, 1], 3000)
    pl.DataFrame(random, schema=["p_ant", "p_bee", "p_cat"]).write_parquet(new)
    old.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        finished = caltest("calibrate", "apply", map_json, new, "-o", old)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (finished.status, old.read_bytes()) == (2, b"old")
    assert finished.err.startswith("caltest: ")
    assert f"old.{name}" in finished.err
    assert finished.err.count("\n") == 1
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", ["gaussian", "members", "quantiles"])
@pytest.mark.parametrize("method", ["variance-scaling", "beta-pit"])
def test_maps_of_forecasts_add_what_they_forecast(caltest, tmp_path, kind, method):
    """The columns of the calibrated laws are those of Python; they are forecasts of their own."""
    rng = np.random.default_rng(0)
    mean, path, out = rng.normal(size=80), tmp_path / "rows.csv", tmp_path / "out.csv"
    sizes = {"members": "m_1 m_2 m_3", "quantiles": "q_0.1 q_0.5 q_0.9"}.get(kind, "").split()
    columns = {name: mean + shift for name, shift in zip(sizes, (-1.0, 0.0, 1.0), strict=False)}
    columns = columns or {"mu": mean, "sd": np.ones(80)}
    frame = pl.DataFrame({**columns, "y": mean + 2 * rng.normal(size=80)})
    frame.write_csv(path)
    named = {"members": "m_", "quantiles": "q_"}.get(kind, "mu")
    given = {"mean": "mu", "scale": "sd"} if kind == "gaussian" else {kind: named}
    words = [word for name, value in given.items() for word in (f"--{name}", value)]
    file = tmp_path / "map.json"
    told = ("--label", "y", "--method", method, "-o", file, "-q")
    assert caltest("calibrate", "fit", path, *words, *told).status == 0
    saved = json.loads(file.read_text())
    assert (saved["schema"], saved["data"]["columns"]) == ("caltest/forecast-map/1", given)
    assert caltest("calibrate", "apply", file, path, "-o", out, "-q").status == 0
    fitted = ForecastCalibrator.from_dict(saved)
    law = fitted.transform(Forecasts.from_frame(frame, label="y", **given)).law
    found = pl.read_csv(out)
    assert found.columns == [*frame.columns, *(f"calibrated_{name}" for name in law.columns)]
    for name, values in law.columns.items():
        np.testing.assert_allclose(found[f"calibrated_{name}"], values, rtol=1e-12)
    assert "--probs has no effect" in caltest("calibrate", "apply", file, path, "--probs", "m").err
