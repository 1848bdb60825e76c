"""Values of a calibration map where a plot asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest.validation import check_calibrator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from caltest.calibrators import Calibrator

    Floats = NDArray[np.float64]


def fitted(calibrator: object) -> Calibrator:
    """Check a calibrator and that it is fitted."""
    from sklearn.utils.validation import check_is_fitted

    from caltest.calibrators import Calibrator

    map_: Calibrator = check_calibrator(calibrator, Calibrator)
    check_is_fitted(map_)
    return map_


def mapped(calibrator: Calibrator, probs: Floats) -> Floats:
    """Return calibrated probabilities of (n, m) probabilities.

    A map of logits gets their logarithms.
    """
    from caltest.calibrators.inputs import Inputs

    if not calibrator.from_logits:
        return calibrator.calibrate(Inputs(probs, from_logits=False))
    with np.errstate(divide="ignore"):
        return calibrator.calibrate(Inputs(np.log(probs), from_logits=True))
