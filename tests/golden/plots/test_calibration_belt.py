"""Pictures of the GiViTI belt."""

import numpy as np
import pytest

from caltest import plots
from caltest.measures.recalibration.belt import CalibrationBeltCurve

GRID = np.linspace(0.01, 0.99, 99)
CURVE = GRID + 0.12 * np.sin(2 * np.pi * GRID)


@pytest.mark.parametrize(("name", "widths"), [("belt", (0.04, 0.07)), ("belt_wide", (0.2, 0.4))])
def test_belt_looks_as_it_did(name, widths, assert_same_picture):
    """Two levels; where the belt is wide, the legend stands beside it."""
    lower, upper = (
        [np.clip(CURVE + s * w * 4 * GRID * (1 - GRID), 0, 1) for w in widths] for s in (-1, 1)
    )
    above, below = (((0.05, 0.45),), ((0.1, 0.4),)), (((0.55, 0.95),), ())
    belt = CalibrationBeltCurve(
        grid=GRID.copy(),
        levels=(0.8, 0.95),
        lower=np.array(lower),
        upper=np.array(upper),
        above=above if name == "belt" else ((), ()),
        below=below if name == "belt" else ((), ()),
        degree=3,
        coefficients=np.zeros(4),
        statistic=20.0,
        pvalue=0.0123,
        n=1234,
        internal=False,
    )
    assert_same_picture(plots.calibration_belt(belt).figure, name)
