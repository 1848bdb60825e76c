"""Packed files have a bound; what is hostile takes little memory and executes nothing."""

import gzip
import io
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from caltest import Predictions
from caltest.errors import InvalidInput
from caltest.predictions import unpacking

SCRIPT = Path(__file__).with_name("hostile_inputs.py")
TABLE = pl.DataFrame({"y": [0, 1] * 500, "p_0": [0.5] * 1000, "p_1": [0.5] * 1000})
WRITERS = {
    "parquet": TABLE.write_parquet,
    "feather": lambda path: TABLE.write_ipc(path, compression="zstd"),
    "csv.gz": lambda path: path.write_bytes(gzip.compress(TABLE.write_csv().encode())),
    "npz": lambda path: np.savez_compressed(path, **TABLE.to_dict(as_series=False)),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_file_beyond_the_bound_is_refused(suffix, tmp_path, monkeypatch):
    """Before it is unpacked, with its size; a small one that packs to a hundredth is read."""
    path = tmp_path / f"rows.{suffix}"
    WRITERS[suffix](path)
    assert Predictions.read(path, label="y", probs="p_").n == 1000
    monkeypatch.setattr(unpacking, "ALWAYS", 4096)
    monkeypatch.setattr(unpacking, "TIMES", 2)
    with pytest.raises(InvalidInput, match=rf"at most 2 times its size.*rows.{suffix}"):
        Predictions.read(path, label="y", probs="p_")


def test_large_file_may_unpack_to_more(monkeypatch):
    assert unpacking.bound(1000) == unpacking.ALWAYS
    assert unpacking.bound(10**10) == 10**12


def test_array_that_announces_more_than_it_holds_is_refused(tmp_path):
    content = io.BytesIO()
    np.save(content, np.arange(8))
    path = tmp_path / "rows.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", content.getvalue().replace(b"'shape': (8,)", b"'shape': (9,)"))
    with pytest.raises(InvalidInput, match=r"must be whole; got \d+ bytes for the shape \(9,\)"):
        Predictions.read(path, label="y", probs="y")


class Executed:
    """What makes a folder when it is unpickled."""

    def __reduce__(self):
        return (os.mkdir, ("executed",))


def test_pickles_are_not_executed(tmp_path, monkeypatch):
    """Neither as an array of objects nor in the place of the file."""
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", y=np.array([Executed()], dtype=object), probs=np.array([0.5]))
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Executed()))
    for name in ("a.npz", "b.npz"):
        with pytest.raises(InvalidInput, match=r"valid \.npz file"):
            Predictions.read(name, label="y")
    assert not (tmp_path / "executed").exists()


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is read off /proc")
def test_hostile_files_and_json_take_little_memory(tmp_path):
    """Bombs, headers, depth, long numbers and wrong types end in an error within 1 GiB."""
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, SCRIPT],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.stdout.split("\n") == ["20 done", ""], done.stdout + done.stderr[-3000:]
