"""The multinomial bootstrap of the unbiased SKCE; its formula is in tests/properties."""

import numpy as np
import pytest

from caltest import NotApplicable
from caltest.datasets import generative_model
from caltest.measures import SKCE
from caltest.nulls.resampled import _multinomial_counts


@pytest.mark.parametrize("n", [2, 30, 255, 1000])
def test_counts_are_multinomial(n):
    """Every row has n draws, and the counts of one observation have mean 1, variance 1 - 1/n."""
    counts = _multinomial_counts(n, np.random.default_rng(0), 2000)
    assert (counts.sum(axis=1) == n).all()
    assert counts[:, 0].mean() == pytest.approx(1.0, abs=5 / np.sqrt(2000))
    assert counts[:, 0].var() == pytest.approx(1 - 1 / n, abs=0.2)


@pytest.mark.parametrize("m", [2, 3])
def test_bootstrap_rejects_labels_that_ignore_the_predictions(m, outcome_of):
    """M3 has the smallest p-value, with the statistic far beyond the bootstrap distribution."""
    outcome = outcome_of("bootstrap", SKCE(), generative_model("M3", n=250, m=m, rng=0))
    assert outcome.pvalue == 1 / 100
    assert outcome.statistic > outcome.distribution.max()
    assert outcome.statistic_name == "T"


@pytest.mark.parametrize("estimator", ["biased", "linear", "block"])
def test_bootstrap_is_for_the_unbiased_estimator(estimator, outcome_of):
    """The message lists the nulls that have a meaning."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    with pytest.raises(NotApplicable, match=r"null 'bootstrap' has no meaning for .* use one of"):
        outcome_of("bootstrap", SKCE(estimator=estimator), predictions)
