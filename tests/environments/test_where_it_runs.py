"""Threads, processes, an installation that nothing can be written to, encodings, line ends."""

import gzip
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import caltest as ct

NAMES = np.array(["漢字", "é", "naïve😀"])
DATA = [ct.datasets.generative_model("M2", n=120, m=3, rng=seed) for seed in range(4)]


MAPS = (
    ct.calibrators.TemperatureScaling(),
    ct.calibrators.OneVsRest(ct.calibrators.IsotonicCalibrator()),
    ct.calibrators.SplineCalibrator(),
    ct.calibrators.DirichletCalibrator(),
)


def calls():
    """Return calls of many kinds, each with its seed."""
    for data in DATA:
        for test in ("combined", "skce", "ece", "kce", "log-loss"):
            yield partial(ct.test_calibration, data, test=test, n_resamples=49, rng=1)
        yield partial(ct.test_calibration, data, test="calibration-belt", lens="confidence", rng=1)
        yield partial(ct.test_calibration, data, lens="classwise", n_resamples=49, rng=1)
        yield partial(ct.verdict, data, n_resamples=49, rng=1)
        yield from (partial(clone(one).fit, data) for one in MAPS)


def told(result):
    """Say all that a result or a map holds."""
    return json.dumps(result.to_dict(), sort_keys=True, default=str)


def answers(pool=None):
    run = map if pool is None else pool.map
    return [told(result) for result in run(lambda call: call(), list(calls()))]


@pytest.mark.full
def test_eight_threads_at_once_give_the_answers_of_one():
    """In an order that the threads choose."""
    alone = answers()
    with ThreadPoolExecutor(8) as pool:
        assert answers(pool) == alone


CALL = partial(ct.test_calibration, n_resamples=49, rng=1)


def pvalues(found):
    return [result.pvalue for result in found]


# Python 3.12 warns of a fork where there are threads, which NumPy and polars have.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_processes_give_the_answers_of_one(method):
    """After this one has computed, and has threads; nothing hangs."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    expected = pvalues(map(CALL, DATA))
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pvalues(pool.map_async(CALL, DATA).get(timeout=120)) == expected


@pytest.mark.parametrize("backend", [pytest.param("loky", marks=pytest.mark.full), "threading"])
def test_joblib_gives_the_answers_of_one_process(backend):
    run = joblib.Parallel(n_jobs=2, backend=backend)
    found = run(joblib.delayed(CALL)(data) for data in DATA)
    assert [told(one) for one in found] == [told(CALL(data)) for data in DATA]


def python(*arguments, cwd, **environment):
    """Run Python with another environment; return what it wrote."""
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    where = str(Path(ct.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        env=kept | {"PYTHONPATH": where} | environment,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


@pytest.mark.full
def test_installation_that_cannot_be_written_to_compiles_anew(tmp_path):
    """Without a home, too: numba has nowhere to keep what it compiles, and says nothing."""
    installed = tmp_path / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(ct.__file__).parent, installed / "caltest", ignore=ignored)
    for folder in [installed / "caltest", *(installed / "caltest").rglob("*/")]:
        # A file in its place: not even root can make the folder.
        (folder / "__pycache__").touch()
    code = (
        "import caltest as ct; data = ct.datasets.generative_model('M2', n=120, m=3, rng=0);"
        "print(ct.test_calibration(data, test='skce', n_resamples=49, rng=1).pvalue)"
    )
    status, out, err = python(
        "-W", "error", "-c", code, cwd=tmp_path, PYTHONPATH=str(installed), HOME=os.devnull
    )
    assert (status, err) == (0, "")
    expected = ct.test_calibration(DATA[0], test="skce", n_resamples=49, rng=1).pvalue
    assert float(out) == expected


@pytest.fixture
def table(tmp_path):
    """Write probabilities of classes whose names few encodings have."""
    data = DATA[0]
    columns = {f"p_{name}": data.probs[:, k] for k, name in enumerate(NAMES)}
    path = tmp_path / "rows.csv"
    pl.DataFrame({"y": NAMES[data.labels], **columns}).write_csv(path)
    return path


ASKED = ("--label", "y", "--probs", "p_", "--n-resamples", "49", "--seed", "1")


def written(table, encoding, *asked):
    """Return what a terminal of an encoding is sent."""
    elsewhere = {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    asked = ("test", table, *ASKED, "--lens", "classwise", *asked)
    status, out, err = python("-m", "caltest", *asked, cwd=table.parent, **elsewhere)
    assert (status, err) == (0, "")
    return out.decode(encoding)


@pytest.mark.full
def test_terminal_of_any_encoding_is_written_to(table):
    """Names that it has not are escaped; JSON means the same."""
    assert r"classwise[\u6f22\u5b57]" in written(table, "latin-1")
    rows = json.loads(written(table, "ascii", "--format", "json"))["rows"]
    assert {row["lens"] for row in rows} == {f"classwise[{name}]" for name in NAMES}


@pytest.mark.full
def test_files_are_utf_8_whatever_the_locale_is(table):
    """A page and a map that are written under Latin-1 are read elsewhere."""
    elsewhere = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1", "LC_ALL": "C"}
    for command in (
        ("report", table, *ASKED, "-o", "page.html"),
        ("calibrate", "fit", table, *ASKED[:4], "--method", "temperature", "-o", "map.json"),
    ):
        assert python("-m", "caltest", *command, cwd=table.parent, **elsewhere)[0] == 0
    assert "漢字" in (table.parent / "page.html").read_text(encoding="utf-8")
    saved = (table.parent / "map.json").read_text(encoding="utf-8")
    assert ct.calibrators.TemperatureScaling.from_json(saved).classes_.tolist() == NAMES.tolist()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "csv.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte-order mark"])
def test_lines_may_end_as_on_windows(suffix, mark, table):
    """With a byte-order mark before a table, as Excel writes it."""
    if mark and suffix == "jsonl":
        pytest.skip("JSON has no byte-order mark")
    frame = pl.read_csv(table)
    separator = "\t" if suffix == "tsv" else ","
    text = frame.write_ndjson() if suffix == "jsonl" else frame.write_csv(separator=separator)
    content = mark + text.encode().replace(b"\n", b"\r\n")
    path = table.with_name(f"windows.{suffix}")
    path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    found = ct.Predictions.read(path, label="y", probs="p_")
    expected = ct.Predictions.read(table, label="y", probs="p_")
    np.testing.assert_array_equal(found.probs, expected.probs)
    assert found.classes.tolist() == expected.classes.tolist()


def test_paths_of_windows_are_names_elsewhere(table, monkeypatch):
    """A backslash is a letter here, and separates folders there; both are found."""
    monkeypatch.chdir(table.parent)
    (table.parent / "data").mkdir()
    written = "data\\rows.csv"
    Path(written).write_bytes(table.read_bytes())
    assert ct.Predictions.read(written, label="y", probs="p_").n == DATA[0].n
