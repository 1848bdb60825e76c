"""The path of nearly-isotonic regressions: what is passed over does not count."""

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from caltest.calibrators.binary.enir import bic_scores, mean_of_models, solution_path

pytestmark = pytest.mark.loops


@pytest.mark.full
def test_passed_over_models_have_no_weight():
    """All of a thousand breakpoints by the definition."""
    rng = np.random.default_rng(3)
    events = (rng.random(3000) < np.linspace(0.1, 0.7, 3000)).astype(float)
    mass = np.ones(3000)
    blocks, merges = solution_path(mass, events)
    models, scores = bic_scores(blocks, merges, 3000.0)
    bic = {}
    for t in range(1, len(merges[0]) + 1):
        if t < len(merges[0]) and merges[0][t] <= merges[0][t - 1] * (1 + 1e-10):
            continue
        first, last, value = mean_of_models(blocks, merges, np.array([t]), np.ones(1))
        beta = np.repeat(value, last - first + 1)
        loss = -(xlogy(events, beta) + xlog1py(1 - events, -beta)).sum()
        bic[t] = 2 * loss + len(value) * np.log(3000)
    assert scores == pytest.approx([bic[t] for t in models])
    best = min(bic.values())
    assert all(bic[t] > best + 99 for t in bic if t not in models)
