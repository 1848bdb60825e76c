"""Looking up the values of bins."""

import numpy as np
import pytest

from caltest.calibrators.binary.binning import look_up, look_up_uniform

pytestmark = pytest.mark.loops


def test_look_up_takes_the_lower_bin_at_a_cut():
    values = look_up(
        np.array([0.0, 0.2, 0.3, 1.0]), np.array([0.2, 0.5]), np.array([1.0, 2.0, 3.0])
    )
    assert values.tolist() == [1.0, 1.0, 2.0, 3.0]


def test_look_up_uniform_is_look_up_with_the_cuts():
    """The doubles k / B and their neighbours."""
    cuts = np.arange(1, 15) / 15
    scores = np.concatenate([cuts, np.nextafter(cuts, 0), np.nextafter(cuts, 1), [0.0, 1.0]])
    values = np.arange(15.0)
    assert (look_up_uniform(scores, values) == look_up(scores, cuts, values)).all()
