"""The softmax of scaled logits, with logits so large that their products stay finite."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LARGEST_SCORE = 1e100  # its square and its products with any temperature or weight are finite


def bounded(z: Floats) -> Floats:
    """Return logits within 1e100 of 0, far beyond which probabilities are 0 or 1.

    A row with a larger logit is scaled, so that zeros stay; one that lies below as a whole is
    shifted. So the largest stays the largest, and what is then below -1e100 is raised to it.
    """
    if z.min() >= -LARGEST_SCORE and z.max() <= LARGEST_SCORE:
        return z
    top = z.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # to -inf, which is raised
        moved = z * (LARGEST_SCORE / np.maximum(top, LARGEST_SCORE)) - np.where(
            top < -LARGEST_SCORE, top, 0.0
        )
    rows: Floats = np.clip(moved, -LARGEST_SCORE, LARGEST_SCORE)
    return rows


def softmax(z: Floats, w: Floats | float, b: Floats | float = 0.0) -> Floats:
    """Return the probabilities softmax(w z + b) of each row."""
    e = bounded(z) * w
    e += b
    e -= e.max(axis=1, keepdims=True)
    np.exp(e, out=e)
    e /= e.sum(axis=1, keepdims=True)
    return e
