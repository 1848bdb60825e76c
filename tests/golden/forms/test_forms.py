"""Statistic, p-value and interval of every test by every form of the rows, in forms.txt.

    python tests/golden/forms/test_forms.py          # writes the table: read what changed
    python tests/golden/forms/test_forms.py KEY...   # the lines of these tests alone

A line has the test, the form, the number of classes, and what the form gives: of one result the
statistic, the p-value and the ends of its 90 % interval; of a table those of its rows, adjusted
p-values and the p-value of all rows together; the type of the error where the form is refused.
Neither the class of the result nor what it says in words is kept here.
"""

import math
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.htests import REGISTRY as EVERY_TEST
from caltest.nulls import REGISTRY as NULLS

REGISTRY = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

TABLE = Path(__file__).with_name("forms.txt")
COMMAND = "python tests/golden/forms/test_forms.py"
DEFAULT = "default"  # no test is named
MANY = 510  # groups: from 501 on they are tested in one pass
RELATIVE, ABSOLUTE = 1e-9, 1e-12
KEYS = [*REGISTRY, DEFAULT]
SEVERAL = ["skce", "ece", "ks", "brier", "smooth-ece"]  # are adjusted jointly
P = ["p_0", "p_1", "p_2"]

# ---- data ----------------------------------------------------------------------------------------


@cache
def rows_of(m, n=120):
    """Return predictions that are overconfident, without and with ties."""
    rng = np.random.default_rng(100 + m)
    probs = rng.dirichlet(np.full(m, 1.2), n).clip(0.01, None)
    probs[::2] = probs[::2].round(1).clip(0.05, None)
    probs /= probs.sum(axis=1, keepdims=True)
    true = np.sqrt(probs)
    true /= true.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > true.cumsum(axis=1)).sum(axis=1).clip(max=m - 1)
    return probs, labels


def weights_of(n=120):
    """Return weights of rows, one of them 0."""
    weights = np.random.default_rng(5).integers(1, 5, n).astype(float)
    weights[7] = 0.0
    return weights


