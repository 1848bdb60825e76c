"""Decisions without more resamples than they need are those of the whole test."""

import pytest

import caltest as ct
from caltest.htests import REGISTRY
from caltest.htests.asked import Plan
from caltest.lenses import resolve_lens
from caltest.planning.simulation import decide, most_extreme


def plan_of(test, data, seed, lens="strong"):
    measure = REGISTRY[test].with_options({})
    return Plan(test, measure, "exact", resolve_lens(lens), data, seed, 0)


def assert_decided_as_the_test(test, data, seed, level, lens="strong"):
    """Compare a decision and its estimate with those of the whole test."""
    whole = ct.test_calibration(data, test=test, lens=lens, n_resamples=199, rng=seed)
    decision = decide(plan_of(test, data, seed, lens), level=level, n_resamples=199)
    assert decision[0] == (whole.pvalue <= level)
    assert decision[1] == pytest.approx(whole.estimate, abs=1e-12)


@pytest.mark.parametrize("model", ["M1", "M2"])
@pytest.mark.parametrize("test", ["skce", "kce", "ece", "ks", "spiegelhalter", "brier"])
def test_decision_is_that_of_the_test(test, model):
    """Ten data sets, near and far from calibration, for one- and two-sided measures."""
    for seed in range(10):
        data = ct.datasets.generative_model(model, n=60, m=3, alpha=1, rng=seed)
        assert_decided_as_the_test(test, data, seed, 0.1, "confidence")


@pytest.mark.parametrize("test", ["skce", "kce", "skce-block", "skce-linear"])
@pytest.mark.parametrize("level", [0.1, 0.5])
def test_decision_of_a_pooled_measure_is_that_of_the_test(test, level):
    """Of three classes the resamples are evaluated together, the first with the observed labels."""
    for seed in range(10):
        data = ct.datasets.generative_model("M1", n=60, m=3, alpha=1, rng=seed)
        assert_decided_as_the_test(test, data, seed, level)
    few = ct.Predictions([0.2, 0.9, 0.1, 0.3], [1, 0, 1, 1])  # all label vectors are listed
    assert_decided_as_the_test(test, few, 1, 0.05)


@pytest.mark.parametrize(("test", "counts"), [("ece", [64, 64]), ("skce", [65, 65, 135])])
def test_decision_stops_early(test, counts, monkeypatch):
    """On either side one batch decides; of a pooled measure all others are needed where p is."""
    data = ct.datasets.generative_model("M1", n=60, m=3, alpha=1, rng=1)
    pvalue = ct.test_calibration(data, test=test, n_resamples=199, rng=1).pvalue
    assert pvalue > 0.3
    plan, name = plan_of(test, data, 1), "values" if test == "skce" else "redraw"
    bound, seen = type(plan.measure.bind(data)), []
    plain = getattr(bound, name)
    monkeypatch.setattr(bound, name, lambda *args: seen.append(len(args[1])) or plain(*args))
    decide(plan, level=0.05, n_resamples=199)
    decide(plan, level=pvalue if test == "skce" else 0.99, n_resamples=199)
    assert seen == counts


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("level", [0.001, 0.01, 0.05, 0.2])
def test_most_extreme_counts_what_the_pvalue_allows(level, sides):
    """The largest count of redrawn statistics whose p-value is at most the level."""
    counts = [h for h in range(200) if min(1.0, sides * (1 + h) / 200) <= level]
    assert most_extreme(level, 199, sides) == (max(counts) if counts else -1)
    assert isinstance(most_extreme(level, 199, sides), int)
