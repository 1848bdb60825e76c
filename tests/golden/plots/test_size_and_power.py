"""Picture of size and power."""

import numpy as np

from caltest import plots


def test_size_and_power_look_as_they_did(assert_same_picture):
    """Two models, a size and a power, of p-values that are no random numbers."""
    u = (np.arange(200) + 0.5) / 200
    pvalues = {
        "calibrated": {"exact": u, "too often": u**1.5, "seldom": u**0.7},
        "not": {"exact": u**3, "too often": u**4, "seldom": u**2},
    }
    panels = plots.size_and_power(pvalues, calibrated=["calibrated"])
    assert_same_picture(panels[0].figure, "size_and_power")
