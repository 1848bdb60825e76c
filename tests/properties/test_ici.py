"""What holds for the loess errors of any predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest.measures import e50, e90, emax, ici

PROBS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 1 / 3, 1.0]), st.floats(0, 1))
ROWS = st.lists(st.tuples(PROBS, st.integers(0, 1)), min_size=1, max_size=40)
SPANS = st.floats(0.05, 1)


@given(ROWS, SPANS)
def test_errors_are_ordered_and_defined(rows, span):
    """E50 <= E90 <= Emax, and the ICI is a mean of the same errors."""
    p, y = np.array(rows).T
    values = [measure(p, y.astype(int), span=span) for measure in (e50, e90, emax, ici)]
    assert np.isfinite(values).all()
    assert 0 <= values[0] <= values[1] + 1e-12
    assert values[1] <= values[2] + 1e-12
    assert values[3] <= values[2] + 1e-12


@given(ROWS, SPANS, st.randoms())
def test_order_of_rows_does_not_matter(rows, span, random):
    shuffled = random.sample(rows, len(rows))
    first, second = (
        ici(p, y.astype(int), span=span) for p, y in (np.array(rows).T, np.array(shuffled).T)
    )
    assert first == pytest.approx(second, rel=1e-9, abs=1e-12)
