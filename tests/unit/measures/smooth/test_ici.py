"""The integrated calibration index: by rows and by moments, under lenses, at its extremes."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.measures import REGISTRY, e50, e90, emax, ici

FAMILY = {"ici": ici, "e50": e50, "e90": e90, "emax": emax}


def simulated(n):
    """Return predictions and overconfident labels."""
    rng = np.random.default_rng(n)
    p = rng.beta(0.8, 2, n)
    return Predictions(p, rng.random(n) < 0.8 * p + 0.05)


@pytest.mark.parametrize("measure", FAMILY.values(), ids=FAMILY)
def test_constant_and_certain_predictions(measure):
    """The loess of a constant is the share of events, one row is its own."""
    assert measure([0.25] * 8, np.arange(8) % 2) == pytest.approx(0.25)
    assert measure([0.25], [1]) == 0.75
    assert measure([0.0, 1.0] * 10, [0, 1] * 10) == 0


@pytest.mark.parametrize("n", [200, 40_000])
def test_tiny_predictions_have_the_same_loess(n):
    """The fits do not depend on the unit of the predictions, here 1e-301."""
    data = simulated(n)
    tiny = Predictions(2.0**-1000 * data.probs[:, 1], data.labels)
    ours, others = (REGISTRY["ici"]().bind(one) for one in (tiny, data))
    labels = ours.observed[np.newaxis]
    fits = (one.statistic.sums.fits(labels) for one in (ours, others))
    np.testing.assert_allclose(*fits, rtol=1e-9, atol=1e-12)
    assert np.isfinite(ours.value())


@pytest.mark.parametrize(("measure", "summary"), [(e50, np.median), (emax, np.max)])
def test_other_summaries_of_four_rows_by_hand(measure, summary):
    """A span of one half fits two rows: with far neighbours, each row is its own loess."""
    p, y = np.array([0.1, 0.3, 0.6, 1.0]), np.array([0, 1, 1, 1])
    errors = np.abs(y - p)  # .1, .7, .4, 0
    assert measure(p, y, span=0.5) == pytest.approx(summary(errors))
    assert e90(p, y, span=0.5) == pytest.approx(np.quantile(errors, 0.9))
