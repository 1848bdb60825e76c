"""More generated calls: hostile weights, files, states of monitors, own lenses, forecasts."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fuzz_driver import Fault
from fuzz_files import of_arguments, saved_map, saved_monitor
from fuzz_values import HOSTILE, Case, Draw
from scipy import stats

import caltest as ct

QUICK = {"n_resamples": 9, "rng": 1}


def made_of(draw: Draw, n: int | None = None, m: int | None = None) -> tuple[Any, Any, int]:
    """Draw probabilities, labels and the number of rows."""
    probs = draw.matrix(n, m)
    return probs, draw.codes(probs), len(probs)


# ---- weights ------------------------------------------------------------------------------------


def hostile_weights(draw: Draw, groups: np.ndarray, codes: np.ndarray) -> Any:
    """Draw weights: none in a group or class, far too large or small, not finite, no numbers."""
    n = len(groups)
    base = draw.one((np.ones(n), draw.rng.exponential(1, n), draw.rng.integers(1, 5, n)))
    some = draw.rng.integers(0, n, max(1, n // 4))
    part = draw.one((groups == groups[0], codes == codes[0], np.arange(n) == 0, np.ones(n, bool)))
    kind = draw.one(("part", "part", "only", "scale", "scale", "ratio", "value", "type"))
    if kind == "part":
        return np.where(part, 0.0, base)
    if kind == "only":
        return np.where(part, base, 0.0)
    if kind == "scale":
        return base * draw.one((1e155, 1e300, 1e-9, 1e-155, 1e-300, 5e-324, 1e60))
    if kind == "ratio":
        return np.where(part, base * draw.one((1e15, 1e155, 1e308)), base)
    weights = base.astype(object if kind == "type" else float)
    odd = (np.inf, -np.inf, np.nan, -1.0, -1e-300, 1e308)
    texts = ("x", "1", "", None, True, 1j, b"1", 10**400)
    weights[some] = draw.one(texts if kind == "type" else odd)
    return draw.one((weights, weights.tolist()))


def weights(draw: Draw) -> Case:
    """What takes weights, with hostile ones."""
    from caltest.htests import REGISTRY
    from caltest.measures import REGISTRY as MEASURES

    probs, codes, n = made_of(draw)
    groups = np.array(["a", "b", "c"])[draw.rng.integers(0, 3, n)]
    given = hostile_weights(draw, groups, codes)
    data: dict[str, Any] = {"sample_weight": given}
    options = draw.some(by=groups, cluster=draw.rng.integers(0, draw.one((3, max(1, n // 2))), n))
    one = draw.one(list(REGISTRY))
    lens = draw.one(("strong", "confidence", "classwise", "top-label", "top-1"))
    keys = [key for key in ct.calibrators.REGISTRY if key not in ("one-vs-rest", "ensemble", "gp")]
    calibrator = ct.calibrators.REGISTRY[draw.one(keys)]()
    names = list(range(probs.shape[1]))
    functions = [getattr(ct.measures, k.function_name() or "", None) for k in MEASURES.values()]
    function = draw.one([one for one in functions if callable(one)])
    calls: dict[str, Callable[[], Any]] = {
        f"test {one}": lambda: ct.test_calibration(
            probs, codes, test=one, lens=lens, classes=names, **data, **QUICK, **options
        ),
        "test": lambda: ct.test_calibration(
            probs, codes, lens=lens, classes=names, **data, **QUICK, **options
        ),
        "verdict": lambda: ct.verdict(probs, codes, classes=names, **data, **QUICK),
        "fit": lambda: calibrator.fit(probs, codes, **data).predict_proba(probs),
        "measure": lambda: function(ct.Predictions(probs, codes, classes=names, **data)),
    }
    # Twice as often the tests, whose default has most parts.
    how = draw.one((*calls, *list(calls)[:2]))
    text = f"{how}: {lens}, {options}\n{probs!r}\n{codes!r}\n{given!r}"
    return Case(f"weights {how.partition(' ')[0]}", calls[how], [probs, codes, given], text)


# ---- names of files -----------------------------------------------------------------------------

NAMES = (
    *("q[1].csv", "star*.csv", "one?.csv", "a b.csv", "é漢😀.csv", "{x,y}.csv", "-dash.csv"),
    *("q[!1].csv", "~.csv", "$HOME.csv", "%41.csv", "'quote\".csv", "new\nline.csv", "#x.csv"),
    *("[].csv", "**.csv", "=1+1.csv", "a;b.csv", "back\\slash.csv", ".csv", "two.parts.csv"),
)
NO_FILES = ("folder.csv", "loop.csv", "missing.csv", "", ".", "..", "\0.csv", "x\0y", "a" * 300)
NO_FILES += ("no/such/folder.csv", "dangling.csv", "/dev/null", "~nobody/x.csv", "[", "*", "**/*")
COUNT = 7


def write_named(path: Path, rows: int, decoys: int) -> None:
    """Write a file of some rows, and others beside it that a pattern of its name would match."""
    frame = pl.DataFrame({"y": [0, 1] * rows, "p": [0.25, 0.75] * rows})
    content = frame.write_csv()
    path.write_text(content)
    for decoy in ("q1.csv", "q2.csv", "stars.csv", "one1.csv", "x.csv", "y.csv", "A.csv")[:decoys]:
        if not Path(decoy).exists():
            Path(decoy).write_text(content * 1 + "1,0.5\n" * 3)


def paths(draw: Draw) -> Case:
    """A file by its name, where that is odd: its rows and no others are read."""
    name = draw.one(NAMES if draw.chance(0.6) else NO_FILES)
    exists = name in NAMES
    Path("folder.csv").mkdir()
    with contextlib.suppress(OSError):
        Path("loop.csv").symlink_to("loop.csv")
        Path("dangling.csv").symlink_to("nowhere.csv")
    if exists:
        write_named(Path(name), COUNT, draw.whole(0, 7))
    asked: Any = draw.one(
        (name, Path(name) if "\0" not in name else name, [name], os.fsencode(name))
    )
    options = {"label": "y", "probs": "p"}
    made = str(draw.one((*NAMES, *NO_FILES)))
    how = draw.one(("read", "test", "cells", "command", "apply", "save", "fit"))
    Path("map.json").write_text(saved_map("platt"))

    def check(n: int) -> None:
        if exists and n != 2 * COUNT:
            raise Fault(f"{name!r} has {2 * COUNT} rows, and {n} were read")

    def read() -> Any:
        check(ct.Predictions.read(asked, **options).n)

    def tested(engine: str) -> Any:
        found = ct.test_calibration(None, asked, **options, test="ks", engine=engine, **QUICK)
        check(found.n)
        return found

    words = {
        "command": ["test", name, "--label", "y", "--probs", "p", "--test", "ks", "--seed", "1"],
        "apply": ["calibrate", "apply", "map.json", name, "--probs", "p", "-o", made],
        "fit": ["calibrate", "fit", name, "--label", "y", "--method", "platt", "-o", made],
        "save": ["report", name, "--label", "y", "--n-resamples", "9", "--test", "ks", "-o", made],
    }
    if how in words:
        return of_arguments(
            words[how], (made, "nowhere.csv", *made.split("/")[:1], str(Path(made)))
        )
    call = read if how == "read" else lambda: tested("auto" if how == "test" else "cells")
    return Case(f"paths {how}", call, text=f"{how} {asked!r}")


# ---- states of monitors -------------------------------------------------------------------------


def state_files(draw: Draw) -> Case:
    """The file of a monitor, damaged as a disk or an editor would: it is refused, or goes on."""
    content = saved_monitor().encode()
    kind = draw.one(("cut", "bytes", "twice", "prefix", "text", "swap", "whole", "keys", "number"))
    at = draw.whole(0, len(content) - 1)
    values = json.loads(content)
    key = draw.one(list(values))
    other = draw.one((None, True, -1, 1e308, "x", [], {}, [[]], 10**30, HOSTILE[0]))
    changed = {
        "cut": lambda: content[:at],
        "bytes": lambda: content[:at] + draw.rng.bytes(3) + content[at + 3 :],
        "twice": lambda: content * 2,
        "prefix": lambda: b"\xef\xbb\xbf" + content,
        "text": lambda: draw.one(
            (b"", b"\0" * 100, b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 9999)
        ),
        "swap": lambda: json.dumps({**values, "streams": values["streams"][::-1]}).encode(),
        "whole": lambda: content,
        "keys": lambda: json.dumps({k: v for k, v in values.items() if k != key}).encode(),
        "number": lambda: json.dumps({**values, key: other}).encode(),
    }[kind]()
    Path("state.json").write_bytes(changed)
    draw.notes.append(f"state.json: {kind}, {key}, {other!r}, at {at}")
    Path("new.csv").write_text("y,p_0,p_1,g\n1,0.2,0.8,a\n0,0.5,0.5,b\n")
    given = ["monitor", "state.json", "new.csv", "--label", "y", "--probs", "p_", "--by", "g"]
    case = of_arguments(given)

    def call() -> Any:
        try:
            return case.call()
        except ct.InvalidInput:
            if Path("state.json").read_bytes() != changed:
                raise Fault("a state that was refused is not as it was") from None
            raise

    return Case("state_files", call, text=case.text, makes=case.makes)


# ---- lenses of one's own ------------------------------------------------------------------------


def _raises(*_: Any) -> Any:
    raise ct.NotApplicable("this lens raises")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "first": lambda p, y: (p[:, 0], y == 0),
    "all": lambda p, y: (p, y),
    "other event": lambda p, y: (p[:, 0], y == 1),
    "other rows": lambda p, y: (p[:, 0], (y == 0)[::-1]),
    "leak": lambda _, y: ((y == 0) / 2, y == 0),
    "random": lambda p, y: (p[:, 0], np.random.default_rng().random(len(y)) < p[:, 0]),
    "nothing": lambda _, __: None,
    "one": lambda p, _: p,
    "nan": lambda p, y: (p[:, 0] * np.nan, y == 0),
    "fewer": lambda p, y: (p[:-1, 0], y[:-1] == 0),
    "three": lambda p, y: (p[:, 0], y == 0, y),
    "cube": lambda p, y: (p[None], y[None]),
    "beyond": lambda p, y: (2 * p, y),
    "strings": lambda p, y: (p[:, 0].astype(str), y == 0),
    "empty": lambda p, y: (p[:0], y[:0]),
    "raises": _raises,
    "certain": lambda _, y: (np.ones(len(y)), y >= 0),
}
RIGHT = ("first", "all", "certain")
WRONG = ("other event", "leak", "random")


@functools.cache
def redrawings() -> dict[str, Callable[[Any], Any]]:
    """Return redrawings of the event that the first class happens, by what is wrong with them."""
    from caltest.predictions.redrawing import Redrawing

    class Made(Redrawing):
        def __init__(self, make: Callable[[int], Any]) -> None:
            self.make = make

        def labels(self, keys: Any) -> Any:
            return self.make(len(keys))

        def taken(self, rows: Any) -> Any:
            return self

    first = np.zeros
    return {
        "right": lambda data: data.redrawing.events(first(data.n, int), data.m),
        "none": lambda _: None,
        "other": lambda data: data.redrawing.events(first(data.n, int) + 1, data.m),
        "observed": lambda data: Made(lambda b: np.tile((data.labels == 0).astype(int), (b, 1))),
        "shape": lambda data: Made(lambda b: first((b, data.n + 1), np.uint8)),
        "type": lambda data: Made(lambda b: first((b, data.n))),
        "bool": lambda data: Made(lambda b: first((b, data.n), bool)),
        "codes": lambda data: Made(lambda b: first((b, data.n), int) + 7),
        "negative": lambda data: Made(lambda b: first((b, data.n), int) - 1),
        "no array": lambda _: Made(lambda _: None),
    }


def own_lens(draw: Draw) -> Case:
    """A test under a lens of one's own; a wrong one is refused where rows can show it."""
    from caltest.lenses import Custom, Lens

    probs, codes, n = made_of(draw, draw.one((1, 5, 40, 200)))
    names = list(range(probs.shape[1]))
    name = draw.one(list(FUNCTIONS) if draw.chance(0.6) else list(redrawings()))

    class Own(Lens):
        title = key = null = "own"

        def __call__(self, data: ct.Predictions) -> ct.Predictions:
            event, happens = data.probs[:, 0], (data.labels == 0).astype(np.int64)
            return ct.Predictions.trusted(
                np.column_stack([1 - event, event]),
                happens,
                np.array(["no", "yes"]),
                like=data,
                redrawing=redrawings()[name](data),
            )

    lens = Custom(FUNCTIONS[name], name=name) if name in FUNCTIONS else Own()
    test = draw.one(("combined", "ks", "brier", "ece", "skce"))
    sure = n == 200 and ((probs[:, 0] > 0.1) & (probs[:, 0] < 0.4)).sum() > 50

    def call() -> Any:
        found = ct.test_calibration(probs, codes, classes=names, test=test, lens=lens, **QUICK)
        if sure and name in (*WRONG, "observed", "other", "shape", "type", "codes", "negative"):
            raise Fault(f"a wrong lens gave p = {found.pvalue}")
        return found

    return Case(f"own lens {name}", call, [probs, codes], f"{name}, {test}\n{probs!r}\n{codes!r}")


