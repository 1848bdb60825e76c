"""The test of all groups holds its level, and finds what is spread over groups."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model

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
