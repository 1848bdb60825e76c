"""Values for generated calls: predictions in every form, options of the registries, odd values."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b",
    r"back\slash",
    "$x_1^2$",
    "100 % {of} #1 & ~more",
    "two\nlines",
    "],&quot;'\"",
    "${jndi:x}",
    "é漢😀",
    "\u202eright to left",
    "\\input{/etc/passwd}",
    "`code` **bold** ![x](javascript:1)",
    "",
    " ",
    "nan",
    "x" * 300,
)
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.5,
    -0.5,
    1.5,
    1e308,
    5e-324,
    10**400,
    float("nan"),
    float("inf"),
    -float("inf"),
    "",
    "x",
    "nan",
    "0.5",
    b"bytes",
    1j,
    Decimal("NaN"),
    Decimal("0.5"),
    (),
    [],
    {},
    {"a": 1},
    [None],
    [1, 2, 3],
    ["a", "b"],
    [[0.5, 0.5]],
    [[1], [1, 2]],
    range(3),
    np.array([]),
    np.array(0.5),
    np.zeros((2, 2, 2)),
    np.array([0.5, np.nan]),
    np.array(["a", None], dtype=object),
    np.float32(0.25),
    np.int8(-5),
    np.datetime64("NaT", "s"),
    {1, 2},
    dict,
    object,
    Ellipsis,
)


class Tensor:
    """What has `__array__` and nothing else, as the tensors of some libraries."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.array(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self.values, dtype=dtype)

    def tolist(self) -> Any:
        return self.values.tolist()


