"""Very many groups in one pass: p-values are valid, their adjustment and the whole keep 5 %."""

import numpy as np
import polars as pl
import pytest

from caltest import test_calibration as calibration_test

GROUPS = 501
TABLES = 60
BOUND = 0.05 + 4 * np.sqrt(0.05 * 0.95 / TABLES)


def table(rng, rows, shapes, *, wrong=0, odds=1.0, test="ks"):
    """Test groups whose predictions are beta; the odds of the first are others."""
    shop = np.tile(np.arange(GROUPS), rows)
    p = rng.beta(*shapes, shop.size)
    factor = np.where(shop < wrong, odds, 1.0)
    y = rng.random(shop.size) < factor * p / (1 - p + factor * p)
    frame = pl.DataFrame({"shop": shop, "p": p, "y": y})
    asked = {"label": "y", "probs": "p", "by": "shop", "engine": "cells", "test": test}
    return calibration_test(None, frame, **asked, level=0.05, n_resamples=199, rng=1)


@pytest.mark.parametrize("shapes", [(1, 9), (0.5, 49.5)], ids=["few", "rare"])
def test_groups_keep_the_level(shapes):
    """Each group, some group by Holm's method, all together by each of the three tests."""
    rng = np.random.default_rng(1)
    results = [table(rng, 20, shapes) for _ in range(TABLES)]
    shares = np.mean([np.mean(result.pvalues <= 0.05) for result in results])
    assert shares <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / (TABLES * GROUPS))
    assert np.mean([result.n_rejected > 0 for result in results]) <= BOUND
    together = [[test.pvalue <= 0.05 for test in result.omnibus] for result in results]
    assert np.max(np.mean(together, axis=0)) <= BOUND


@pytest.mark.full
@pytest.mark.parametrize("test", ["combined", "brier", "kuiper", "ece", "debiased-ece", "log-loss"])
def test_sequential_pvalues_are_valid(test):
    rng = np.random.default_rng(2)
    pvalues = np.concatenate([table(rng, 15, (1, 3), test=test).pvalues for _ in range(8)])
    for level in (0.05, 0.01, 0.002):
        bound = level + 4 * np.sqrt(level * (1 - level) / pvalues.size)
        assert np.mean(pvalues <= level) <= bound


def test_wrong_groups_are_found():
    """Odds four times as large, in ten groups of 100 rows, with few false alarms."""
    rng = np.random.default_rng(3)
    results = [table(rng, 100, (1, 9), wrong=10, odds=4.0) for _ in range(5)]
    assert np.mean([result.rejected[:10].mean() for result in results]) >= 0.75
    assert np.mean([result.rejected[10:].sum() for result in results]) <= 0.5
