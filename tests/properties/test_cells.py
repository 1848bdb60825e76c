"""Cells do not depend on the order of the rows, on how they are cut, nor on the engine."""

import itertools

import narwhals as nw
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caltest.lenses import resolve_lens
from caltest.sources import Counting, counted
from caltest.sources.columns import Columns

PROBS = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 1.0, 0.1, 0.5, 2**-16, 1e-300]),
    st.floats(0, 1, width=32),
)
COUNTING = Counting(
    Columns("y", ("p",), (0, 1), (0.0, 1.0), "number"), (resolve_lens("strong"),), (10, 15)
)


@st.composite
def cut_rows(draw):
    """Draw rows, and the same in another order and in pieces."""
    rows = draw(st.lists(st.tuples(PROBS, st.integers(0, 1)), min_size=1, max_size=60))
    frame = pl.DataFrame({"p": [p for p, _ in rows], "y": [y for _, y in rows]})
    shuffled = frame[draw(st.permutations(range(len(rows))))]
    cuts = draw(st.lists(st.integers(0, len(rows)), max_size=3))
    edges = [0, *sorted(set(cuts) - {0, len(rows)}), len(rows)]
    return frame, [shuffled[a:b] for a, b in itertools.pairwise(edges)]


@pytest.mark.full
@given(cut_rows())
def test_order_and_chunks_change_no_digit(rows):
    frame, pieces = rows
    assert counted(pieces, COUNTING).equals(counted([frame], COUNTING))


@pytest.mark.cases(1)
@pytest.mark.parametrize("engine", ["pandas", "arrow", "lazy", "duckdb"])
@settings.get_profile("few")
@given(rows=cut_rows())
def test_engines_change_no_digit(engine, rows):
    frame, _ = rows
    if engine == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect() as connection:
            other = counted([connection.from_arrow(frame.to_arrow())], COUNTING)
    else:
        convert = {"pandas": frame.to_pandas, "arrow": frame.to_arrow, "lazy": frame.lazy}
        other = counted([convert[engine]()], COUNTING)
    assert other.equals(counted([frame], COUNTING))


@pytest.mark.full
@given(cut_rows())
def test_rows_that_are_tallied_have_the_cells_of_the_query(rows):
    """Counted as they are read, and grouped by the engine."""
    frame, _ = rows
    grouped = COUNTING.query(nw.from_native(frame).lazy())
    assert COUNTING.merged([grouped]).equals(counted([frame], COUNTING))


@given(cut_rows())
def test_cells_have_the_sums_of_the_rows(rows):
    """Rows and events exactly, probabilities to 2^-36 each."""
    frame, _ = rows
    p, y = frame["p"].to_numpy(), frame["y"].to_numpy()
    cells = COUNTING.split(counted([frame], COUNTING))[0][None]
    assert (cells.rows, cells.events.sum()) == (p.size, y.sum())
    assert abs(cells.expected.sum() - p.sum()) <= p.size * 2.0**-36
    assert abs(cells.variance.sum() - (p * (1 - p)).sum()) <= p.size * 2.0**-35
    assert (cells.least <= cells.mean).all()
    assert (cells.mean <= cells.most).all()
