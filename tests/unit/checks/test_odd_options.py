"""Options of odd types that generated calls have found: each is refused by its own rule."""

import numpy as np
import pytest

import caltest as ct
from caltest.calibrators.spline.calibrator import check_spline_mode

P = np.linspace(0.1, 0.9, 20)
Y = np.tile([0, 1], 10)
ODD = np.array(["a", None], dtype=object)
CALLS = {
    "mode of a spline": lambda: check_spline_mode("top-" + "1" * 6000, 3),
    "penalty": lambda: ct.calibrators.MatrixScaling(lam=np.array(0.5j)).fit(P, Y),
    "known names": lambda: ct.plots.size_and_power({"a": P}, calibrated=5),
    "p-value": lambda: ct.plots.reliability_diagram(P, Y, pvalue="x"),
    "correction": lambda: ct.test_master_scale([0.1], [1], [9], correction=ODD),
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_option_is_refused(name):
    """Neither another exception nor a silent default."""
    with pytest.raises(ct.InvalidInput, match="must"):
        CALLS[name]()
