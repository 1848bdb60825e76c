"""Generated files and command lines: tables, maps, states and results, whole and damaged."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fuzz_driver import Fault
from fuzz_values import HOSTILE, Case, Draw

import caltest as ct

SUFFIXES = ("csv", "tsv", "parquet", "feather", "jsonl", "npz", "csv.gz")


class Executed:
    """What makes a file when it is unpickled."""

    def __reduce__(self) -> Any:
        return (os.mkdir, ("executed",))


# ---- tables -------------------------------------------------------------------------------------


def write_table(draw: Draw, name: str = "rows") -> Path:
    """Write predictions in some format, damaged where the case is broken."""
    from caltest.predictions import files

    columns = draw.table()
    suffix = draw.one(SUFFIXES)
    path = Path(f"{name}.{suffix}")
    try:
        frame = pl.DataFrame({key: np.asarray(value) for key, value in columns.items()})
    except Exception:  # noqa: BLE001, columns that no table holds
        frame = pl.DataFrame(
            {
                key: pl.Series([repr(v) for v in value], dtype=pl.String)
                for key, value in columns.items()
            }
        )
    try:
        files.write_table(frame, path, file_format=suffix.removesuffix(".gz"))
    except BaseException:  # noqa: BLE001, columns that the format does not hold; polars panics
        path.write_bytes(b"")
    if draw.broken and draw.chance(0.5):
        damage(draw, path)
    return path


def damage(draw: Draw, path: Path) -> None:
    """Damage a file, or put something else in its place."""
    content = path.read_bytes()
    kind = draw.one(("cut", "bytes", "empty", "other", "header", "bomb", "pickle", "crlf", "text"))
    draw.notes.append(f"{path.name}: {kind}")
    if kind == "cut":
        path.write_bytes(content[: draw.whole(0, len(content))])
    elif kind == "bytes":
        changed = bytearray(content)
        for _ in range(draw.whole(1, 20)):
            if changed:
                changed[draw.whole(0, len(changed) - 1)] = draw.whole(0, 255)
        path.write_bytes(bytes(changed))
    elif kind == "other":
        path.write_bytes(draw.rng.bytes(draw.whole(1, 400)))
    elif kind == "header":
        path.write_bytes(huge_header(path.suffix))
    elif kind == "bomb":
        path.write_bytes(bomb(path.suffix))
    elif kind == "pickle":
        path.write_bytes(pickled(path.suffix))
    elif kind == "crlf":
        path.write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
    else:
        path.write_bytes(b"" if kind == "empty" else "y\tp_a;p_b\n\n\x00,é\n".encode("latin-1"))


def npy_header(shape: str, dtype: str = "<f8") -> bytes:
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (63 - (len(text) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def zipped(**members: bytes) -> bytes:
    """Return an NPZ file of these members."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(f"{name}.npy", value)
    return content.getvalue()


def huge_header(suffix: str) -> bytes:
    """Return a file that announces far more than it has."""
    if suffix == ".npz":
        return zipped(y=npy_header("(10000000000000,)"), probs=npy_header("(100000, 100000)"))
    if suffix == ".parquet":
        return b"PAR1" + b"\x15\x00" * 20 + (2**31 - 1).to_bytes(4, "little") + b"PAR1"
    if suffix in (".feather", ".arrow"):
        return b"ARROW1\0\0" + b"\xff" * 64 + (2**31 - 1).to_bytes(4, "little") + b"ARROW1"
    return b"y," + b",".join(b"p_%d" % k for k in range(3000)) + b"\n"


@functools.cache
def bomb(suffix: str) -> bytes:
    """Return a small file that unpacks to much: an array of 4 GB of zeros."""
    if suffix != ".npz":
        import gzip

        return gzip.compress(b"y,p_a,p_b\n" + b"0,0.5,0.5\n" * 100_000, 9)
    body = npy_header("(2000, 2000)") + bytes(2000 * 2000 * 8)
    return zipped(y=npy_header("(2,)", "<i8") + bytes(16), probs=body)


def pickled(suffix: str) -> bytes:
    """Return a file with a pickle that makes a folder."""
    payload = pickle.dumps(Executed())
    if suffix != ".npz":
        return payload
    return zipped(y=npy_header("(1,)", "|O") + payload, probs=npy_header("(1,2)") + bytes(16))