def forecasts(draw: Draw) -> Case:
    """A call of forecasts of numbers, of which a value may be odd, far too large or missing."""
    rng, n = draw.rng, draw.one((1, 2, 3, 8, 30))
    mean = rng.normal(size=n) * 10.0 ** draw.whole(-3, 3)
    scale = rng.gamma(2, 1, n) * 10.0 ** draw.whole(-3, 3)
    y = mean + scale * rng.normal(size=n)
    given: dict[str, Any] = draw.one(
        (
            {"mean": mean, "scale": scale},
            {"members": rng.normal(mean, scale, (draw.whole(1, 9), n)).T},
            {"quantiles": mean[:, None] + np.outer(scale, [-1, 0, 2]), "levels": [0.1, 0.5, 0.9]},
            {"distribution": stats.t(3, mean, scale)},
            {"distribution": stats.poisson(scale)},
            {"cdf": lambda t: stats.norm.cdf(t, mean, scale)},
            {"edges": np.linspace(-9, 9, 10), "probs": rng.dirichlet(np.ones(9), n)},
        )
    )
    if draw.broken:
        odd = draw.one((np.nan, np.inf, 0.0, -1.0, 1e300, 1e-300))
        if (name := draw.one(["outcomes", *given])) in ("mean", "scale", "members", "quantiles"):
            given[name] = np.array(given[name])
            given[name].flat[draw.whole(0, given[name].size - 1)] = odd
        elif name == "outcomes":
            y[draw.whole(0, n - 1)] = odd
        y = draw.one((y, y, y[:-1], y.astype(str), np.full(n, 7.0)))
    settings = {"n_resamples": 19, "rng": 1}
    test = draw.one(("combined", "pit-uniformity", "crps", "log-score", "forecast-skce", "ks"))

    def call() -> Any:
        made = ct.Forecasts(y, **given)
        return {
            "test": lambda: ct.test_calibration(None, made, test=test, **settings),
            "lens": lambda: ct.test_calibration(None, made, lens="interval[0.8]", **settings),
            "groups": lambda: ct.test_calibration(None, made, by=np.arange(made.n) % 3, **settings),
            "verdict": lambda: ct.verdict(None, made, **settings),
            "report": lambda: ct.report(None, made, **settings).to_dict(),
            "monitor": lambda: ct.monitor().update(made),
            "power": lambda: ct.power(None, made, n=20, n_datasets=2, spread=0.8, **settings),
            "models": lambda: ct.compare_models({"a": made, "b": made}, rng=1),
        }[subject]()

    subject = draw.one(
        ("test", "lens", "groups", "verdict", "report", "monitor", "power", "models")
    )
    text = f"{subject} {test}: {y!r}, {given!r}"
    return Case(f"forecasts {subject}", call, [y, *given.values()], text)


KINDS: dict[str, Callable[[Draw], Case]] = {
    "weights": weights,
    "paths": paths,
    "state_files": state_files,
    "own_lens": own_lens,
    "forecasts": forecasts,
}
