"""Which rows are in which segment."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from caltest.errors import NotApplicable
from caltest.segments import cells
from caltest.segments.cells import SegmentBlock, Tables, matrix_chunks
from caltest.segments.inputs import column_of, without_rare

pytestmark = pytest.mark.loops


def tables_of(values, min_size=3):
    """Return the tables of columns of an array (n, d), rows read backwards."""
    n = len(values)
    columns = (column_of(column, n, f"x{j}", 9) for j, column in enumerate(values.T))
    kept = tuple(without_rare(column, min_size) for column in columns)
    return Tables(kept, np.arange(n)[::-1], min_size)


def members(chunks, n):
    """Return the rows of each segment by its definition."""
    found = {}
    for chunk in chunks:
        rows, segments = chunk.pairs(0, n)
        for s in range(chunk.size):
            found[chunk.definition(s)] = (n - 1 - rows[segments == s]).tolist()
    return found


def test_tables_hold_all_intersections():
    """Every pair of values with enough rows is there, with its rows."""
    values = np.random.default_rng(1).integers(0, 3, (40, 3))
    found = members(SegmentBlock.of(tables_of(values).crossed(2)), 40)
    for a, b in [(0, 1), (0, 2), (1, 2)]:
        for u, v in product(range(3), repeat=2):
            rows = np.flatnonzero((values[:, a] == u) & (values[:, b] == v))
            got = found.get(f"x{a} = {u} & x{b} = {v}", [])
            assert sorted(got) == (rows.tolist() if rows.size >= 3 else [])


def test_intersection_that_changes_nothing_is_left_out():
    """Where one column follows from the other, no pair is a segment of its own."""
    first = np.arange(40) % 4
    values = np.column_stack([first, first // 2])
    assert len(members(SegmentBlock.of(tables_of(values).crossed(1)), 40)) == 6
    assert not members(SegmentBlock.of(tables_of(values).crossed(2)), 40)


def test_three_columns_are_crossed():
    """Depth 3 has the cells of the cube."""
    values = np.random.default_rng(2).integers(0, 2, (200, 3))
    found = members(SegmentBlock.of(tables_of(values).crossed(3)), 200)
    assert len(found) == 8
    rows = np.flatnonzero((values == [1, 0, 1]).all(axis=1))
    assert sorted(found["x0 = 1 & x1 = 0 & x2 = 1"]) == rows.tolist()


def test_tables_are_spread_over_chunks(monkeypatch):
    """How many does not matter to what they hold."""
    values = np.random.default_rng(3).integers(0, 3, (60, 4))
    whole = members(SegmentBlock.of(tables_of(values).crossed(2)), 60)
    monkeypatch.setattr(cells, "CELLS", 10)
    chunks = list(SegmentBlock.of(tables_of(values).crossed(2)))
    assert len(chunks) > 1
    assert members(chunks, 60) == whole


def test_matrix_has_each_set_of_rows_once():
    """Equal columns, small ones and those of all rows are left out."""
    matrix = np.random.default_rng(4).random((30, 5)) < 0.4
    matrix[:, 3] = matrix[:, 0]
    matrix[:, 4] = True
    chunks = matrix_chunks(matrix, np.arange(30)[::-1], list("abcde"), 3)
    found = members(chunks, 30)
    assert sorted(found) == ["a", "b", "c"]
    assert sorted(found["b"]) == np.flatnonzero(matrix[:, 1]).tolist()


def test_too_many_combinations_are_refused(monkeypatch):
    monkeypatch.setattr(cells, "COMBINATIONS", 4)
    values = np.random.default_rng(5).integers(0, 3, (60, 2))
    with pytest.raises(NotApplicable, match=r"combinations of values .* pass depth=1"):
        list(SegmentBlock.of(tables_of(values).crossed(2)))


def test_unions_are_both_sides_of_cuts():
    """With every value and every other side; what the tables have is left to them."""
    rng = np.random.default_rng(6)
    age, site = rng.normal(size=400), rng.choice(["a", "b"], 400)
    columns = tuple(column_of(values, 400, name, 4) for values, name in ((age, "x"), (site, "s")))
    columns = (replace(columns[0], ends=(100, 100)), columns[1])
    tables = Tables(columns, np.arange(400), 20)
    [chunk] = SegmentBlock.of(tables.crossed(2, united=True))
    _, cells_of_rows = chunk.pairs(0, 400)
    counts = np.bincount(cells_of_rows, minlength=chunk.cells)[:, None]
    found = {chunk.definition(s): n for s, n in enumerate(chunk.combine(counts)[:, 0].tolist())}
    cuts = [float(text) for text in columns[0].cuts]
    assert len(found) == 8
    for k, name in ((1, "<="), (2, "<="), (0, ">"), (1, ">")):
        side = age <= cuts[k] if name == "<=" else age > cuts[k]
        definition = f"x {name} {columns[0].cuts[k]} & s = b"
        assert found[definition] == pytest.approx((side & (site == "b")).sum(), abs=1)
    [alone] = SegmentBlock.of(tables.crossed(1, united=True))
    assert alone.definition(0) == f"x > {columns[0].cuts[0]}"
    assert alone.size == 4
