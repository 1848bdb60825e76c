"""Hostile files and JSON, each within 1 GiB more than caltest takes after its import.

`test_unpacking.py` runs it in a process of its own, and MemoryError would tell.
"""

import functools
import io
import json
import re
import resource
import zipfile
from pathlib import Path

import numpy as np

import caltest as ct
from caltest.calibrators import Calibrator, PlattScaling


def header(shape, dtype="<f8"):
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def npz(**members):
    """Return an NPZ file of members in pieces."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                for piece in value:
                    stream.write(piece)
    content.seek(0)
    return content


p = np.linspace(0.1, 0.9, 20)
made = json.loads(PlattScaling().fit(p, p > 0.5).to_json())
state = ct.monitor().update(p, (p > 0.5).astype(int)).to_dict()
calls = {}
say = functools.partial(print, flush=True)


def file(name, content, kind):
    calls[name] = lambda: ct.Predictions.read(content, label="y", file_format=kind)


def of_map(name, **changes):
    """Read and apply a map with another state."""
    text = json.dumps(made | {"state": made["state"] | changes})
    calls[name] = lambda: Calibrator.from_json(text).predict_proba(p)


def of_state(name, **changes):
    """Read and update a monitor of another state."""
    text = json.dumps(state | changes)
    calls[name] = lambda: ct.Monitor.from_json(text).update([0.5], [1])


zeros = [bytes(1 << 20)] * 300
file("npz bomb", npz(y=[header("(2,)"), bytes(16)], probs=[header("(39321600,)"), *zeros]), "npz")
file("npz header", npz(y=[header("(10000000000000,)")], probs=[header("(100000, 100000)")]), "npz")
file("npz long header", npz(y=[b"\x93NUMPY\x02\x00" + b"\xff\xff\xff\x7f", bytes(9999)]), "npz")
file("csv columns", io.BytesIO(b"y," + b",".join(b"p_%d" % k for k in range(5_000))), "csv")
file("parquet end", io.BytesIO(b"PAR1" + bytes(40) + b"\xff\xff\xff\x7fPAR1"), "parquet")
file("feather end", io.BytesIO(b"ARROW1\0\0" + bytes(40) + b"\xff\xff\xff\x7fARROW1"), "feather")
file("json deep", io.BytesIO(b'{"y":' * 100_000), "jsonl")
for key, text in {"deep": "[" * 10**6, "long": '{"a": ' + "1" * 10**7 + "}"}.items():
    calls[f"map {key}"] = lambda text=text: Calibrator.from_json(text)
    calls[f"state {key}"] = lambda text=text: ct.Monitor.from_json(text)
of_map("map shape", classes_={"dtype": "<f8", "shape": [10**12], "items": []})
of_map("map width", classes_={"dtype": "<U900000000", "shape": [2], "items": ["a", "b"]})
of_map("map void", classes_={"dtype": "V900000000", "shape": [1], "items": [0]})
of_map("map type", a_=[[]])
of_map("map number", a_=10**400)
of_map("map columns", n_features_in_=10**12)
of_state("state classes", classes=[[0], [1, 2]])
of_state("state streams", streams=[{}] * 5)
of_state("state level", level="0.1")

size = (
    int(re.search(r"VmSize:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))[1])
    << 10
)
resource.setrlimit(resource.RLIMIT_AS, (size + (1 << 30),) * 2)
for name, call in calls.items():
    try:
        call()
        say(name, "passed")
    except (ct.InvalidInput, ct.NotApplicable):
        pass
    except BaseException as error:  # noqa: BLE001, each is told
        say(name, type(error).__name__, str(error)[:200])
say(len(calls), "done")
