"""What is printed of the answers to later questions: how sure, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caltest.render.sheet import Sheet, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from caltest.results import Interval, Region, Witness

COLUMNS = ("class", "predicted", "region", "n", "mean", "observed", "gap", "SKCE")


def sheet_of_interval(interval: Interval) -> Sheet:
    """The print of a confidence interval."""
    text = interval.method
    if interval.n_resamples is not None:
        text += f", B = {interval.n_resamples}, seed = {interval.seed}"
    ends = f"[{number(interval.low)}, {number(interval.high)}]"
    return Sheet(
        title=f"{100 * interval.level:g} percent confidence interval: {interval.measure}",
        facts=(("data", interval.data), ("method", text)),
        numbers=((interval.name, number(interval.estimate)), ("interval", ends)),
        closing=tuple(("note", note) for note in interval.notes),
    )


def sheet_of_witness(witness: Witness, regions: Sequence[Region], n_regions: int) -> Sheet:
    """The print of a witness: the classes and regions that contribute most."""
    rows = tuple(
        (
            str(region.name),
            "too high" if region.gap < 0 else "too low",
            f"{'[' if region.low == 0 else '('}{number(region.low)}, {number(region.high)}]",
            str(region.n),
            number(region.mean),
            number(region.observed),
            number(region.gap),
            number(region.contribution),
        )
        for region in regions
    )
    left = n_regions - len(regions)
    return Sheet(
        title="Where the error lies: squared kernel calibration error",
        facts=(("data", witness.data), ("kernel", witness.kernel)),
        numbers=(("SKCE", number(witness.skce)), ("KCE (biased)", number(witness.kce))),
        header=COLUMNS,
        rows=rows,
        n_text=3,
        closing=(("note", f"{left} more regions in to_frame()"),) if left else (),
    )
