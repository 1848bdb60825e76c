"""Whether the columns of a table have the paper's order: Kendall's tau over its rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import kendalltau, norm, spearmanr
from scipy.stats import t as student

AVERAGE = "avg rank"
LEAST = 3  # columns of a row that has an order, and rows of a table


def agreement(claims: Sequence[dict[str, str]]) -> tuple[str, str, str, str]:
    """Agree on the order of the columns in each row.

    Parameters
    ----------
    claims : sequence of dict
        Claims of a table as its CSV file has them; the place of each ends with its column.

    Returns
    -------
    tuple of str
        Mean of tau over the rows with its interval, Kendall's W of two orders, rows of the same
        best column, and the p-value of the mean of tau. Empty where there are less than three rows.
    """
    rows: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for claim in claims:
        if AVERAGE in claim["where"]:  # is made of the other rows
            continue
        place = claim["where"].rpartition(", ")[0], claim["what"].partition(" (")[0]
        rows.setdefault(place, []).append((float(claim["paper"]), float(claim["ours"])))
    tables = {place: np.array(row).T for place, row in rows.items() if len(row) >= LEAST}
    tables = {place: both for place, both in tables.items() if np.ptp(both, axis=1).min() > 0}
    if len(tables) < LEAST or not all("table" in place for place, _ in tables):
        return "", "", "", ""
    taus = np.array([kendalltau(*both).statistic for both in tables.values()])
    rho = np.mean([spearmanr(*both).statistic for both in tables.values()])
    half = student.isf(0.025, len(taus) - 1) * taus.std(ddof=1) / math.sqrt(len(taus))
    same = sum(_same_best(both, place[1]) for place, both in tables.items())
    # Variance of tau of two orders of k columns that have nothing to do with each other.
    k = np.array([both.shape[1] for both in tables.values()])
    error = math.sqrt((2 * (2 * k + 5) / (9 * k * (k - 1))).sum()) / len(k)
    low, high = max(taus.mean() - half, -1.0), min(taus.mean() + half, 1.0)
    return (
        f"{taus.mean():.2f} ({low:.2f} to {high:.2f})",
        f"{(1 + rho) / 2:.2f}",
        f"{same} of {len(taus)}",
        f"{norm.sf(taus.mean() / error):.0e}",
    )


def _same_best(both: np.ndarray, what: str) -> bool:
    """Whether a column is the best of both, ties of the paper's print allowed for."""
    paper, ours = -both if what.startswith("accuracy") else both
    return bool(paper[ours.argmin()] == paper.min())
