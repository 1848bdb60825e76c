"""Multiple testing over the rows of a table: by Holm's method, or one of statsmodels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

METHODS = (
    "holm",
    "bonferroni",
    "sidak",
    "holm-sidak",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "none",
)


def adjusted_pvalues(
    pvalues: list[float], correction: str | None
) -> tuple[NDArray[np.float64], str]:
    """Return the adjusted p-values and the name of the method.

    Parameters
    ----------
    pvalues : list of float
        One of each row.
    correction : str or None
        A method of `statsmodels.stats.multitest.multipletests`; None or "none" leaves them.
    """
    method = correction or "none"
    if method == "none":
        return np.array(pvalues), method
    if method == "holm":
        return _holm(np.array(pvalues, dtype=float)), method
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # Sidak's methods take log(1 - p) of p = 1
        return np.asarray(multipletests(pvalues, method=method)[1]), method


def _holm(pvalues: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Holm's step-down p-values, without the seconds that statsmodels takes to import."""
    order = np.argsort(pvalues)
    scaled = pvalues[order] * np.arange(pvalues.size, 0, -1)
    out = np.empty_like(scaled)
    out[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return out
