"""Checks of what calibrators are fitted to, and of their options."""

from __future__ import annotations

import warnings

from caltest.errors import invalid
from caltest.validation.arrays import AnyArray
from caltest.validation.labels import label_values


def check_labels_given(y: object, name: str = "y") -> AnyArray:
    """Check that there are labels; a column of them becomes one dimension, with a warning."""
    if y is None:
        # The last words are those that scikit-learn's own checks look for.
        remedy = "pass the labels: a calibrator requires y to be passed, but the target y is None"
        raise invalid(f"{name} must be given", "None", remedy)
    values = label_values(y, name)
    if values.ndim == 2 and values.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        text = f"{name} is a column vector and was read as a 1d array; pass {name}.ravel()"
        warnings.warn(text, DataConversionWarning, stacklevel=4)
        return values.ravel()
    return values


def check_binary(m: int, calibrator: str) -> None:
    """Check that a calibrator of two classes has two."""
    if m != 2:
        remedy = f"pass OneVsRest({calibrator}())"
        raise invalid(f"{calibrator} must have two classes", f"{m} columns of probs", remedy)
