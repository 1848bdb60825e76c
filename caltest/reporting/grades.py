"""The grades of a master scale: those of the groups, of few PDs, or of equal size."""

from __future__ import annotations

import numpy as np

from caltest.errors import NotApplicable
from caltest.htests import test_master_scale
from caltest.predictions import Predictions
from caltest.reporting.tested import Settings
from caltest.reporting.wording import percent
from caltest.results import HTestTable

MOST_PDS = 25  # distinct predictions that are grades of themselves
GRADES = 10


def test_grades(predictions: Predictions, settings: Settings) -> HTestTable:
    """Test each grade by its number of defaults, against more of them than its PD says."""
    if predictions.m != 2 or predictions.sample_weight is not None:
        raise NotApplicable(
            "grades are tested by their counts of defaults",
            "pass two classes, and no sample weights",
        )
    pd, default = predictions.probs[:, 1], predictions.labels
    names, codes = _grades(predictions, by=settings.by)
    n = np.bincount(codes, minlength=len(names))
    order = np.argsort(np.bincount(codes, pd) / n, kind="stable")
    return test_master_scale(
        (np.bincount(codes, pd) / n)[order],
        np.bincount(codes, default)[order].astype(np.int64),
        n[order],
        grades=[names[k] for k in order],
        level=settings.level,
    )


test_grades.__test__ = False  # type: ignore[attr-defined]


def _grades(predictions: Predictions, *, by: bool) -> tuple[list[str], np.ndarray]:
    pd = predictions.probs[:, 1]
    if by and predictions.groups is not None:
        names, codes = np.unique(predictions.groups, return_inverse=True)
        return [str(name) for name in names.tolist()], codes
    values, codes = np.unique(pd, return_inverse=True)
    if values.size <= MOST_PDS:
        return [f"PD {percent(round(value, 6))} %" for value in values.tolist()], codes
    ends = np.unique(np.quantile(pd, np.linspace(0, 1, GRADES + 1)[1:-1]))
    codes = np.searchsorted(ends, pd, side="left")
    kept, codes = np.unique(codes, return_inverse=True)
    return [f"{k}" for k in range(1, kept.size + 1)], codes