def reader(draw: Draw) -> Case:
    path = write_table(draw)
    options = {"label": "y"} | draw.some(
        probs=lambda: draw.one(("p_", "w", "nothing")),
        groups="g",
        clusters="c",
        sample_weight="w",
        file_format=lambda: draw.one(("csv", "npz", "parquet", "feather", "jsonl", "tsv")),
    )
    source: Any = draw.one((path, str(path), "bytes"))

    def call() -> Any:
        with contextlib.ExitStack() as stack:
            given = stack.enter_context(path.open("rb")) if source == "bytes" else source
            return repr(ct.Predictions.read(given, **options))

    return Case("Predictions.read", call, text=f"Predictions.read({source!r}, {options})")


# ---- JSON ---------------------------------------------------------------------------------------


def hostile(draw: Draw, values: Any) -> str:
    """Break parsed JSON in one to three places, or the text."""
    kind = draw.one(("places", "places", "places", "cut", "deep", "number", "other"))
    if kind == "deep":
        return draw.one(
            ("[" * 100_000, '{"a":' * 50_000, '{"state":' + "[" * 3000 + "]" * 3000 + "}")
        )
    if kind == "number":
        return json.dumps(values).replace("1", "1" * 6000, 1)
    if kind == "other":
        return draw.one(("", "null", "[]", "1e999", '"x"', "{}", "NaN", '{"schema": 1}', "\x00"))
    for _ in range(draw.whole(1, 3)):
        values = _broken_at_a_place(draw, values)
    text = json.dumps(values)
    return text[: draw.whole(0, len(text))] if kind == "cut" else text


def _broken_at_a_place(draw: Draw, values: Any) -> Any:
    parent, key, here = None, None, values
    while isinstance(here, (dict, list)) and here and (parent is None or draw.chance(0.8)):
        parent, key = here, draw.one(list(here) if isinstance(here, dict) else range(len(here)))
        here = parent[key]
    odd = (None, True, -1, 0, 1e308, 10**30, "x", "nan", [], {}, [[]], {"dtype": "O", "items": [1]})
    odd += ({"dtype": "<f8", "shape": [10**12], "items": []}, {"float": "nan"}, {"float": "x"})
    odd += ({"mapping": [[[], 1]]}, {"calibrator": "identity"}, [1] * 3, HOSTILE[0], "AAAA")
    odd += ({"dtype": "V9000000000", "shape": [1], "items": [0]}, "//8=", 1e-320, 2**63, -(2**70))
    if parent is None:
        return draw.one(odd)
    if draw.chance(0.2):
        del parent[key]
    else:
        parent[key] = draw.one(odd)
    return values


