"""The tests of binned errors: p-conf-ECE and p-cw-ECE of Kull et al. by their options."""

import numpy as np
import pytest

import caltest as ct
from caltest.measures import classwise_ece, ece


@pytest.mark.parametrize(
    ("test", "lens", "measure"),
    [("ece", "confidence", ece), ("classwise-ece", "strong", classwise_ece)],
)
def test_ten_thousand_resamples_give_the_pvalues_of_kull(test, lens, measure):
    """The part of the errors of redrawn labels that are as large; theirs has no + 1."""
    data = ct.datasets.generative_model("M2", n=200, m=4, pi=0.05, rng=0)
    settings = {"test": test, "lens": lens, "n_resamples": 10_000, "rng": 0}
    result = ct.test_calibration(None, data, **settings)
    assert result.statistic == pytest.approx(measure(data, lens=lens), rel=1e-12)
    theirs = np.mean(result.null_distribution >= result.statistic - 1e-12)
    assert result.pvalue == pytest.approx(theirs, abs=1e-4)
    simulated = [measure(data.simulate(seed), lens=lens) for seed in range(400)]
    mine = np.mean(np.array(simulated) >= result.statistic)
    assert result.pvalue == pytest.approx(mine, abs=4 * np.sqrt(0.25 / 400))


def test_consistency_null_is_there_on_request():
    """And says what is wrong with it."""
    data = ct.datasets.generative_model("M1", n=100, m=2, rng=0)
    result = ct.test_calibration(None, data, test="ece", null="consistency", n_resamples=99, rng=0)
    assert any("ECE with many bins" in note for note in result.notes)
