"""Options of `test_calibration` that go through `**`, described for type checkers and editors."""

from __future__ import annotations

from typing import Any, TypedDict

from caltest.predictions.options import Reading


class MeasureOptions(TypedDict, total=False):
    """Options of the measures in `REGISTRY`, of which each test takes its own; and of segments."""

    alternative: Any
    bandwidth: Any
    binning: Any
    bins: Any
    block_size: Any
    components: Any
    correlation: Any
    depth: Any
    design: Any
    digits: Any
    distance: Any
    eps: Any
    estimator: Any
    groups: Any
    internal: Any
    keep: Any
    kernel: Any
    locations: Any
    max_bins: Any
    max_degree: Any
    method: Any
    min_size: Any
    p: Any
    root: Any
    scaled: Any
    scales: Any
    slopes: Any
    span: Any
    splits: Any
    statistic: Any
    threshold: Any
    width: Any


class CalibrationOptions(Reading, MeasureOptions, total=False):
    """What `test_calibration` takes beside its own arguments: data options, and of measures."""

    reference: Any
    score: Any
