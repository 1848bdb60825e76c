"""What holds for groups along the risk of any predictions."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow, PigeonHeyse
from caltest.testing import strategies
from caltest.units import RowUnits

PREDICTIONS = strategies.predictions((1, 30), 2, weighted=False)

MEASURES = st.sampled_from([HosmerLemeshow, PigeonHeyse])


@given(PREDICTIONS, st.integers(2, 12), MEASURES)
def test_groups_part_the_rows_and_never_ties(data, groups, measure):
    """Ascending, none empty, at most as many as asked for."""
    bound = measure(groups=groups).risk_groups(RowUnits(data))
    assert bound.count <= groups
    assert (np.diff(bound.start) > 0).all()
    inner = bound.start[1:-1]
    p = bound.units.mean
    assert (p[inner - 1] < p[inner]).all()


@given(PREDICTIONS, st.integers(2, 12), MEASURES)
def test_value_is_not_negative_and_defined(data, groups, measure):
    """Infinite only where a class with the expected count 0 is observed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        bound = measure(groups=groups).bind(data)
        value = bound.value()
    assert value >= 0
    possible = np.where(data.labels, data.probs[:, 1], data.probs[:, 0]) > 1e-100
    assert np.isfinite(value) or not possible.all() or bound.degenerate


@given(PREDICTIONS, st.integers(2, 12))
def test_pigeon_heyse_is_at_least_hosmer_lemeshow(data, groups):
    """The variance of a sum of unequal Bernoullis is at most that of a binomial."""
    pooled, exact = (
        kind(groups=groups).bind(data).value() for kind in (HosmerLemeshow, PigeonHeyse)
    )
    assert exact >= pooled * (1 - 1e-9)
