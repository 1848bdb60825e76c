"""The map that the held-out score prefers, and what is left after it."""

import numpy as np
import pytest

import caltest as ct
from caltest.comparison.out_of_fold import best_map
from caltest.errors import NotApplicable


@pytest.fixture(scope="module")
def overconfident():
    """Return predictions whose logits are twice too large."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(400, 3))
    labels = [rng.choice(3, p=row / row.sum()) for row in np.exp(z)]
    return ct.Predictions(2 * z, labels, from_logits=True)


@pytest.mark.full
def test_scores_and_pvalues_are_those_of_the_comparison(overconfident):
    """Before and after, for the same seed."""
    best = best_map(overconfident, ["temperature", "vector"], n_resamples=19, rng=1)
    result = ct.compare_calibrators(
        overconfident, calibrators=["temperature", "vector"], n_resamples=19, rng=1
    )
    row = result[best.name]
    assert best.name == "temperature"
    assert best.helps
    assert (best.after, best.difference) == (row.scores["log loss"], row.difference)
    assert best.low < best.difference < best.high < 0
    assert best.pvalue_before == result["identity"].tests[0].pvalue
    assert best.pvalue_after == row.tests[0].pvalue
    assert (best.n, best.n_fit, best.n_folds) == (400, 320, 5)


def test_map_is_fitted_to_all_rows(overconfident):
    """What is handed over is not a map of a fold."""
    best = best_map(overconfident, "temperature", n_resamples=19, rng=1)
    alone = ct.calibrators.TemperatureScaling().fit(overconfident)
    assert best.calibrator.temperature_ == alone.temperature_


def test_calibrated_model_stays_as_it_is():
    """No map is within the rule where the model is before all."""
    data = ct.datasets.generative_model("M1", n=300, m=3, rng=1)
    best = best_map(data, ["temperature", "vector"], n_resamples=19, rng=1)
    assert (best.name, best.difference, best.helps) == ("identity", 0, False)


def test_zero_probabilities_are_compared_by_the_brier_score(overconfident):
    isotonic = ct.calibrators.IsotonicCalibrator()
    best = best_map(overconfident, ["temperature", isotonic], n_resamples=19, rng=1)
    assert best.score == "Brier score"
    assert "Brier score" in best.rule
    assert np.isfinite([best.before, best.after, best.low, best.high]).all()


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_maps_that_cannot_be_fitted_are_said():
    """The reason of the first stands in the error."""

    class Broken(ct.calibrators.TemperatureScaling):
        def _fit(self, data):
            raise NotApplicable("no fit", "leave it out")

    data = ct.datasets.generative_model("M1", n=30, m=3, rng=1)
    with pytest.raises(NotApplicable, match=r"no map could be fitted: .*no fit"):
        best_map(data, {"broken": Broken()}, n_resamples=19, rng=1)
