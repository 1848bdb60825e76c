"""Parts of several types are read, or refused, the same by every engine and from every source."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput

M = 3
CODES = (pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64, pl.Decimal(10, 2))
TEXT = (pl.String, pl.Categorical, pl.Enum(["0", "1", "2"]), pl.Enum(["2", "1", "0", "x"]))
PROBS = (pl.Float32, pl.Float64, pl.Decimal(20, 8), pl.Decimal(12, 6))
# Cells and chunks; the test of each gives a statistic and a p-value of its own draws.
ENGINES = {
    "rows": {"test": "ece", "lens": "confidence"},
    "cells": {"test": "ece", "lens": "confidence"},
    "chunks": {"test": "combined"},
}


def part(seed: int, label, prob=pl.Float64, classes: int = M) -> pl.DataFrame:
    """Return 40 rows whose probabilities are 64ths, which all types hold."""
    rng = np.random.default_rng(seed)
    p = rng.multinomial(64, np.full(classes, 1 / classes), 40) / 64
    columns = {f"p_{k}": pl.Series(p[:, k]).cast(prob) for k in range(classes)}
    codes = pl.Series(rng.integers(0, classes, 40))
    if label in TEXT:
        codes = codes.cast(pl.String)
    return pl.DataFrame({**columns, "y": codes.cast(label)})


def answer(parts, engine: str, *, on_error: str = "raise"):
    """Return the number of rows, the statistic and the p-value."""
    options = {"label": "y", "engine": engine, "n_resamples": 19, "rng": 0, **ENGINES[engine]}
    if engine != "rows":
        options["on_error"] = on_error
    result = ct.test_calibration(None, parts, **options)
    return result.n, round(result.statistic, 9), result.pvalue


@cache
def expected(engine: str):
    """Return the answer for parts of one type."""
    return answer(iter([part(0, pl.Int64), part(1, pl.Int64)]), engine)


def sources(one: pl.DataFrame, other: pl.DataFrame, folder):
    """Yield the two parts as files and as chunks of several libraries."""
    paths = [folder / "a.parquet", folder / "b.parquet"]
    for frame, path in zip((one, other), paths, strict=True):
        frame.write_parquet(path)
    yield paths
    yield iter([one, other])
    yield iter([one.to_pandas(), other.to_pandas()])
    yield iter([one.to_arrow(), other.to_arrow()])


WAYS = [(engine, "raise") for engine in ENGINES] + [("cells", "skip")]


def check_read_alike(types, one, part_of) -> None:
    """Check that a part of one type and one of each other are read, all rows of both once.

    Each pair of types by every second engine, of which a type meets all.
    """
    for place, other in enumerate(types):
        for engine, on_error in WAYS[(place + types.index(one)) % 2 :: 2]:
            parts = iter([part_of(0, one), part_of(1, other)])
            assert answer(parts, engine, on_error=on_error) == expected(engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("one", "other"), [(pl.Int8, pl.Float64), (pl.UInt64, pl.Int64), TEXT[:2]], ids=str
)
def test_parts_of_two_types_are_read(tmp_path, one, other, engine):
    """What a cast makes one type is read by every engine, and no row is left out."""
    for source in sources(part(0, one), part(1, other), tmp_path):
        assert answer(source, engine) == expected(engine)


@pytest.mark.full
@pytest.mark.parametrize(
    ("types", "one"), [(types, one) for types in (CODES, TEXT, PROBS) for one in types], ids=str
)
def test_parts_of_any_two_types_are_read(types, one):
    """Labels that are whole numbers, or text, and probabilities are the same in every type."""
    labelled = part if types != PROBS else lambda seed, prob: part(seed, pl.Int64, prob)
    check_read_alike(types, one, labelled)


@pytest.mark.parametrize("engine", ["rows", "cells"])
@pytest.mark.parametrize("other", CODES, ids=str)
def test_parts_with_truth_values_are_read_as_numbers(other, engine):
    """True is 1 in whichever part it stands, and whatever the columns are called."""
    for names in ({}, {"p_0": "p_true", "p_1": "p_false"}):
        frames = [part(k, pl.Int64, classes=2).rename(names) for k in (0, 1)]
        frames = [one.with_columns(y=1 - pl.col("y")) for one in frames] if names else frames
        same = answer(iter(frames), engine)
        for order in (1, -1):
            types = (pl.Boolean, other)[::order]
            mixed = [
                one.with_columns(pl.col("y").cast(t)) for one, t in zip(frames, types, strict=True)
            ]
            assert answer(iter(mixed), engine) == same


@pytest.mark.parametrize("other", [*TEXT[:2], pl.Date], ids=str)
def test_parts_that_no_cast_makes_one_are_refused(tmp_path, other):
    """Text beside numbers is another column, by every engine."""
    one, two = part(0, pl.Int64), part(1, pl.String)
    two = two.with_columns(y=pl.lit(0, pl.Date)) if other == pl.Date else part(1, other)
    for engine in ENGINES:
        for source in sources(one, two, tmp_path):
            with pytest.raises(InvalidInput, match="all parts must have the same columns"):
                answer(source, engine)


def test_text_among_the_numbers_of_one_part_is_named():
    """Whichever part it stands in; numbers that are text in one part alone have no such row."""
    good, typed = part(0, pl.Int64), part(1, pl.Int64).with_columns(pl.col("p_1").cast(pl.String))
    wrong = typed.with_columns(
        p_1=pl.when(pl.int_range(40) == 7).then(pl.lit("x")).otherwise("p_1")
    )
    for parts, ending in (
        ([good, wrong], "part: 'x' in row 7;"),
        ([wrong, good], "part: 'x' in row 7 of that;"),
        ([good, typed], "part;"),
    ):
        with pytest.raises(InvalidInput, match=ending):
            answer(iter(parts), "rows")


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_that_are_not_asked_for_may_differ(tmp_path, engine):
    """A column of notes that is text in one part, and absent in another, is no matter."""
    frames = [part(k, pl.Int64) for k in (0, 1)]
    noted = [
        frames[0].with_columns(note=pl.lit(1), more=pl.lit(2)),
        frames[1].with_columns(note=pl.lit("A1")),
    ]
    for source in sources(*noted, tmp_path):
        assert answer(source, engine) == expected(engine)
