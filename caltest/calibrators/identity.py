"""The map that changes nothing."""

from __future__ import annotations

from typing import ClassVar

from caltest.calibrators.base import CalibrationSet, Calibrator
from caltest.calibrators.inputs import Floats, Inputs

__all__ = ["Identity"]


class Identity(Calibrator):
    """The identity map: what an uncalibrated model is in a comparison of calibrators.

    With `from_logits=True` it is the softmax.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Examples
    --------
    >>> from caltest.calibrators import Identity
    >>> Identity().fit([[0.2, 0.8], [0.6, 0.4]], ["no", "yes"]).predict([[0.3, 0.7]])
    array(['yes'], dtype='<U3')
    """

    key: ClassVar[str] = "identity"
    title: ClassVar[str] = "Identity"

    def _fit(self, data: CalibrationSet) -> None:
        """Nothing is fitted."""

    def _calibrate(self, inputs: Inputs) -> Floats:
        return inputs.probs
