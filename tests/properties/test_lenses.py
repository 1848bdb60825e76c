"""Every lens equals the loop that its definition says, with ties, zeros and ones."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caltest import Predictions
from caltest.lenses import (
    Classwise,
    Confidence,
    Grouped,
    Largest,
    Strong,
    TopLabel,
    TopRank,
    WithinTop,
)
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 12), (2, 6), weighted=False)

CLOSE = {"rtol": 0, "atol": 1e-14}


def falling(row):
    """List the classes of a row from the largest probability to the smallest."""
    return sorted(range(len(row)), key=lambda k: (-row[k], k))


def assert_induced(seen, loop):
    """Assert probabilities and labels, given as a list of pairs."""
    np.testing.assert_allclose(seen.probs, [probs for probs, _ in loop], **CLOSE)
    assert seen.labels.tolist() == [label for _, label in loop]


def rows_of(seen):
    """Pair each row of probabilities with its label."""
    return zip(seen.probs.tolist(), seen.labels.tolist(), strict=True)


@given(PREDICTIONS)
def test_confidence_equals_its_definition(given_):
    """Confidence: (1 - max p, max p), 1 where y is the first class with the maximum."""
    loop = [([1 - max(row), max(row)], int(y == row.index(max(row)))) for row, y in rows_of(given_)]
    assert_induced(Confidence()(given_), loop)


@given(PREDICTIONS)
def test_classwise_equals_its_definition(given_):
    """Classwise: (1 - p_k, p_k), 1 where y = k, for each class k."""
    for k, lens in enumerate(Classwise().members(given_)):
        assert_induced(lens(given_), [([1 - p[k], p[k]], int(y == k)) for p, y in rows_of(given_)])


@given(PREDICTIONS)
def test_top_label_equals_its_definition(given_):
    """TopLabel: confidence of the rows with one predicted class; the members share out the rows."""
    n = 0
    for lens in TopLabel().members(given_):
        loop = [
            ([1 - max(row), max(row)], int(y == lens.k))
            for row, y in rows_of(given_)
            if row.index(max(row)) == lens.k
        ]
        assert_induced(lens(given_), loop)
        n += len(loop)
    assert n == given_.n


@given(PREDICTIONS, st.data())
def test_top_rank_equals_its_definition(given_, data):
    """TopRank: the r-th largest, 1 where y is its class, ties by the order of the classes."""
    r = data.draw(st.integers(1, given_.m))
    loop = []
    for row, y in rows_of(given_):
        k = falling(row)[r - 1]
        loop.append(([1 - row[k], row[k]], int(y == k)))
    assert_induced(TopRank(r)(given_), loop)


@given(PREDICTIONS, st.data())
def test_within_top_equals_its_definition(given_, data):
    """WithinTop: the sum of the r largest, 1 where y is among them."""
    r = data.draw(st.integers(1, given_.m - 1))
    loop = []
    for row, y in rows_of(given_):
        top = falling(row)[:r]
        total = sum(row[k] for k in top)
        loop.append(([1 - total, total], int(y in top)))
    assert_induced(WithinTop(r)(given_), loop)


@given(PREDICTIONS, st.data())
def test_largest_equals_its_definition(given_, data):
    """Largest: the r largest, sorted, and the rest; the label is the place of y among them."""
    r = data.draw(st.integers(1, given_.m - 1))
    loop = []
    for row, y in rows_of(given_):
        top = falling(row)[:r]
        kept = [row[k] for k in top]
        loop.append(([*kept, 1 - sum(kept)], top.index(y) if y in top else r))
    assert_induced(Largest(r)(given_), loop)


@given(PREDICTIONS, st.data())
def test_grouped_equals_its_definition(given_, data):
    """Grouped: sums over groups; the classes in none form the last."""
    m = given_.m
    codes = data.draw(st.permutations(range(m)))
    size = data.draw(st.integers(1, m - 1))
    groups = [[k] for k in codes[: size - 1]] + [list(codes[size - 1 : m - 1])]
    parts = [*groups, [codes[m - 1]]]
    loop = [
        (
            [sum(p[k] for k in part) for part in parts],
            next(g for g, s in enumerate(parts) if y in s),
        )
        for p, y in rows_of(given_)
    ]
    assert_induced(Grouped(groups)(given_), loop)


@given(PREDICTIONS, st.data())
def test_lenses_give_valid_predictions(given_, data):
    """What a lens gives passes the checks of Predictions unchanged, bit for bit."""
    r = data.draw(st.integers(1, given_.m - 1))
    members = [*Classwise().members(given_), *TopLabel().members(given_)]
    for lens in [Strong(), Confidence(), TopRank(r), WithinTop(r), Largest(r), *members]:
        seen = lens(given_)
        np.testing.assert_array_equal(Predictions(seen.probs, seen.labels).probs, seen.probs)
