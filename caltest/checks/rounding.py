"""Probabilities that are rounded: how far that moves them, and how often it makes them 0."""

from __future__ import annotations

import numpy as np

from caltest.types import Floats

STEPS = (0.1, 0.01, 0.001)  # of one to three decimals
HALF = 2.0**-11  # of half precision, near 1
EXACT = 1e-3  # of a step: what single precision adds
FEWEST = 20  # rows that are not all 0 and 1, of which it is told
VALUES, FINE_VALUES = 4, 20  # least number of values, of which a coarse or a fine grid is told
MOST = 10_000  # rows that are looked at
RESCALED = 0.25  # least share of the rows on the grid, where rounded rows were given a sum of 1
RELATIVE = 0.1  # shift that matters, relative to the mean chance that the predicted class is wrong
OFTEN = 1e-5  # outcomes of probability 0 a row that matter


def rounding_in_words(probs: Floats) -> str | None:
    """Say how far rounding moves probabilities (n, m), where they are rounded so that it matters.

    That is, by 10 % of the mean chance that the predicted class is wrong; or where an outcome whose
    probability was rounded to 0 is expected in 100,000 rows.

    Examples
    --------
    >>> import numpy as np
    >>> risks = np.random.default_rng(1).beta(0.5, 20.0, 1000)
    >>> event = np.round(risks, 2)
    >>> rounding_in_words(np.column_stack([1.0 - event, event])).partition(",")[0]
    'the probabilities are multiples of 0.01'
    >>> rounding_in_words(np.column_stack([1.0 - risks, risks])) is None
    True
    """
    some = probs[:MOST]
    step = _step(some)
    if step is None:
        return None
    wrong = float(np.mean(1.0 - some.max(axis=1)))
    zeros = some[:, 0] == 0.0 if step == HALF else some == 0.0
    often = 0.5 * step * float(zeros.sum()) / len(some)
    if 0.5 * step < RELATIVE * wrong and often < OFTEN:
        return None
    what = "have half precision" if step == HALF else f"are multiples of {step:g}"
    told = (
        f"the probabilities {what}, as if rounded: each may be off by {50 * step:.2g} points, "
        f"{50 * step / wrong:.2g} % of the mean chance that the predicted class is wrong"
    )
    if often > 0:
        told += f", and about one outcome in {1 / often:,.0f} has a probability that became 0"
    return f"{told}; that alone is miscalibration, which many rows show; pass all digits"


def _step(probs: Floats) -> float | None:
    """Return the step of the grid on which probabilities lie, None where it is fine."""
    inner = probs[(probs > 0.0).sum(axis=1) > 1]
    values = np.unique(probs[:, 1]).size
    if len(inner) < FEWEST or values < VALUES:
        return None
    least = 1.0 if probs.shape[1] == 2 else RESCALED
    is_fine = values >= FINE_VALUES
    for step in STEPS if is_fine else STEPS[:-1]:
        units = inner / step
        if np.mean((np.abs(units - np.rint(units)) < EXACT).all(axis=1)) >= least:
            return step
    half = inner[:, 1].astype(np.float16)
    return HALF if is_fine and probs.shape[1] == 2 and (inner[:, 1] == half).all() else None
