"""States of a monitor: damaged, swapped, of other versions, or sealed with what is wrong."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from fuzz_driver import Fault
from fuzz_files import hostile, of_arguments, saved_monitor
from fuzz_values import Case, Draw

import caltest as ct
from caltest.monitoring.e_process import LATER, checksum

VERSIONS = (
    "caltest/monitor/1",
    "caltest/monitor/2",
    "caltest/monitor/3",
    "caltest/monitor/4",
    "caltest/monitor/5",
    4,
)
HUGE = (10**400, -(10**400), 2**63, -1, 1e308, 5e-324, float("inf"), float("nan"))


def state(draw: Draw) -> Case:
    """A state that is wrong in one place, and says in most cases that it is whole."""
    values = json.loads(saved_monitor())
    kind = draw.one(("places", "swapped", "bits", "version", "huge", "streams", "cut", "batches"))
    values = _BROKEN[kind](draw, values)
    if isinstance(values, dict) and draw.chance(0.7):
        values = _sealed(values)
    text = values if isinstance(values, str) else json.dumps(values)
    if kind == "cut":
        text = text[: draw.whole(0, len(text))]
    if draw.chance(0.2):
        return _of_the_command_line(draw, text)

    def call() -> Any:
        watch = ct.Monitor.from_json(text)
        watch.update([[0.2, 0.8]], [1], groups=["a"], batch_id="2026-01-05")
        if watch.n_waiting:
            watch.resolve(["r1"], [0])
        again = ct.Monitor.from_json(watch.to_json())
        if again.to_json() != watch.to_json():
            raise Fault("JSON changed the monitor")
        return [watch, watch.summary(), watch.verdict(), watch.evalue, watch.findings()]

    return Case("states", call, text=f"{kind}: Monitor.from_json({text[:2000]!r})")


def _of_the_command_line(draw: Draw, text: str) -> Case:
    Path("state.json").write_text(text)
    Path("new.csv").write_text("id,y,p_0,p_1,g\nr1,1,0.2,0.8,a\n")
    columns = draw.one((("--label", "y", "--probs", "p_"), ("--label", "y"), ("--probs", "p_")))
    given = ["monitor", "state.json", "new.csv", *columns, "--ids", "id", "--by", "g"]
    return of_arguments([*given, *draw.one(((), ("--batch-id", "1"), ("--again",)))])


def _sealed(values: dict[str, Any]) -> dict[str, Any]:
    rest = {name: part for name, part in values.items() if name not in ("schema", "checksum")}
    return values | {"checksum": checksum(rest)}


def _swapped(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    """Exchange two fields, of the state or of a stream."""
    fields = draw.one((values, values["streams"][0]))
    first, second = draw.one(list(fields)), draw.one(list(fields))
    fields[first], fields[second] = fields[second], fields[first]
    return values


def _bits(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    """Change a byte of an array, in its text or below the compression."""
    stream = draw.one(values["streams"])
    name = draw.one(list(stream))
    raw = bytearray(base64.b64decode(stream[name]))
    if draw.chance(0.7):
        raw = bytearray(zlib.decompress(raw))
    if raw:
        raw[draw.whole(0, len(raw) - 1)] ^= 1 << draw.whole(0, 7)
    packed = zlib.compress(bytes(raw)) if draw.chance(0.9) else bytes(raw)
    stream[name] = base64.b64encode(packed).decode()
    return values


def _version(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    kept = draw.one((values, {name: v for name, v in values.items() if name not in LATER}))
    return kept | {"schema": draw.one(VERSIONS)}


def _huge(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    name = draw.one(("level", "memory", "largest", "alarm_after", "restart"))
    return values | {name: draw.one(HUGE)}


def _streams(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    streams = values["streams"]
    return values | {
        "streams": draw.one((streams[::-1], streams[1:], streams * 2, streams[:1] * 3))
    }


def _batches(draw: Draw, values: dict[str, Any]) -> dict[str, Any]:
    batch = [draw.one((None, "a", "", 1, "2026-01-06")), draw.one(("", "00", None)), 0, 1]
    batch[draw.whole(0, 3)] = draw.one((*HUGE, None, "x", [], True))
    return values | {"counted": [batch[: draw.whole(3, 4)]] * draw.one((1, 2, 2000))}


_BROKEN = {
    "places": lambda draw, values: _parsed(hostile(draw, values)),
    "swapped": _swapped,
    "bits": _bits,
    "version": _version,
    "huge": _huge,
    "streams": _streams,
    "cut": lambda _, values: values,
    "batches": _batches,
}


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
