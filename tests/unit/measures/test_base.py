"""What measures share: their outcomes, and what is asked of them."""

import pytest

from caltest.datasets import generative_model
from caltest.errors import NotApplicable
from caltest.measures import REGISTRY, Outcome
from caltest.measures.cumulative.cumulative import KSError
from caltest.measures.kernel.skce import SKCE
from caltest.measures.tolerance import Tolerance

DATA = generative_model("M1", n=40, m=2, rng=0)


@pytest.mark.parametrize("ask", ["limit", "closed_form", "concentration_bound"])
def test_measure_without_a_capability_says_what_to_use(ask):
    """The ECE has neither a limit, nor a formula, nor an inequality."""
    measure = REGISTRY["ece"]()
    with pytest.raises(NotApplicable, match="use null='exact'"):
        getattr(measure, ask)(DATA)


@pytest.mark.parametrize("estimator", ["biased", "linear", "block"])
def test_unbiased_estimator_alone_is_a_degenerate_u_statistic(estimator):
    """The bootstrap of Arcones and Gine is for it."""
    assert SKCE().degenerate_ustatistic(DATA).value() == SKCE().bind(DATA).value()
    with pytest.raises(NotApplicable, match="no U-statistic"):
        SKCE(estimator=estimator).degenerate_ustatistic(DATA)


def test_scaled_error_has_no_tolerance():
    with pytest.raises(NotApplicable, match="use scaled=False"):
        KSError(scaled=True).tolerance_test(DATA, Tolerance(0.1))


def test_outcome_names_its_fields():
    with pytest.raises(TypeError, match="positional"):
        Outcome("z", 1.0, 0.3, 1.0, "greater", "normal limit")
