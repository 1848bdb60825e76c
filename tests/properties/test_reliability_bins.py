import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from caltest import Predictions
from caltest.measures import corp_curve, reliability_bins
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 30), 2, weighted=(1.0, 2.0, 3.0, 5.0))


@given(PREDICTIONS, st.sampled_from(["uniform", "quantile"]), st.integers(1, 9))
def test_bins_are_ordered_and_hold_all_rows(data, binning, bins):
    """Bins ascend without overlap, limits lie in [0, 1] in their order, and no row is lost."""
    found = reliability_bins(data, binning=binning, bins=bins)
    assert found.count.sum() == data.n
    assert (found.left <= found.right).all()
    assert (found.right[:-1] < found.left[1:]).all()
    assert ((found.lower >= 0) & (found.lower <= found.upper) & (found.upper <= 1)).all()


@given(PREDICTIONS, st.floats(0.5, 0.9))
def test_limits_widen_with_the_level(data, level):
    """Limits of a higher level hold those of a lower one."""
    narrow, wide = (reliability_bins(data, bins=3, confidence=share) for share in (level, 0.99))
    if data.sample_weight is None:
        assert (wide.lower <= narrow.lower).all()
        assert (wide.upper >= narrow.upper).all()


@given(PREDICTIONS)
def test_corp_curve_ascends_and_keeps_the_events(data):
    """The fit is increasing, from block to block, and its mean is the share of events."""
    curve = corp_curve(data)
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    assert (np.diff(curve.probability) > 0).all()
    assert (curve.right[:-1] < curve.left[1:]).all()
    np.testing.assert_allclose(
        curve.mass @ curve.probability, weight @ data.labels, rtol=1e-9, atol=1e-12
    )


def test_weighted_bins_of_certain_predictions_have_ordered_limits():
    """A multiple of the step may round to more than the sum of the weights."""
    event = np.array([0.0] * 3 + [1.0] + [0.0] * 20 + [1.0] * 2)
    weight = np.array([1.0, 1.0, 5.0, 4.0] + [1.0] * 22)
    data = Predictions(event, np.zeros(26, int), classes=[0, 1], sample_weight=weight)
    found = reliability_bins(data, bins=2)
    assert (found.lower <= found.upper).all()
