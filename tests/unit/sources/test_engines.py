"""Five engines give the same answer, to the last digit."""

import numpy as np
import polars as pl
import pytest

from caltest import InvalidInput, NotApplicable
from caltest import test_calibration as calibration_test
from caltest.sources import sources

QUOTED = 'p "of" a.b c'
CLASSES = ["p 0", 'p "1"', "p.2"]


def frame():
    """Return predictions under a name with quotes, a dot and blanks."""
    rng = np.random.default_rng(5)
    p = rng.beta(1, 3, 4000)
    group, weight = rng.choice(["a", "b"], 4000), rng.lognormal(0, 1, 4000)
    weight[:8] = 2.0 ** np.arange(-4, 4)  # on the borders of classes of weights
    columns = {"y": rng.binomial(1, p), QUOTED: p, "g": group, "w.w": weight}
    three = dict(zip(CLASSES, rng.dirichlet([1, 1, 2], 4000).T, strict=True))
    return pl.DataFrame(columns | three)


def answers(data):
    """Return what tests of two groups say, of all rows with their weights, and by chunks."""
    options = {"label": "y", "probs": QUOTED, "engine": "cells", "n_resamples": 99, "rng": 1}
    groups = calibration_test(None, data, test=["ks", "ece"], by="g", **options)
    weighted = calibration_test(None, data, test=["ks", "cox"], sample_weight="w.w", **options)
    chunks = options | {"engine": "chunks", "probs": CLASSES, "n_resamples": 39}
    by_chunks = calibration_test(None, data, test="skce", **chunks)
    chunks |= {"engine": "cells", "lens": "top-label"}
    predicted = calibration_test(None, data, test="ece", **chunks)
    rows = (*groups, *weighted, by_chunks, *predicted)
    return [(row.group, row.test, row.statistic, row.pvalue) for row in rows]


@pytest.fixture(scope="module")
def expected():
    return answers(frame())


def test_stars_and_patterns_are_names_of_columns():
    """Those by which engines mean several columns; DuckDB has no other way to name a star."""
    duckdb = pytest.importorskip("duckdb")
    options = {"test": "ks", "engine": "cells", "n_resamples": 9, "rng": 1}
    known = calibration_test(None, frame(), label="y", probs=QUOTED, by="g", **options)
    named = frame().rename({QUOTED: "*", "g": "^.*$"})
    found = calibration_test(None, named, label="y", probs="*", by="^.*$", **options)
    assert [row.statistic for row in found] == [row.statistic for row in known]
    with duckdb.connect() as connection:
        given = connection.from_arrow(named.to_arrow())
        with pytest.raises(InvalidInput, match=r"not be named '\*', which it reads as all columns"):
            calibration_test(None, given, label="y", probs="*", **options)


def test_duckdb(expected):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        assert answers(connection.from_arrow(frame().to_arrow())) == expected


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_ibis(tmp_path, expected):
    ibis = pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    frame().write_parquet(tmp_path / "part.parquet")
    connection = ibis.duckdb.connect()
    assert answers(connection.read_parquet(str(tmp_path / "part.parquet"))) == expected
    connection.disconnect()
    assert answers(ibis.memtable(frame().to_pandas())) == expected


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_counts_the_predicted_classes():
    """Narwhals cannot take the largest of several of its columns beside others."""
    dask = pytest.importorskip("dask.dataframe")
    options = {"label": "y", "probs": CLASSES, "engine": "cells", "n_resamples": 9, "rng": 1}
    data = frame()[:200]
    given = dask.from_pandas(data.to_pandas(), npartitions=2)
    of_dask, own = (
        calibration_test(None, one, test="ece", lens="confidence", **options)
        for one in (given, data)
    )
    assert (of_dask.statistic, of_dask.pvalue) == (own.statistic, own.pvalue)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_is_read_into_memory_without_a_word():
    """Narwhals has one on where its reader of Dask will move to."""
    dask = pytest.importorskip("dask.dataframe")
    options = {"label": "y", "probs": QUOTED, "engine": "rows", "test": "ks", "n_resamples": 9}
    given = dask.from_pandas(frame().to_pandas(), npartitions=2)
    found, known = (calibration_test(None, data, rng=1, **options) for data in (given, frame()))
    assert (found.n, found.statistic) == (known.n, known.statistic)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_cluster_of_two_processes_of_which_one_is_killed(in_dask, expected):
    """A worker that is killed by its id, in the middle, changes nothing."""
    assert answers(in_dask(frame(), kills=True)) == expected


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_spark(spark, expected):
    assert answers(spark.createDataFrame(frame().to_pandas())) == expected


def test_engine_that_is_not_installed_names_the_extra(monkeypatch):
    query_of_polars = sources.Counting.query

    def query(counting, frame):
        if frame.implementation.is_polars():
            return query_of_polars(counting, frame)
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(sources.Counting, "query", query)
    with pytest.raises(NotApplicable, match=r"needs pyarrow; pip install caltest\[duckdb\]"):
        answers(frame().to_pandas())
