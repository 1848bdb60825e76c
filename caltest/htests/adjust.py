"""Multiple testing over the rows of a table, by statsmodels."""

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
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # Sidak's methods take log(1 - p) of p = 1
        return np.asarray(multipletests(pvalues, method=method)[1]), method
