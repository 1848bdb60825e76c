"""Very many groups in one pass, and the test of all groups: size and power."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model

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


LEVEL = 0.05
SIZES = [1, 2, 3, 12, 25]


def rejections(sets, tilt=0.0, **options):
    """Return the number of data sets in five groups, tiny ones among them, that are rejected."""
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    rejected = 0
    for seed in range(sets):
        plain = generative_model("M1", n=groups.size, m=2, alpha=1.0, rng=seed)
        event = plain.probs[:, 1] ** (1.0 + tilt)
        data = Predictions(event, plain.labels, groups=groups)
        settings = {"by": True, "n_resamples": 99, "rng": seed, "correction": None}
        table = calibration_test(data, **settings, **options)
        rejected += table.omnibus[0].pvalue <= LEVEL
    return rejected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("sets", [300, 3000])
@pytest.mark.parametrize("test", ["skce", "ece", "brier", "ks", "binomial"])
def test_omnibus_of_resamples_has_its_level(test, sets):
    """Within the 99.9 % band of Bin(sets, 5 %): exchangeable, so exact but for ties."""
    rejected = rejections(sets, test=test, null="exact")
    assert binom.ppf(0.0005, sets, LEVEL) <= rejected <= binom.ppf(0.9995, sets, LEVEL)


def test_omnibus_of_formulas_holds_its_level():
    """Fisher's chi^2 law of discrete p-values is conservative."""
    assert rejections(200, test="binomial", null="closed-form") <= binom.ppf(0.9995, 200, LEVEL)


def test_omnibus_has_power():
    """Events that are twice as likely as predicted, in groups of 1 to 25 rows."""
    assert rejections(60, tilt=1.5, test="binomial", null="exact") > 40
