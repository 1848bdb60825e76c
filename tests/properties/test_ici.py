"""What holds for the loess errors of any predictions."""

import numpy as np
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
