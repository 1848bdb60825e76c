"""Engines that take seconds to start: once for a module, or for a worker.

A cluster of Dask that waits for the end of the session takes processor time all along; Spark takes
none.
"""

import os
import shutil
import sys

import pytest

# Queries that run once are not worth what compiling them takes.
SPARK = {
    "ui.enabled": "false",
    "sql.shuffle.partitions": "2",
    "sql.codegen.wholeStage": "false",
    "sql.codegen.factoryMode": "NO_CODEGEN",
    "driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@pytest.fixture(scope="module")
def dask_cluster():
    """A client of a cluster of two processes, each with one thread."""
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def spark():
    """A session of PySpark in local mode, where there is a Java runtime."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("PySpark needs a Java runtime")
    # One worker, which imports caltest once, takes one partition after the other.
    builder = sql.SparkSession.builder.master("local[1]")
    for name, value in SPARK.items():
        builder.config(f"spark.{name}", value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture
def in_dask(dask_cluster, tmp_path):
    """Return a function: six partitions of a table, of which the first that is read kills."""
    from dask import dataframe

    killed = tmp_path / "killed"

    def kill_once(part):
        try:
            killed.touch(exist_ok=False)
        except FileExistsError:
            return part
        os.kill(os.getpid(), 9)
        return part

    def partitions(table, *, kills):
        data = dataframe.from_pandas(table.to_pandas(), npartitions=6)
        return data.map_partitions(kill_once, meta=data._meta) if kills else data

    yield partitions
    assert killed.exists()
