"""Limit laws: what the measure knows, passed on."""

import pytest
from scipy import stats

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import SKCE


@pytest.mark.parametrize("estimator", ["linear", "block"])
@pytest.mark.parametrize("model", ["M1", "M2", "M3"])
def test_asymptotic_test_is_a_one_sided_z_test(estimator, model, outcome_of):
    """Like SciPy's one-sample t statistic, referred to the normal distribution."""
    predictions = generative_model(model, n=200, m=3, rng=0)
    measure = SKCE(estimator=estimator)
    outcome = outcome_of("asymptotic", measure, predictions)
    values = measure.bind(predictions).block_values()
    z = stats.ttest_1samp(values, 0.0).statistic
    assert outcome.statistic_name == "z"
    assert outcome.statistic == pytest.approx(z, rel=1e-12)
    assert outcome.pvalue == pytest.approx(stats.norm.sf(z), rel=1e-9)
    assert outcome.estimate == pytest.approx(values.mean(), rel=1e-12)
    assert outcome.distribution is None


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_asymptotic_test_of_quadratic_estimators_is_not_applicable(estimator, outcome_of):
    """The message lists the nulls that have a meaning."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    with pytest.raises(NotApplicable, match=r"null 'asymptotic' has no meaning for .*'exact'"):
        outcome_of("asymptotic", SKCE(estimator=estimator), predictions)


def test_asymptotic_test_of_a_measure_without_a_limit_is_not_applicable(outcome_of, count):
    """A measure that knows no limit law has resampling nulls only."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    with pytest.raises(NotApplicable, match="use one of 'exact', 'consistency'"):
        outcome_of("asymptotic", count, predictions)


def test_asymptotic_test_takes_no_weights(outcome_of):
    """The message names the test that does."""
    predictions = Predictions([0.2, 0.7, 0.1, 0.4], [0, 1, 0, 1], sample_weight=[1, 2, 1, 1])
    with pytest.raises(NotApplicable, match="take no sample weights"):
        outcome_of("asymptotic", SKCE(estimator="linear"), predictions)
