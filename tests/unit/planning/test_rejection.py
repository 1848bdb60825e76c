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


@pytest.mark.parametrize("model", ["M1", "M2"])
@pytest.mark.parametrize("test", ["skce", "kce", "ece", "ks", "spiegelhalter", "brier"])
def test_decision_is_that_of_the_test(test, model):
    """Ten data sets, near and far from calibration, for one- and two-sided measures."""
    for seed in range(10):
        data = ct.datasets.generative_model(model, n=60, m=3, alpha=1, rng=seed)
        options = {"lens": "confidence", "n_resamples": 199, "rng": seed}
        whole = ct.test_calibration(data, test=test, **options)
        plan = plan_of(test, data, seed, "confidence")
        decision = decide(plan, level=0.1, n_resamples=199)
        assert decision == (whole.pvalue <= 0.1, whole.estimate)


@pytest.mark.parametrize("test", ["skce", "kce", "skce-block", "skce-linear"])
@pytest.mark.parametrize("level", [0.1, 0.5])
def test_decision_of_a_pooled_measure_is_that_of_the_test(test, level):
    """Of three classes the resamples are evaluated together, the first with the observed labels."""
    for seed in range(10):
        data = ct.datasets.generative_model("M1", n=60, m=3, alpha=1, rng=seed)
        whole = ct.test_calibration(data, test=test, n_resamples=199, rng=seed)
        decision = decide(plan_of(test, data, seed), level=level, n_resamples=199)
        assert decision[0] == (whole.pvalue <= level)
        assert decision[1] == pytest.approx(whole.estimate, abs=1e-12)


def test_decision_of_a_pooled_measure_stops_early(monkeypatch):
    """It evaluates a batch, and the others together where that does not decide."""
    data = ct.datasets.generative_model("M1", n=60, m=3, alpha=1, rng=1)
    plan = plan_of("skce", data, 1)
    pvalue = ct.test_calibration(data, test="skce", n_resamples=199, rng=1).pvalue
    bound = type(plan.measure.bind(data))
    evaluated = []
    values = bound.values
    monkeypatch.setattr(
        bound, "values", lambda *args: evaluated.append(len(args[1])) or values(*args)
    )
    assert pvalue > 0.3
    decide(plan, level=0.05, n_resamples=199)
    decide(plan, level=min(1.0, pvalue), n_resamples=199)
    assert evaluated == [65, 65, 135]


def test_decision_of_few_label_vectors_is_that_of_the_test():
    """Where all label vectors are listed there is nothing to stop."""
    data = ct.Predictions([0.2, 0.9, 0.1, 0.3], [1, 0, 1, 1])
    whole = ct.test_calibration(data, test="skce", n_resamples=199, rng=1)
    decision = decide(plan_of("skce", data, 1), level=0.05, n_resamples=199)
    assert decision == (whole.pvalue <= 0.05, whole.estimate)


def test_decision_stops_early(monkeypatch):
    """A data set that is far from a rejection needs one batch of resamples."""
    data = ct.datasets.generative_model("M1", n=60, m=3, alpha=1, rng=1)
    assert ct.test_calibration(data, test="ece", rng=1).pvalue > 0.3
    plan = plan_of("ece", data, 1)
    bound = type(plan.measure.bind(data))
    drawn = []
    redraw = bound.redraw
    monkeypatch.setattr(
        bound, "redraw", lambda self, keys: drawn.append(keys.size) or redraw(self, keys)
    )
    decide(plan, level=0.05, n_resamples=199)
    assert drawn == [64]


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("level", [0.001, 0.01, 0.05, 0.2])
def test_most_extreme_counts_what_the_pvalue_allows(level, sides):
    """The largest count of redrawn statistics whose p-value is at most the level."""
    counts = [h for h in range(200) if min(1.0, sides * (1 + h) / 200) <= level]
    assert most_extreme(level, 199, sides) == (max(counts) if counts else -1)
    assert isinstance(most_extreme(level, 199, sides), int)
