"""Size of the tests in comparisons, and honesty of the nested estimate."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest import Predictions, compare_calibrators, compare_models
from caltest.calibrators import HistogramBinning, Identity, TemperatureScaling

LEVEL = 0.05


def sharp(n, seed, temperature):
    """Simulate calibrated log odds, and predict with a multiple of them."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return Predictions(1 / (1 + np.exp(-temperature * z)), labels)


class Truth(TemperatureScaling):
    """The map that is calibrated, whatever it is fitted to; but the fit costs labels nothing."""

    key = "truth"

    def _fit(self, data):
        super()._fit(data)
        self.temperature_ = 2.0


class Likelier(Truth):
    """Of two maps that are calibrated, the one that the training labels make likelier."""

    key = "likelier"

    def _fit(self, data):
        super()._fit(data)
        self.shares_ = None
        rows = np.arange(len(data.codes))
        fine, coarse = super()._calibrate(data.inputs), self._coarse(data.inputs)
        if np.log(coarse[rows, data.codes] / fine[rows, data.codes]).sum() > 0:
            self.shares_ = "coarse"

    def _coarse(self, inputs):
        """Return the true share of events on either side of 1 / 2, by quadrature."""
        x, w = np.polynomial.hermite_e.hermegauss(64)
        high = (w / (1 + np.exp(-1.5 * np.abs(x)))).sum() / w.sum()
        event = np.where(inputs.probs[:, 1] > 0.5, high, 1 - high)
        return np.column_stack([1 - event, event])

    def _calibrate(self, inputs):
        return super()._calibrate(inputs) if self.shares_ is None else self._coarse(inputs)


def rejections(kind, sets, cv=3, level=LEVEL, **options):
    """Return the number of data sets in which a calibrated map is rejected."""
    found = 0
    for seed in range(sets):
        result = compare_calibrators(
            sharp(60, seed, 2.0),
            calibrators=[kind()],
            cv=cv,
            inner_cv=2,
            correction=None,
            n_resamples=39,
            rng=seed,
            **options,
        )
        found += result[kind.key].tests[0].pvalue <= level
    return found


@pytest.mark.slow
def test_map_that_no_label_changes_is_tested_exactly():
    """All held-out rows are one sample, whose test reaches its level."""
    found = rejections(Truth, 60)
    assert binom.ppf(0.0005, 60, LEVEL) <= found <= binom.ppf(0.9995, 60, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["skce", "ece"])
def test_calibrated_map_that_hangs_on_labels_is_rejected_no_more_often(test):
    """The p-values of the folds, combined by Fisher's method."""
    assert rejections(Likelier, 60, cv=5, test=test) <= binom.ppf(0.9995, 60, LEVEL)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Truth, Likelier])
def test_held_out_tests_hold_their_level_over_many_data_sets(kind):
    assert rejections(kind, 2000) <= binom.ppf(0.9995, 2000, LEVEL)


NOISE = {f"bins {k}": HistogramBinning(bins=k) for k in range(2, 12)}


def optimism(sets):
    """Return the score of the winner, and the nested score, less that of the map on fresh rows."""
    scores = []
    for seed in range(sets):
        result = compare_calibrators(
            sharp(90, seed, 1.0),
            calibrators=NOISE,
            score="brier",
            cv=3,
            n_resamples=1,
            rng=seed,
            correction=None,
        )
        winner = min(row.scores["Brier score"] for row in result.rows[:-1])
        nested = result["selected"].scores["Brier score"]
        fresh = sharp(4000, 1000 + seed, 1.0)
        event = result.best.predict_proba(fresh)[:, 1]
        truth = np.mean(np.square(event - fresh.labels))
        scores.append([winner - truth, nested - truth])
    return np.array(scores).T


def in_standard_errors(values):
    """Return a mean in units of its standard error."""
    return values.mean() / (values.std(ddof=1) / np.sqrt(values.size))


@pytest.mark.slow
def test_nested_score_is_not_optimistic_and_that_of_the_winner_is():
    """300 data sets of ten maps that fit noise: against the selected map on fresh rows."""
    winner, nested = optimism(300)
    assert (nested - winner).mean() > 0
    assert in_standard_errors(nested) > -2
    assert in_standard_errors(winner) < -2


def test_sign_flips_hold_their_level():
    """Two models that are equally far from the truth, on either side of it in random rows."""
    rejected = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.2, 0.8, 50)
        labels = (rng.random(50) < p).astype(int)
        swap = rng.random(50) < 0.5
        first, second = np.where(swap, p + 0.1, p - 0.1), np.where(swap, p - 0.1, p + 0.1)
        result = compare_models(
            {"a": first, "b": second},
            labels,
            n_resamples=39,
            rng=seed,
            test="brier",
            correction=None,
        )
        rejected += result.pairs[0].pvalue <= LEVEL
    assert binom.ppf(0.0005, 150, LEVEL) <= rejected <= binom.ppf(0.9995, 150, LEVEL)


def rare_models(seed, n=200):
    """Return two models with the same expected log loss at a rate of 2 %, and labels."""
    low, high = np.full(n, 0.02 / 3), np.full(n, 0.0443479)
    return {"low": low, "high": high}, (np.random.default_rng(seed).random(n) < 0.02).astype(int)


@pytest.mark.slow
def test_scores_of_few_events_hold_their_level():
    """By sign flips alone, no event at all in the rows gives the least p-value there is."""
    rejected = 0
    for seed in range(200):
        models, labels = rare_models(seed)
        options = {"n_resamples": 99, "rng": seed, "test": "brier", "correction": None}
        classes = {"classes": [0, 1]}
        rejected += compare_models(models, labels, **options, **classes).pairs[0].pvalue <= 0.01
    assert rejected <= binom.ppf(0.9995, 200, 0.01)


def test_planted_temperature_wins_nearly_always():
    """Predictions that are twice as sharp as they should be, over data sets."""
    wins = 0
    for seed in range(15):
        result = compare_calibrators(
            sharp(300, seed, 2.0),
            calibrators="temperature",
            cv=3,
            n_resamples=1,
            rng=seed,
            correction=None,
        )
        wins += result.selected == "temperature" and not isinstance(result.best, Identity)
    assert wins >= 14
