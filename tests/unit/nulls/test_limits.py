"""Null laws in closed form: limits for large n, and bounds that need none."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.kernels import Diagonal, Exponential, Gaussian, Scaled
from caltest.measures import SKCE, skce


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


@pytest.mark.parametrize("m", [2, 3])
def test_asymptotic_test_of_the_unbiased_estimator_is_pearsons_curve(m, outcome_of):
    """Moments over all pairs and triples by NumPy; the curve is a gamma distribution."""
    predictions = generative_model("M1", n=40, m=m, rng=0)
    delta = np.eye(m)[predictions.labels] - predictions.probs
    distance = np.abs(predictions.probs[:, None] - predictions.probs).sum(axis=2) / 2
    h = np.exp(-distance / 0.3) * (delta @ delta.T)
    n, at = 40, np.arange(40)
    different = [(i, j, k) for i, j, k in product(at, at, at) if len({i, j, k}) == 3]
    i, j, k = np.array(different).T
    triples = (h[i, j] * h[j, k] * h[k, i]).mean()
    off = h[~np.eye(n, dtype=bool)]
    variance = 2 * (off**2).mean() / (n * (n - 1))
    third = (8 * (n - 2) * triples + 4 * (off**3).mean()) / (n * (n - 1)) ** 2
    outcome = outcome_of("asymptotic", SKCE(kernel=Exponential(0.3)), predictions)
    assert outcome.statistic == pytest.approx(off.mean() / variance**0.5, rel=1e-10)
    shape = 4 * variance**3 / third**2
    place = shape + outcome.statistic * shape**0.5
    assert outcome.pvalue == pytest.approx(stats.gamma.sf(place, shape), rel=1e-9)


@pytest.mark.cases(1)
@pytest.mark.parametrize("m", [2, 10])
def test_pearson_curve_is_near_the_exact_null(m, outcome_of):
    """For calibrated predictions, of more rows than its triples are summed over."""
    predictions = generative_model("M1", n=2500, m=m, rng=3)
    found = [outcome_of(null, SKCE(), predictions).pvalue for null in ("asymptotic", "exact")]
    assert found[0] == pytest.approx(found[1], abs=0.05)


N, B = 61, 2.0  # of the default kernel
FORMULAS = {
    "unbiased": lambda t: math.exp(-(N // 2) * t**2 / (2 * B**2)),
    "biased": lambda t: math.exp(-(max(0.0, math.sqrt(N * t / B) - 1) ** 2) / 2),
    "linear": lambda t: math.exp(-(N // 2) * t**2 / (2 * B**2)),
    "block": lambda t: math.exp(-(N // 5) * 2 * t**2 / (2 * B**2)),  # blocks of 5, two pairs each
}


@pytest.mark.parametrize("estimator", FORMULAS)
def test_bound_equals_its_formula(estimator, outcome_of):
    """Odd and incomplete blocks count as they are; all labels are the first class here."""
    predictions = generative_model("M2", n=N, m=3, pi=1.0, rng=0)
    outcome = outcome_of("distribution-free", SKCE(estimator=estimator, block_size=5), predictions)
    estimate = skce(predictions, estimator=estimator, block_size=5)
    assert outcome.statistic == outcome.estimate == estimate
    assert estimate > 0.05
    assert outcome.pvalue == pytest.approx(FORMULAS[estimator](estimate), rel=1e-12)
    assert outcome.pvalue < 1


@pytest.mark.parametrize("estimator", ["unbiased", "linear", "block"])
def test_bound_of_a_negative_estimate_is_one(estimator, outcome_of):
    """A negative estimate speaks for the model; its square would speak against it."""
    predictions = Predictions([[0.5, 0.5], [0.5, 0.5]] * 5, [0, 1] * 5)
    measure = SKCE(estimator=estimator, kernel=Exponential(1.0))
    outcome = outcome_of("distribution-free", measure, predictions)
    assert outcome.estimate < 0
    assert outcome.pvalue == 1.0


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("estimator", FORMULAS)
def test_bound_does_not_depend_on_the_scale_of_the_kernel(estimator, size, outcome_of):
    """B grows with the kernel as the estimate does."""
    predictions = generative_model("M2", n=N, m=3, rng=0)
    kernels = Scaled(Exponential()), Scaled(Exponential(), size * np.eye(3))
    pvalues = [
        outcome_of("distribution-free", SKCE(estimator=estimator, kernel=k), predictions).pvalue
        for k in kernels
    ]
    assert pvalues[0] == pytest.approx(pvalues[1], rel=1e-9)


def test_bound_says_what_it_is_and_uses_the_tightest_norm(outcome_of):
    outcome = outcome_of("distribution-free", SKCE(), generative_model("M1", n=20, m=3, rng=0))
    assert outcome.null_text == "concentration inequality with |h| <= 2"
    assert outcome.notes[-1] == "the p-value is an upper bound that holds for every model"
    assert outcome.distribution is None
    kernel = Diagonal([Exponential(), Gaussian(), Exponential(0.3)])
    outcome = outcome_of(
        "distribution-free", SKCE(kernel=kernel), generative_model("M1", n=20, m=3, rng=0)
    )
    assert outcome.null_text == "concentration inequality with |h| <= 2"


def test_bound_needs_a_kernel_that_is_psd_and_not_zero(outcome_of):
    predictions = generative_model("M1", n=20, m=3, rng=0)
    kernel = Gaussian(metric="tv")
    with pytest.raises(NotApplicable, match="Gaussian of total variation need not be for m = 3"):
        outcome_of("distribution-free", SKCE(estimator="biased", kernel=kernel), predictions)
    assert outcome_of("distribution-free", SKCE(kernel=kernel), predictions).pvalue <= 1
    kernel = Scaled(Exponential(), np.zeros((3, 3)))
    with pytest.raises(NotApplicable, match="the kernel is zero"):
        outcome_of(
            "distribution-free", SKCE(kernel=kernel), generative_model("M1", n=20, m=3, rng=0)
        )