class Lent:
    """What gives its memory by DLPack alone."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.array(values)

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()

    def tolist(self) -> Any:
        return self.values.tolist()


@dataclass
class Case:
    """A call, and how it is written."""

    subject: str
    call: Callable[[], Any]
    inputs: Sequence[Any] = ()
    text: str = ""
    makes: tuple[str, ...] = ()  # the files that it may make


@dataclass
class Draw:
    """What a seed draws."""

    rng: np.random.Generator
    folder: Path
    broken: bool = False
    notes: list[str] = field(default_factory=list)

    def one(self, values: Sequence[Any]) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def chance(self, p: float) -> bool:
        """Tell whether something of a probability happens."""
        return bool(self.rng.random() < p)

    def whole(self, low: int, high: int) -> int:
        """Draw a whole number up to `high`."""
        return int(self.rng.integers(low, high + 1))

    def odd(self) -> Any:
        """Draw a value that fits few arguments."""
        return self.one((*ODD, *HOSTILE))

    # ---- predictions ----------------------------------------------------------------------------

    def matrix(self, n: int | None = None, m: int | None = None) -> np.ndarray:
        """Draw n rows on the simplex: smooth, sharp, one-hot, with ties, in steps, or equal."""
        n = self.one((1, 2, 3, 8, 20, 30, 40)) if n is None else n
        m = self.one((2, 2, 2, 3, 4)) if m is None else m
        kind = self.one(("smooth", "smooth", "sharp", "one-hot", "ties", "steps", "equal", "tiny"))
        probs = self.rng.dirichlet(np.full(m, 0.1 if kind == "sharp" else 1.0), n)
        probs = np.where(np.isfinite(probs).all(1, keepdims=True), probs, 1.0 / m)
        if kind == "one-hot":
            probs = np.eye(m)[probs.argmax(1)]
        elif kind == "ties":
            probs = probs[self.rng.integers(0, max(1, n // 4), n)]
        elif kind == "steps":
            probs = self.rng.multinomial(4, np.full(m, 1 / m), n) / 4
        elif kind == "equal":
            probs = np.full((n, m), 1.0 / m)
        elif kind == "tiny":
            probs[:, 0] = 10.0 ** -self.rng.integers(1, 300, n)
            probs[:, 1:] *= ((1 - probs[:, 0]) / probs[:, 1:].sum(1))[:, None]
        return probs

    def codes(self, probs: np.ndarray) -> np.ndarray:
        """Draw labels from the probabilities, from equal ones, or all of one class."""
        n, m = probs.shape
        kind = self.one(("right", "right", "other", "one"))
        if kind == "right":
            return (self.rng.random((n, 1)) > probs.cumsum(1)[:, :-1]).sum(1)
        return self.rng.integers(0, m, n) if kind == "other" else np.full(n, self.whole(0, m - 1))

    def names(self, m: int) -> list[Any]:
        kinds = [list(range(m)), [f"c{k}" for k in range(m)], [10.5 + k for k in range(m)]]
        hostile = [str(name) for name in self.rng.permutation(np.array(HOSTILE[:12]))[:m]]
        kinds += [hostile, [False, True] if m == 2 else hostile]
        return self.one(kinds)

    def arrays(self) -> tuple[Any, Any, dict[str, Any]]:
        """Draw probabilities and labels in any form, and the options that these need."""
        probs = self.matrix()
        codes = self.codes(probs)
        m = probs.shape[1]
        options: dict[str, Any] = {}
        labels: Any = codes
        if self.chance(0.4):
            names = self.names(m)
            options["classes"] = names
            labels = np.array(names, dtype=object)[codes]
            labels = labels if self.chance(0.5) else labels.tolist()
        elif self.chance(0.2):
            labels = np.eye(m, dtype=self.one((int, float, bool)))[codes]
        elif self.chance(0.3):
            labels = self.form(codes)
        values: Any = probs
        if self.chance(0.15):
            with np.errstate(divide="ignore"):
                values = np.maximum(np.log(probs), -700.0) + self.rng.normal()
            options["from_logits"] = True
            values = values[:, 1] - values[:, 0] if m == 2 and self.chance(0.3) else values
        elif m == 2 and self.chance(0.3):
            values = probs[:, 1]
        elif self.chance(0.15):
            values, options["renormalize"] = probs.round(3), True
        return self.spoiled(self.form(values)), self.spoiled(labels), options

    def form(self, values: np.ndarray) -> Any:
        """Give an array another type: a list, a dtype, an order in memory, a table."""
        kinds = ("array", "array", "list", "dtype", "order", "locked", "table", "tensor")
        kind = self.one(kinds)
        if kind == "tensor":
            return self.one((Tensor, Lent))(values)
        if kind == "list":
            return values.tolist()
        if kind == "dtype":
            whole = values.dtype.kind in "iu"
            types = ("int8", "uint16", "int64", "float32") if whole else ("float32", ">f8", "O")
            return values.astype(self.one(types))
        if kind == "order":
            return np.asfortranarray(values)[::1]
        if kind == "locked":
            values = values.copy()
            values.flags.writeable = False
        return self.frame_of(values) if kind == "table" else values

    def frame_of(self, values: np.ndarray) -> Any:
        """Make a table or a column of an array."""
        import pandas as pd
        import polars as pl

        if values.ndim == 1:
            return self.one((pd.Series, pl.Series))(values)
        columns = {f"p_{k}": values[:, k] for k in range(values.shape[1])}
        return self.one((pd.DataFrame, pl.DataFrame))(columns)

    def table(self) -> dict[str, np.ndarray]:
        """Draw the columns of a table: label, probabilities, weights, groups, clusters, times."""
        probs = self.matrix()
        n, m = probs.shape
        names = [str(name) for name in self.names(m)]
        columns: dict[str, np.ndarray] = {"y": np.array(names)[self.codes(probs)]}
        columns |= {f"p_{name}": probs[:, k] for k, name in enumerate(names)}
        columns["w"] = self.one((np.ones(n), self.rng.exponential(1, n), np.arange(n), self.far(n)))
        columns["g"] = np.array([*HOSTILE[:12], "a"])[self.rng.integers(0, 4, n) * 3]
        columns["c"] = self.rng.integers(0, max(1, n // 2), n)
        columns["t"] = np.arange(n)
        columns["age"] = self.rng.normal(50, 10, n).round()
        if self.broken and self.chance(0.5):
            name = self.one(list(columns))
            spoiled = list(np.ravel(np.array(self.spoiled(columns[name]), dtype=object)))
            columns[name] = np.array((spoiled * n)[:n] or columns[name], dtype=object)
            self.notes.append(f"column {name!r} = {columns[name]!r}")
        return columns

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Make a data frame of some library."""
        import pandas as pd
        import polars as pl
        import pyarrow as pa

        kind = self.one((pd.DataFrame, pl.DataFrame, pa.table))
        try:
            frame = kind({name: np.asarray(value) for name, value in columns.items()})
            return frame if repr(frame) else None
        except BaseException:  # noqa: BLE001, a library that does not take these columns
            return pd.DataFrame(
                {name: pd.Series(list(v), dtype=object) for name, v in columns.items()}
            )

    def of_rows(self, n: int) -> Any:
        """Draw groups, clusters or weights, of about the right number."""
        n = max(0, n + (self.whole(-1, 1) if self.broken else 0))
        groups = np.array(HOSTILE[:3])[self.rng.integers(0, 3, n)]
        kinds = [self.rng.integers(0, 3, n), groups, self.rng.random(n), np.arange(n)]
        return self.one([*kinds, groups.tolist(), np.ones(n), self.far(n)])

    def far(self, n: int) -> np.ndarray:
        """Draw weights that are tiny or huge, some of them 0."""
        weights = self.rng.random(n) * (self.rng.random(n) < self.rng.random())
        return np.asarray(weights * self.one((1e-300, 1e-9, 1e155, 1e300)))

    # ---- breaking -------------------------------------------------------------------------------

    def spoiled(self, values: Any) -> Any:
        """Break an array, if this case is to be broken: a value, the shape, the type, all of it."""
        if not self.broken or self.chance(0.7):
            return values
        kind = self.one(("cell", "cell", "odd", "shape", "short", "text", "empty", "masked"))
        if kind == "odd":
            return self.odd()
        try:
            array = np.array(values, dtype=object)
            if kind == "cell":
                array.flat[self.whole(0, max(0, array.size - 1))] = self.odd()
                return self.one((array, array.tolist()))
            changed = {
                "shape": lambda: array[None],
                "short": lambda: array[1:],
                "text": lambda: array.astype(str),
                "empty": lambda: array[:0],
                "masked": lambda: np.ma.masked_array(np.array(values), mask=True),
            }
            return changed[kind]()
        except (IndexError, ValueError, TypeError):
            return values

    def spoil(self, options: dict[str, Any]) -> dict[str, Any]:
        """Replace one to three options by odd values, if this case is to be broken."""
        if self.broken and options and self.chance(0.6):
            for _ in range(self.whole(1, 3)):
                options[self.one(list(options))] = self.odd()
        return options

    # ---- options --------------------------------------------------------------------------------

    def some(self, **options: Any) -> dict[str, Any]:
        """Keep some options, and break some; a function draws the value."""
        kept = {name: v for name, v in options.items() if self.chance(0.35)}
        return self.spoil({n: v() if inspect.isroutine(v) else v for n, v in kept.items()})

    def setting(self, default: Any, words: str = "") -> Any:
        """Draw a value like a default, or one of the choices that a docstring names."""
        choices = [part.strip("\"' ") for part in words.strip("{}").split(",")]
        if words.startswith("{"):
            return self.one([choice for choice in choices if choice] or [default])
        if isinstance(default, bool):
            return self.chance(0.5)
        if isinstance(default, int):
            return self.whole(1, 8)
        if isinstance(default, float):
            return self.one((default, 0.01, 0.5, 1.0, 3.0))
        return self.one((default, default, self.whole(1, 6), 0.5, "auto"))

    def options_of(self, source: type, fixed: Sequence[str] = ()) -> dict[str, Any]:
        """Draw options of a measure or calibrator."""
        words = documented(source)
        if dataclasses.is_dataclass(source):
            defaults = {f.name: f.default for f in dataclasses.fields(source)}
        else:
            parameters = inspect.signature(source).parameters.values()
            defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        for name in ("from_logits", "classes", "n_jobs", *fixed):
            defaults.pop(name, None)
        chosen = {n: v for n, v in defaults.items() if self.chance(0.25)}
        drawn = {n: self.setting(v, words.get(n, "")) for n, v in chosen.items()}
        return self.spoil(drawn)

    def lens(self) -> Any:
        keys = ("strong", "confidence", "classwise", "top-label", "top-1", "within-top-2")
        return self.one((*keys, "largest-2", "grouped[[0,1],[2]]", ["strong", "confidence"], "top"))


def documented(source: Any) -> dict[str, str]:
    """Return what may be given, as the command line reads it off the docstrings."""
    from caltest.cli import completion

    return completion._documented(source)  # what `caltest list` prints