@functools.cache
def saved_map(key: str) -> str:
    """Return the JSON of a fitted calibrator."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet([1, 1], 40)
    kind = ct.calibrators.REGISTRY[key]
    inner = ct.calibrators.PlattScaling()
    made = kind(inner) if key in ("one-vs-rest", "ensemble") else kind()
    return made.fit(probs, rng.integers(0, 2, 40)).to_json()


def hostile_map(draw: Draw) -> Case:
    """A map whose JSON is broken."""
    text = hostile(draw, json.loads(saved_map(draw.one(list(ct.calibrators.REGISTRY)))))
    if draw.chance(0.3):
        Path("map.json").write_text(text)
        Path("new.csv").write_text("p_0,p_1\n0.2,0.8\n")
        return of_arguments(["calibrate", "apply", "map.json", "new.csv", "--probs", "p_"])

    def call() -> Any:
        read = ct.calibrators.Calibrator.from_json(text)
        return [read.predict_proba([[0.2, 0.8], [0.0, 1.0]]), repr(read)]

    return Case("Calibrator.from_json", call, text=f"Calibrator.from_json({text[:2000]!r})")


@functools.cache
def saved_monitor() -> str:
    rng = np.random.default_rng(1)
    watch = ct.monitor(groups=["a", "b"])
    probs = rng.dirichlet([1, 1], 10)
    groups = ["a", "b"] * 5
    watch.update(probs, rng.integers(0, 2, 10), groups=groups)
    watch.update(probs[:2], groups=groups[:2], ids=["r1", "r2"])
    return watch.to_json()


@functools.cache
def saved_results() -> tuple[tuple[Any, str], ...]:
    """Return kinds of results with their JSON."""
    probs, y = [[0.2, 0.8], [0.6, 0.4], [0.5, 0.5], [0.3, 0.7]], [1, 0, 1, 0]
    one = ct.test_calibration(probs, y, n_resamples=9, rng=1)
    table = ct.test_calibration(probs, y, test=["ece", "skce"], n_resamples=9, rng=1)
    return ((ct.HTest, one.to_json()), (ct.HTestTable, table.to_json()))


def hostile_result(draw: Draw) -> Case:
    """A result whose JSON is broken."""
    kind, text = draw.one(saved_results())
    broken = hostile(draw, json.loads(text))
    try:
        values = json.loads(broken)
    except (ValueError, RecursionError):
        values = broken
    return Case(
        f"{kind.__name__}.from_dict",
        lambda: kind.from_dict(values) and None,
        text=f"{kind.__name__}.from_dict({str(values)[:2000]})",
    )


# ---- command line -------------------------------------------------------------------------------


def of_arguments(arguments: list[str], makes: tuple[str, ...] = ()) -> Case:
    """Make the case of a command line: its exit status, and one line where that is 2."""
    from caltest.cli.app import run

    def call() -> Any:
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run(arguments)
        lines = err.getvalue().splitlines()
        lines = [line for line in lines if not line.startswith("caltest: warning:")]
        if status not in (0, 2) and not (status == 1 and "--fail" in arguments):
            raise Fault(f"exit status {status}: {lines}")
        if status == 2:
            if len(lines) != 1 or not lines[0].startswith("caltest: "):
                raise Fault(f"not one line: {lines}")
            raise ct.InvalidInput(lines[0])

    made = ("state.json", *makes)
    return Case("command line", call, text=f"caltest {' '.join(map(repr, arguments))}", makes=made)


def command_line(draw: Draw) -> Case:
    import typer.main

    from caltest.cli.app import _options, app

    commands = dict(_options(typer.main.get_command(app)))
    name = draw.one([n for n in commands if not n.endswith("demo")]).removeprefix("caltest ")
    known = [one for one in commands[f"caltest {name}"] if one.startswith("--")]
    table = str(write_table(draw))
    first = {"monitor": ["state.json", table], "calibrate apply": ["map.json", table]}
    first |= {"list": [draw.one(("tests", "calibrators", "nothing", "lenses"))], "schema": []}
    if name == "calibrate apply":
        Path("map.json").write_text(saved_map("temperature"))
    arguments = [*name.split(), *first.get(name, [table])]
    need = {"--label": "y", "--probs": "p_", "--method": draw.one(list(ct.calibrators.REGISTRY))}
    need |= {"--n": "20", "--n-datasets": "2", "--n-max": "40", "--cv": "2", "--jobs": "1"}
    need |= {"--n-resamples": str(draw.one((1, 9))), "--temperature": "2"}
    if name == "compare":
        need |= {"--calibrators": "identity,platt"}
    need |= {"--format": "json"} if name == "report" else {}
    for option, value in need.items():
        if option in known and not (draw.broken and draw.chance(0.05)):
            arguments += [option, value]
    makes: list[str] = []
    for option in known:
        if option not in need and option != "--help" and draw.chance(0.12):
            arguments += _given(draw, option, makes)
    if draw.broken and draw.chance(0.2):
        arguments.insert(draw.whole(0, len(arguments)), str(draw.one(HOSTILE)))
    return of_arguments(arguments, tuple(makes))


def _given(draw: Draw, option: str, makes: list[str]) -> list[str]:
    """Draw an option of the command line with its value."""
    from caltest.htests import REGISTRY
    from caltest.nulls import REGISTRY as NULLS

    if option in ("--logits", "--renormalize", "--equivalence", "--fail", "--restart", "--quiet"):
        return [option]
    values = {
        "--weight": ["w"],
        "--by": ["g", "g,c"],
        "--cluster": ["c"],
        "--time": ["t"],
        "--segments": ["g", "age,g"],
        "--test": list(REGISTRY),
        "--null": list(NULLS),
        "--lens": ["confidence", "classwise", "top-label", "top-1"],
        "--set": ["bins=3", "kernel=gaussian", "bins=0", "=", "lam=1", "x=[" * 50],
        "--format": ["text", "json", "markdown", "csv", "html", "latex"],
        "--output": ["out.json", "out.md", "out.html", "no/folder.txt", "-"],
        "--correction": ["joint", "holm", "none"],
        "--title": list(HOSTILE),
        "--author": list(HOSTILE),
        "--meta": [f"a={text}" for text in HOSTILE],
        "--prefix": list(HOSTILE),
        "--seed": ["1", "0"],
        "--level": ["0.05", "0.5"],
        "--tolerance": ["0.1"],
        "--beta": ["1,2"],
        "--dirichlet": ["1,2,3"],
    }.get(option, ["1", "0.5", "2", "y", "p_"])
    value = str(draw.odd()) if draw.broken and draw.chance(0.3) else str(draw.one(values))
    if option == "--output" and value not in ("", "-") and "\0" not in value:
        makes.append(value)
    return [option, value]