def clusters_of(n=120):
    """Return clusters of one to five rows."""
    return np.random.default_rng(6).integers(n // 3, size=n)


@cache
def frame_of(m, n=120, groups=10):
    """Return the rows as a frame, with groups, weights and clusters."""
    probs, labels = rows_of(m, n)
    columns = {"p": probs[:, 1]} if m == 2 else dict(zip(P, probs.T, strict=True))
    rest = {"y": labels, "g": np.arange(n) % groups, "w": weights_of(n), "c": clusters_of(n)}
    return pl.DataFrame(columns | rest)


# ---- forms ---------------------------------------------------------------------------------------


def in_memory(m, sample_weight=None, **settings):
    data = ct.Predictions(*rows_of(m), classes=list(range(m)), sample_weight=sample_weight)
    return lambda **test: ct.test_calibration(None, data, **settings, **test)


def of_a_frame(m, n=120, groups=10, **settings):
    """Ask of rows in a frame, by an engine."""
    named = {"label": "y", "probs": "p" if m == 2 else P}
    frame = frame_of(m, n, groups)
    return lambda **test: ct.test_calibration(None, frame, **named, **settings, **test)


def forms(key):
    """Yield each form of a test: its name, number of classes, and a function that asks."""
    ten, W, C = np.arange(120) % 10, weights_of(), clusters_of()
    for m in (2, 3):
        if key != DEFAULT:
            yield "rows", m, in_memory(m)
            yield "rows weights", m, in_memory(m, sample_weight=W)
            yield "rows clusters", m, in_memory(m, cluster=C)
            yield "rows clusters weights", m, in_memory(m, cluster=C, sample_weight=W)
        yield "rows groups", m, in_memory(m, by=ten)
    yield "rows groups weights", 2, in_memory(2, by=ten, sample_weight=W)
    yield "rows groups clusters", 2, in_memory(2, by=ten, cluster=C)
    if key == DEFAULT:
        for m in (2, 3):
            yield "rows several tests", m, in_memory(m, test=SEVERAL)
        yield "cells several tests", 2, of_a_frame(2, engine="cells", test=SEVERAL)
        yield "rows several lenses", 3, in_memory(3, test="ece", lens=["confidence", "top-2"])
        yield "rows segments", 2, in_memory(2, segments=pl.DataFrame({"g": ten % 3, "h": ten % 2}))
        yield "cells segments", 2, of_a_frame(2, groups=4, engine="cells", segments=["g"])
    else:
        yield "rows confidence", 3, in_memory(3, lens="confidence")
        yield "rows confidence weights", 3, in_memory(3, lens="confidence", sample_weight=W)
        yield "rows confidence clusters", 3, in_memory(3, lens="confidence", cluster=C)
        yield "rows classwise", 3, in_memory(3, lens="classwise")
        yield "cells", 2, of_a_frame(2, engine="cells")
        yield "cells confidence", 3, of_a_frame(3, engine="cells", lens="confidence")
        yield "cells classwise", 3, of_a_frame(3, engine="cells", lens="classwise")
        yield "cells weights", 2, of_a_frame(2, engine="cells", sample_weight="w")
        yield "chunks", 3, of_a_frame(3, 300, engine="chunks")
        yield "chunks weights", 3, of_a_frame(3, 300, engine="chunks", sample_weight="w")
    yield "cells groups", 2, of_a_frame(2, engine="cells", by="g")
    yield "cells groups confidence", 3, of_a_frame(3, engine="cells", by="g", lens="confidence")
    yield "cells groups weights", 2, of_a_frame(2, engine="cells", by="g", sample_weight="w")
    yield "cells many groups", 2, of_a_frame(2, 4 * MANY, MANY, engine="cells", by="g")
    if key != DEFAULT:
        for null in NULLS:
            if null in REGISTRY[key].nulls[1:]:
                for m in (2, 3):
                    yield f"rows {null}", m, in_memory(m, null=null)
        if key in ("skce", "skce-linear", "skce-block", "debiased-ece", "ks"):
            yield "rows tolerance", 2, in_memory(2, tolerance=0.01)
            yield "cells tolerance", 2, of_a_frame(2, engine="cells", tolerance=0.01)
            yield "rows tolerance clusters", 2, in_memory(2, tolerance=0.01, cluster=C)


# ---- lines ---------------------------------------------------------------------------------------


def lines_of(key, only=None, some=slice(None)):
    return [
        f"{key:<25} {form:<24} {m}  {given(ask, key)}"
        for form, m, ask in [*forms(key)][some]
        if only is None or form == only
    ]


def given(ask, key):
    """Return what a form gives, or the type of the error."""
    test = {} if key == DEFAULT else {"test": key}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = ask(**test, n_resamples=99, rng=7)
        except (NotApplicable, InvalidInput) as error:
            return type(error).__name__
        return " ".join(f"{name} {numbers(values)}" for name, values in parts(result))


def parts(result):
    """Yield what is kept of a result: names and numbers."""
    if hasattr(result, "confidence_interval"):
        yield "T", [result.statistic]
        yield "p", [result.pvalue]
        yield "interval", interval(result)
        return
    yield from table_columns(result)
    together = getattr(result, "together", getattr(result, "pvalue", None))
    yield "together", [] if together is None else [together]


def table_columns(result):
    """Yield statistics and p-values of the rows of a table, of segments, or of very many groups."""
    if hasattr(result, "statistics") and hasattr(result, "pvalues"):
        yield from column("T", result.statistics)
        yield from column("p", result.pvalues)
    elif hasattr(result, "adjusted"):
        yield from column("T", [row.statistic for row in result.rows])
        yield from column("p", [row.pvalue for row in result.rows])
    else:
        yield from column("z", [segment.z for segment in result.rows])
        yield from column("low", [segment.low for segment in result.rows])
        yield from column("adjusted", [segment.adjusted for segment in result.rows])
        return
    yield from column("adjusted", result.adjusted)


def column(name, values):
    """Yield a column: all of a short one, of a long one its sum, its start and its extremes."""
    values = np.asarray(values, dtype=float)
    if values.size <= 20:
        yield name, values
    else:
        yield f"sum of {values.size} {name}", [values.sum(), *values[:3]]
        yield "extremes", [values.min(), values.max()]


def interval(result):
    """Return the ends of the interval; of one that is refused, no number."""
    try:
        found = result.confidence_interval(0.9, n_resamples=99)
    except (NotApplicable, InvalidInput):
        return []
    return [found.low, found.high]


def numbers(values):
    """Write numbers with ten significant digits."""
    return ",".join(f"{value:.10g}" for value in values) or "-"


def same(line, other):
    """Tell whether words agree, and numbers to ten digits."""
    words, others = (text.replace(",", " ").split() for text in (line, other))
    return len(words) == len(others) and all(map(same_word, words, others))


def same_word(word, other):
    """Tell whether two words agree, or are numbers that do."""
    try:
        first, second = float(word), float(other)
    except ValueError:
        return word == other
    return math.isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE) or word == other


def kept_lines(key):
    return [line for line in TABLE.read_text("utf-8").splitlines() if line.split()[0] == key]


def assert_kept(found, kept):
    """Compare lines, and show those that differ."""
    assert [line[:52] for line in found] == [line[:52] for line in kept], f"run `{COMMAND}`"
    pairs = zip(found, kept, strict=True)
    differ = [f"now  {line}\nkept {old}" for line, old in pairs if not same(line, old)]
    assert not differ, "\n".join([*differ, f"if it is meant: `{COMMAND}`"])


# ---- tests ---------------------------------------------------------------------------------------


@pytest.mark.cases(99)
@pytest.mark.parametrize("key", REGISTRY)
def test_rows_of_a_test_are_kept(key):
    """Statistic, p-value and interval by rows in memory, of two and of three classes."""
    kept = [line for line in kept_lines(key) if line[26:50].strip() == "rows"]
    assert_kept(lines_of(key, only="rows"), kept)


@pytest.mark.full
@pytest.mark.cases(1, full=99)
@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", KEYS)
def test_forms_of_a_test_are_kept(key, every):
    """Also by weights, clusters, groups, cells, chunks, and under every null.

    Of each test every second form: each form is asked of every second test.
    """
    some = slice(KEYS.index(key) % every, None, every)
    assert_kept(lines_of(key, some=some), kept_lines(key)[some])


def test_table_has_every_test():
    """No line is of a test that is no longer there."""
    keys = {line.split()[0] for line in TABLE.read_text("utf-8").splitlines()}
    assert keys == {*KEYS}


if __name__ == "__main__":
    asked = sys.argv[1:] or KEYS
    table = [line for key in KEYS for line in (lines_of(key) if key in asked else kept_lines(key))]
    TABLE.write_text("\n".join(table) + "\n", encoding="utf-8")
