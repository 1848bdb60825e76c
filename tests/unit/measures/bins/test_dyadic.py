"""Sums over dyadic cells of all scales."""

import numpy as np
import pytest

from caltest.errors import NotApplicable
from caltest.measures.bins.t_cal import dyadic_statistic
from caltest.predictions import Predictions
from caltest.units.units import SortedRowUnits

pytestmark = pytest.mark.loops


def cells_of(event, scales):
    """Return the bin of each prediction at the finest scale."""
    return np.maximum(np.ceil(event * 2.0**scales).astype(int) - 1, 0)


def statistic_of(event, scales):
    """Return the statistic of sorted predictions."""
    units = SortedRowUnits(Predictions(event, np.zeros(event.size, int)))
    return dyadic_statistic(units, cells_of(event, scales), scales, event * (1 - event))


def plain_sums(residuals, event, scales):
    out = []
    for b in range(1, scales + 1):
        cells = np.maximum(np.ceil(event * 2.0**b) - 1, 0)
        parts = [residuals[cells == c] for c in np.unique(cells)]
        out.append(sum((part.sum() ** 2 - (part**2).sum()) / len(part) for part in parts))
    return out


@pytest.mark.parametrize("digits", [17, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 9, 60, 300])
def test_sums_are_those_of_every_scale_by_itself(n, digits):
    """With and without ties, for a number of rows that does not fill the lanes."""
    rng = np.random.default_rng(n)
    event = np.sort(np.round(rng.random(n), digits))
    labels = (rng.random((11, n)) < event).astype(np.uint8)
    expected = [plain_sums(row - event, event, 9) for row in labels]
    if n == 1:
        with pytest.raises(NotApplicable, match="two predictions"):
            statistic_of(event, 9)
        return
    sums = statistic_of(event, 9).sums.redrawn(labels)
    scales = sums.shape[1]
    np.testing.assert_allclose(sums, np.array(expected)[:, :scales], atol=1e-12)
    assert not np.any(np.abs(np.array(expected)[:, scales:]) > 1e-12)
