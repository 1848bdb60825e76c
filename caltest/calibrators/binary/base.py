"""What a calibrator of two classes is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.calibrators.base import CalibrationSet, Calibrator
from caltest.calibrators.inputs import Floats, Inputs
from caltest.errors import invalid

__all__ = ["BinaryCalibrator"]


class BinaryCalibrator(Calibrator):
    """A calibration map for two classes; `OneVsRest` makes one for more of it.

    Subclasses fit in `_fit_event` and map the probability of the second class in `_event`.
    """

    @abstractmethod
    def _fit_event(self, inputs: Inputs, event: NDArray[np.bool_], weight: Floats | None) -> None:
        """Check the options and fit; `event` says where the label is the second class."""

    @abstractmethod
    def _event(self, inputs: Inputs) -> Floats:
        """Return the calibrated probability of the second class, (n,)."""

    def _fit(self, data: CalibrationSet) -> None:
        check_binary(data.inputs.m, type(self).__name__)
        self._fit_event(data.inputs, data.codes == 1, data.weight)

    def _calibrate(self, inputs: Inputs) -> Floats:
        event = self._event(inputs)
        return np.column_stack([1 - event, event])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def check_binary(m: int, calibrator: str) -> None:
    """Check that a calibrator of two classes has two."""
    if m != 2:
        # The last words are those that scikit-learn's own checks look for.
        remedy = f"pass OneVsRest({calibrator}()): Only binary classification is supported."
        raise invalid(f"{calibrator} must have two classes", f"{m} columns of probs", remedy)
