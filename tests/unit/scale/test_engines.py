"""Five engines give the same answer, to the last digit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caltest import NotApplicable
from caltest import test_calibration as calibration_test
from caltest.scale import sources

QUOTED = 'p "of" a.b c'


def frame():
    """Return predictions under a name with quotes, a dot and blanks."""
    rng = np.random.default_rng(5)
    p = rng.beta(1, 3, 4000)
    return pl.DataFrame({"y": rng.binomial(1, p), QUOTED: p, "g": rng.choice(["a", "b"], 4000)})


def answers(data):
    """Return what the tests of two groups say."""
    table = calibration_test(
        None,
        data,
        label="y",
        probs=QUOTED,
        test=["ks", "ece"],
        by="g",
        engine="cells",
        n_resamples=99,
        rng=1,
    )
    return [(row.group, row.test, row.statistic, row.pvalue) for row in table]


def test_duckdb():
    """A relation."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        assert answers(connection.from_arrow(frame().to_arrow())) == answers(frame())


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_ibis(tmp_path):
    """A table of Ibis on DuckDB."""
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    frame().write_parquet(tmp_path / "part.parquet")
    connection = ibis.duckdb.connect()
    assert answers(connection.read_parquet(str(tmp_path / "part.parquet"))) == answers(frame())
    connection.disconnect()


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_dask_cluster_of_two_processes_of_which_one_is_killed(in_dask):
    """A worker that is killed by its id, in the middle, changes nothing."""
    assert answers(in_dask(frame(), kills=True)) == answers(frame())


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_spark(spark):
    """A data frame of Spark."""
    assert answers(spark.createDataFrame(frame().to_pandas())) == answers(frame())


def test_engine_that_is_not_installed_names_the_extra(monkeypatch):
    """In one line."""
    query_of_polars = sources.Counting.query

    def query(counting, frame):
        if frame.implementation.is_polars():
            return query_of_polars(counting, frame)
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(sources.Counting, "query", query)
    with pytest.raises(NotApplicable, match=r"needs pyarrow; pip install caltest\[duckdb\]"):
        answers(frame().to_pandas())
