"""Concentration bounds of Widmann et al. (2019), theorems 2 and 3."""

import math

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.kernels import Diagonal, Exponential, Gaussian, Scaled
from caltest.measures import SKCE, skce

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


def test_bound_says_what_it_is(outcome_of):
    """The law names the bound of |h|, the notes say that it holds for every model."""
    outcome = outcome_of("distribution-free", SKCE(), generative_model("M1", n=20, m=3, rng=0))
    assert outcome.null_text == "concentration inequality with |h| <= 2"
    assert outcome.notes[-1] == "the p-value is an upper bound that holds for every model"
    assert outcome.distribution is None


def test_bound_of_the_biased_estimator_needs_a_psd_kernel(outcome_of):
    """Theorem 2 is about a norm in a Hilbert space; the unbiased bound needs none."""
    predictions = generative_model("M1", n=20, m=3, rng=0)
    kernel = Gaussian(metric="tv")
    with pytest.raises(NotApplicable, match="Gaussian of total variation need not be for m = 3"):
        outcome_of("distribution-free", SKCE(estimator="biased", kernel=kernel), predictions)
    assert outcome_of("distribution-free", SKCE(kernel=kernel), predictions).pvalue <= 1


def test_bound_of_a_zero_kernel_is_not_applicable(outcome_of):
    kernel = Scaled(Exponential(), np.zeros((3, 3)))
    with pytest.raises(NotApplicable, match="the kernel is zero"):
        outcome_of(
            "distribution-free", SKCE(kernel=kernel), generative_model("M1", n=20, m=3, rng=0)
        )


def test_bound_uses_the_tightest_norm(outcome_of):
    """A diagonal of kernels has B = 2 as each of them has."""
    kernel = Diagonal([Exponential(), Gaussian(), Exponential(0.3)])
    outcome = outcome_of(
        "distribution-free", SKCE(kernel=kernel), generative_model("M1", n=20, m=3, rng=0)
    )
    assert outcome.null_text == "concentration inequality with |h| <= 2"
