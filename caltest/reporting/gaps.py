"""What is predicted less what is observed in some rows, with its interval and its direction."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from scipy.special import betaincinv

from caltest.predictions import Predictions
from caltest.reporting.content import Gap
from caltest.results import HTestTable

CONFIDENCE = 0.95


def gap_of(
    *,
    kind: str,
    name: str,
    n: int,
    predicted: float,
    observed: float,
    effective: float,
    part: str = "",
    pvalue: float | None = None,
) -> Gap:
    """Add the interval of the gap to what is known of some rows.

    Parameters
    ----------
    kind, name, part : str
        What the rows are.
    n : int
        How many there are.
    predicted, observed : float
        Mean prediction, and share of the rows in which the event happens.
    effective : float
        The number of independent rows of equal weight that would say as much.
    pvalue : float, optional
        Adjusted.

    Returns
    -------
    Gap
        The interval is that of Clopper and Pearson for the share, the prediction as it is; it
        holds for any number of events.
    """
    low, high = exact_limits(observed, effective)
    return Gap(
        kind=kind,
        name=name,
        part=part,
        n=n,
        predicted=predicted,
        observed=observed,
        gap=predicted - observed,
        low=predicted - high,
        high=predicted - low,
        pvalue=pvalue,
    )


def exact_limits(share: float, n: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the limits of a probability, from the share of events among n rows.

    References
    ----------
    Clopper, Pearson (1934), The use of confidence or fiducial limits, Biometrika 26.

    Examples
    --------
    >>> [round(end, 4) for end in exact_limits(0.5, 10)]
    [0.1871, 0.8129]
    """
    tail, events = (1.0 - confidence) / 2.0, share * n
    low = float(betaincinv(events, n - events + 1.0, tail)) if events > 0 else 0.0
    high = float(betaincinv(events + 1.0, n - events, 1.0 - tail)) if n - events > 1e-9 else 1.0
    return low, high


def whole_gap(seen: Predictions, *, kind: str, name: str, pvalue: float | None = None) -> Gap:
    """Return the gap of the event of all rows of predictions of two classes."""
    weight = np.ones(seen.n) if seen.sample_weight is None else seen.sample_weight
    mass = float(weight.sum())
    residual = weight * (seen.labels - seen.probs[:, 1])
    return gap_of(
        kind=kind,
        name=name,
        n=seen.n,
        predicted=float(weight @ seen.probs[:, 1]) / mass,
        observed=float(weight @ seen.labels) / mass,
        effective=mass**2 / float(weight @ weight) / _design_effect(seen, residual),
        pvalue=pvalue,
    )


def _design_effect(seen: Predictions, residual: np.ndarray) -> float:
    """Return by how much the clusters raise the variance of the gap; at least 1."""
    if not seen.has_dependence:
        return 1.0
    sums = np.bincount(np.unique(seen.clusters, return_inverse=True)[1], residual)
    squares = float(residual @ residual)
    return max(1.0, float(sums @ sums) / squares) if squares > 0 else 1.0


def group_gaps(table: HTestTable) -> tuple[Gap, ...]:
    """Return the gap of each group of a table, in its order; of the confidence for many classes."""
    from caltest.lenses import resolve_lens

    lens = resolve_lens("confidence")
    found = []
    for row, adjusted in zip(table.rows, table.adjusted.tolist(), strict=True):
        if row.evidence is None:
            continue
        data = row.evidence.predictions
        seen = data if data.m == 2 else lens(data)
        found.append(whole_gap(seen, kind="group", name=str(row.group), pvalue=adjusted))
    return tuple(found)


def ranked(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    """Sort gaps: the smallest adjusted p-value first, then those that are surely the largest."""

    def rank(gap: Gap) -> tuple[float, float, float]:
        pvalue = 1.0 if gap.pvalue is None else gap.pvalue
        surely = max(0.0, gap.low, -gap.high)
        return (pvalue, -surely, -abs(gap.gap))

    return tuple(sorted(gaps, key=rank))


def is_clear(gap: Gap, level: float | None) -> bool:
    """Tell whether a place is named as wrong: at the level, or where there is none from 0.1 on."""
    return gap.pvalue is not None and gap.pvalue <= (FIRST_EVIDENCE if level is None else level)


FIRST_EVIDENCE = 0.1  # the largest p-value that speaks against calibration at all


def covers_zero(gap: Gap) -> bool:
    """Tell whether the interval holds 0."""
    return gap.low <= 0.0 <= gap.high or math.isclose(gap.gap, 0.0, abs_tol=1e-15)
