"""Rows by chunks: the same answer for any chunks, order and engine; the sums are those of rows."""

import functools
import io
import os
import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest import test_calibration as calibration_test
from caltest.kernels.features import Features
from caltest.numerics.labels import content_hashes
from caltest.sources import chunks, readings

P = ["p.0", 'p "1"', "p 2"]
ASKED = {"label": "y", "probs": P, "test": "skce", "engine": "chunks"}


def frame(n=3000, seed=3, *, digits=None, power=1.0):
    """Return predictions of three classes; rounded ones have many equals."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 2], n)
    if digits is not None:
        p = np.round(p, digits)
        p[:, 2] = 1 - p[:, 0] - p[:, 1]
        p = np.clip(p, 0, 1)
    q = p**power / (p**power).sum(axis=1, keepdims=True)
    y = np.minimum((rng.random((n, 1)) > q.cumsum(axis=1)).sum(axis=1), 2)
    return pl.DataFrame({"y": y, **{name: p[:, k] for k, name in enumerate(P)}})


def answer(data, **options):
    """Return the statistic and all of the null distribution."""
    result = calibration_test(None, data, **ASKED | {"n_resamples": 39, "rng": 1} | options)
    return result.n, result.statistic, result.null_distribution.tolist()


# ---- what is computed ---------------------------------------------------------------------------


def test_statistic_is_that_of_the_features():
    """The mean over all pairs i < j of the approximated kernel times the residuals."""
    data = frame(300)
    p, y = data[P].to_numpy(), data["y"].to_numpy()
    different = p[np.argsort(content_hashes(p))]
    residuals = np.eye(3)[y] - p
    kernel = Features.of(ct.kernels.Exponential(), different).products(p)
    h = kernel * (residuals @ residuals.T)
    expected = (h.sum() - np.trace(h)) / (300 * 299)
    assert answer(data)[1] == pytest.approx(expected, abs=1e-8)
    biased = answer(data, estimator="biased")[1]
    assert biased == pytest.approx(h.mean(), abs=1e-8)


def test_up_to_32_different_predictions_are_those_of_all_pairs():
    """The features are exact, so that the statistic is that of the rows."""
    few = frame(30)
    some = few[np.random.default_rng(0).integers(0, 30, 400).tolist()]
    kernel = ct.kernels.Exponential(bandwidth=0.3)
    by_rows = calibration_test(None, some, **ASKED | {"engine": "rows"}, kernel=kernel, rng=1)
    assert answer(some, kernel=kernel)[1] == pytest.approx(by_rows.statistic, abs=1e-6)


@pytest.mark.parametrize("digits", [None, 1], ids=["different", "equal"])
def test_null_distribution_is_that_of_the_rows(digits):
    """Mean 0, and the deviation of the labels of rows that are independent, equal or not."""
    data = frame(1000, digits=digits)
    by_rows = calibration_test(None, data, **ASKED | {"engine": "rows"}, rng=1, n_resamples=999)
    drawn = np.array(answer(data, n_resamples=999)[2])
    deviation = by_rows.null_distribution.std()
    assert drawn.std() == pytest.approx(deviation, rel=0.2)
    assert abs(drawn.mean()) < 4 * deviation / np.sqrt(999)


@pytest.mark.full
def test_what_the_features_leave_out_is_printed():
    """With its standard error, in which the difference to all pairs lies."""
    data = frame(2000, power=0.6)
    kernel = ct.kernels.Exponential(bandwidth=0.4)
    result = calibration_test(None, data, **ASKED, kernel=kernel, rng=1)
    by_rows = calibration_test(None, data, **ASKED | {"engine": "rows"}, kernel=kernel, rng=1)
    left_out, error = result.parameters["left out by features"].rstrip(")").split(" (SE ")
    missing = by_rows.statistic - result.statistic
    assert float(left_out) == pytest.approx(missing, rel=0.06)  # all rows are in the sample
    assert float(error) < 1e-4
    assert "features = 32" in str(result)
    assert result.pvalue == by_rows.pvalue == 0.001


def test_components_are_those_of_the_rows():
    """All, with their findings; the SKCE is that of other features, times n - 1."""
    data = frame(2000, power=0.8)
    options = ASKED | {"test": "combined"}
    by_rows = calibration_test(None, data, **options | {"engine": "rows"}, rng=1)
    result = calibration_test(None, data, **options, rng=1)
    expected = {row.test: row for row in by_rows.components}
    found = {row.test: row for row in result.components}
    assert set(found) == set(expected)
    kinds = "temperature", "line", "tenths", "waves", "fine"
    in_cells = {"class-curves", *(f"confidence-{kind}" for kind in kinds)}
    for key in set(found) - {"skce"}:
        near = 0.1 if key in in_cells else 1e-4
        assert found[key].statistic == pytest.approx(expected[key].statistic, rel=near)
        assert found[key].pvalue == pytest.approx(expected[key].pvalue, abs=0.06)
    for key in ("class-frequencies", "class-slopes", "confusions", "ranks"):
        assert found[key].parameters["finding"] == expected[key].parameters["finding"]
    temperature = expected["temperature"].estimate
    assert found["temperature"].estimate == pytest.approx(temperature, abs=0.05)
    assert found["skce"].estimate == pytest.approx(expected["skce"].estimate, rel=0.1)
    assert result.pvalue == by_rows.pvalue == 0.001


def test_calibrated_rows_have_no_components_that_stand_out():
    """Nor have two rows, or rows that are all but certain."""
    data = frame(1500, seed=8)
    assert calibration_test(None, data, **ASKED | {"test": "combined"}, rng=1).pvalue > 0.05
    assert calibration_test(None, data[:2], **ASKED | {"test": "combined"}, rng=1).pvalue > 0.05
    certain = pl.DataFrame({"y": [0, 1], P[0]: [1.0, 0.0], P[1]: [0.0, 1.0], P[2]: [0.0, 0.0]})
    assert calibration_test(None, certain, **ASKED | {"test": "combined"}, rng=1).pvalue == 1.0


# ---- what does not matter -----------------------------------------------------------------------


@functools.cache
def answered(digits, test):
    """Return rows of so many digits, and what is said of them at once."""
    data = frame(600, digits=digits)
    return data, answer(data, test=test)


@settings.get_profile("few")
@given(
    cuts=st.lists(st.integers(0, 600), max_size=6),
    size=st.integers(40, 700),
    seed=st.integers(0, 99),
    digits=st.sampled_from([None, 1, 2]),
    test=st.sampled_from(["skce", "combined"]),
)
def test_neither_chunks_nor_order_matter(cuts, size, seed, digits, test):
    """To the last digit, rows with equals among them."""
    data, expected = answered(digits, test)
    shuffled = data.sample(fraction=1.0, shuffle=True, seed=seed)
    edges = [0, *sorted(cuts), 600]
    parts = (shuffled[a:b] for a, b in pairwise(edges))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "ROWS", size)
        patch.setattr(chunks, "MERGED", 2)
        assert answer(parts, test=test) == expected


def test_threads_do_not_matter():
    assert answer(frame(500), n_resamples=200, n_jobs=2) == answer(frame(500), n_resamples=200)


def test_more_rows_than_are_known_are_told_apart_by_their_chunk(monkeypatch):
    """Equal rows still have labels of their own; the chunks then matter."""
    data = frame(1000, digits=1)
    deviation = np.std(answer(data, n_resamples=499)[2])
    monkeypatch.setattr(chunks, "KNOWN", 500)
    monkeypatch.setattr(chunks, "ROWS", 100)
    drawn = answer(data, n_resamples=499)
    assert np.std(drawn[2]) == pytest.approx(deviation, rel=0.2)
    assert answer(data, n_resamples=499) == drawn
    monkeypatch.setattr(chunks, "ROWS", 200)
    assert answer(data, n_resamples=499)[1] == drawn[1]
    assert answer(data, n_resamples=499)[2] != drawn[2]


class Heard:
    """Keeps what progress it was told."""

    def __init__(self):
        self.calls = []

    def __call__(self, done, total):
        self.calls.append((done, total))


def check_progress(calls, total, most):
    """Check that numbers of rows grow up to all of them, in so many steps at most."""
    done = [rows for rows, _ in calls]
    assert done == sorted(set(done))
    assert calls[-1] == (total, total)
    assert {rows for _, rows in calls} == {total}
    assert 1 <= len(calls) <= most


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_dask_tells_the_rows_of_each_partition_that_is_done():
    """Its threads, here; workers of a cluster below."""
    dask_frame = pytest.importorskip("dask.dataframe")
    data, heard = frame(900), Heard()
    rows = dask_frame.from_pandas(data.to_pandas(), npartitions=3)
    assert answer(rows, progress=heard) == answer(data)
    assert heard.calls == [(300, 900), (600, 900), (900, 900)]


def test_unit_that_is_done_twice_is_told_once():
    """As where a worker dies after its work."""
    more = []
    told = readings.RowsDone({(0, 0): 5, (0, 1): 7}, more.append)
    for unit in ((0, 1), (0, 1), (0, 0), (3, 3)):
        told.unit(unit)
    told.upto(12)
    assert more == [7, 5]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_dask_cluster_of_two_processes_of_which_one_is_killed(in_dask):
    """A worker that is killed by its id, in the middle, changes nothing."""
    data, heard = frame(digits=2), Heard()
    assert answer(in_dask(data, kills=True)) == answer(data)
    whole = in_dask(data, kills=False)
    assert answer(whole, test="combined", progress=heard) == answer(data, test="combined")
    check_progress(heard.calls, data.height, 6)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_spark(spark):
    data, heard = frame(digits=2), Heard()
    rows = spark.createDataFrame(data.to_pandas()).repartition(9)
    assert answer(rows, progress=heard) == answer(data)
    check_progress(heard.calls, data.height, 9)


# ---- what is wrong ------------------------------------------------------------------------------


def broken(name, value):
    """Return rows of which two have a wrong value."""
    at = pl.int_range(pl.len())
    wrong = pl.when(at.is_in([5, 50])).then(pl.lit(value)).otherwise(pl.col(name))
    return frame(100).with_columns(wrong.alias(name))


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        (P[0], None, "probability that is missing"),
        (P[0], float("nan"), "probability that is missing"),
        (P[1], 1.5, "probability outside [0, 1]"),
        (P[2], 0.987654, "probabilities whose sum is not 1"),
        ("y", None, "label that is missing"),
        ("y", 7, "label that is none of the classes"),
    ],
)
def test_error_names_part_and_rule(name, value, what):
    """Of rows that are wrong; or they are left out, and counted."""
    parts = [frame(100), broken(name, value)]
    with pytest.raises(InvalidInput) as caught:
        answer(iter(parts))
    assert str(caught.value).startswith(f"rows must have no {what}; got 2 in chunk 2; ")
    result = calibration_test(None, iter(parts), **ASKED, on_error="skip", n_resamples=9)
    assert result.n == 198
    assert f"2 rows with {what}" in result.notes[-1].replace("with a ", "with ")


def test_part_that_is_no_file_of_its_kind_is_named(tmp_path):
    frame(100).write_parquet(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 is not enough")
    with pytest.raises(InvalidInput, match=r"b\.parquet"):
        answer(str(tmp_path / "*.parquet"))
    assert answer(str(tmp_path / "*.parquet"), on_error="skip")[0] == 100


def test_rows_that_change_between_the_readings_are_an_error(monkeypatch):
    """As those of a frame that draws random numbers."""
    every = chunks.Redraw.__call__

    def fewer(redraw, unit, some):
        return every(redraw, unit, list(some)[:-1])

    monkeypatch.setattr(chunks.Redraw, "__call__", fewer)
    with pytest.raises(InvalidInput, match="must be the same each time they are read"):
        answer(frame(100))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "ks"}, "takes no rows by chunks"),
        ({"lens": "confidence"}, "chunks are for the lens 'strong'"),
        ({"by": "y"}, "chunks have no groups"),
        ({"null": "bootstrap"}, "null= needs the rows"),
        ({"probs": P[:1]}, "more than two classes"),
        ({"n_resamples": "adaptive"}, "'adaptive' needs the rows"),
        ({"estimator": "block"}, "takes no rows by chunks"),
        ({"kernel": ct.kernels.Scaled(ct.kernels.Exponential(), np.diag([1, 2, 3]))}, "features"),
    ],
)
def test_what_needs_the_rows_is_refused(options, message):
    with pytest.raises(NotApplicable, match=message):
        calibration_test(None, frame(100), **ASKED | options)


# ---- when ---------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_auto_takes_chunks_above_a_number_of_rows(monkeypatch):
    """Where the tests that are asked for have them, and there are several classes."""
    data = frame(500).lazy()
    auto = {"engine": "auto", "n_resamples": 39, "rng": 1}
    assert "features" not in calibration_test(None, data, **ASKED | auto).parameters
    monkeypatch.setattr("caltest.htests.ways.ROWS", 400)
    assert "features" in calibration_test(None, data, **ASKED | auto).parameters
    assert "features" not in calibration_test(None, data, **ASKED | auto, lens="classwise")
    parts = iter([data[:250].collect(), data[250:].collect()])
    assert "features" in calibration_test(None, parts, **ASKED | auto).parameters
    two = data.select("y", P[0]).filter(pl.col("y") < 2)
    monkeypatch.setattr("caltest.htests.ways.ROWS", 100)
    assert "cells" in calibration_test(None, two, **ASKED | auto | {"probs": P[0]}).parameters
    table = calibration_test(None, data, **ASKED | auto | {"test": ["skce", "combined"]})
    assert [row.parameters["features"] for row in table] == [32, 32]
    assert [row.pvalue for row in table] == [
        calibration_test(None, data, **ASKED | auto | {"test": key}).pvalue
        for key in ("skce", None)
    ]


def test_progress_tells_rows():
    told = []
    answer(frame(300), progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (300, 300)


def test_equal_predictions_give_no_bandwidth():
    """It is set to 1.0, with a warning as for the rows."""
    data = pl.DataFrame({"y": [0, 1, 2, 2], P[0]: [0.5] * 4, P[1]: [0.25] * 4, P[2]: [0.25] * 4})
    with pytest.warns(ct.errors.DegenerateDataWarning, match="all predictions are equal"):
        assert answer(data)[0] == 4


def test_iterator_leaves_no_files(tmp_path, monkeypatch):
    """What is kept between the readings is gone after an error too."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    answer(iter([frame(100)]))
    with pytest.raises(InvalidInput):
        answer(iter([frame(100), broken("y", 7)]))
    assert not list(tmp_path.iterdir())


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of this kind")
@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_iterator_leaves_no_files_where_the_process_is_ended(tmp_path, told):
    """Rows of chunks that wait for the second reading go with the process, however it ends."""
    code = """
import signal; import polars as pl, caltest as ct
signal.signal(signal.SIGINT, signal.default_int_handler)  # which what is started aside ignores
signal.signal(signal.SIGHUP, signal.SIG_DFL)
def chunks():
    for k in range(10):
        yield pl.DataFrame({"p_0": .2, "p_1": .3, "p_2": .5, "y": [2] * 100})
    print("ready", flush=True); input()
ct.test_calibration(None, chunks(), label="y", engine="chunks")
"""
    words = [sys.executable, "-c", code]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, env=environment, **streams) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(told)
    assert process.returncode != 0
    assert not list(tmp_path.iterdir())


def test_full_disk_leaves_no_chunk_out(monkeypatch):
    """Rows that cannot be kept for the second reading end the call, with on_error too."""

    class Full(io.BytesIO):
        def write(self, _content):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(OSError, match="No space left"):
        answer(iter([frame(100)]), on_error="skip")
