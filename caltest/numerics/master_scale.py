"""Statistics of all grades of a master scale, from their defaults, obligors and PDs."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

LEAST_EXPECTED = 5.0


def grade_deviations(pd: Floats, defaults: Counts, n: Counts) -> tuple[float, int, int]:
    """Return sum_g (d - n PD)^2 / (n PD (1 - PD)), its degrees of freedom and sparse grades.

    A grade with PD 0 or 1 adds nothing where its defaults are as certain, else infinity.
    """
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf, max(1, int(np.count_nonzero(~certain))), 0
    p, d, size = pd[~certain], defaults[~certain], n[~certain]
    terms = (d - size * p) ** 2 / (size * p * (1.0 - p))
    sparse = np.minimum(size * p, size * (1.0 - p)) < LEAST_EXPECTED
    return float(terms.sum()), int(p.size), int(np.count_nonzero(sparse))


def spiegelhalter_score(pd: Floats, defaults: Counts, n: Counts) -> float | None:
    """Return Spiegelhalter's z of obligors who have the PD of their grade, None without variance.

    z = sum_g (d - n PD) (1 - 2 PD) / sqrt(sum_g n (1 - 2 PD)^2 PD (1 - PD)); infinite where a
    grade of PD 0 or 1 has defaults that are impossible.
    """
    score = float(((defaults - n * pd) * (1.0 - 2.0 * pd)).sum())
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf
    variance = float((n * (1.0 - 2.0 * pd) ** 2 * pd * (1.0 - pd)).sum())
    return score / math.sqrt(variance) if variance > 0 else None
