"""Intervals and bands stay in the range of what they estimate, with few events above all."""

from contextlib import suppress

import numpy as np
import pytest

import caltest as ct
from caltest.calibrators.base import Coefficient
from caltest.errors import NotApplicable

BANDS = ["reliability_bins", "corp_band", "confidence_band_curve", "calibration_belt_curve"]
pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")


def few(seed):
    """Draw 12 to 40 predictions, many of them next to 0 or 1."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 0.3, rng.integers(12, 41))
    return ct.Predictions(p, (rng.random(p.size) < p).astype(int), classes=[0, 1])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", BANDS)
def test_bands_are_probabilities(name, seed):
    """Every end of a bin, a band or a belt lies in [0, 1]."""
    with suppress(NotApplicable):
        band = getattr(ct.measures, name)(few(seed))
        ends = [
            getattr(band, key) for key in ("low", "high", "lower", "upper") if hasattr(band, key)
        ]
        assert ends
        assert all(np.nanmin(end) >= 0 and np.nanmax(end) <= 1 for end in ends)


@pytest.mark.parametrize("seed", range(5))
def test_bins_of_a_histogram_are_probabilities(seed):
    """What a summary prints of each bin is Wilson's interval."""
    for one in ct.calibrators.HistogramBinning(bins=4).fit(few(seed)).coefficients():
        ends = one.interval()
        assert ends is None or 0 <= ends[0] <= one.value <= ends[1] <= 1


def test_interval_of_a_share_is_that_of_wilson():
    """By the roots of (v - p)^2 n = z^2 p (1 - p)."""
    z, v, n = 1.959963984540054, 0.75, 4
    roots = np.roots([n + z**2, -(2 * n * v + z**2), n * v**2])
    found = Coefficient("bin", v, 0.2, n=n).interval()
    np.testing.assert_allclose(found, sorted(roots), rtol=1e-12)


def test_positive_parameters_have_positive_intervals():
    """A temperature on the logarithmic scale, the slopes of beta calibration cut off at 0."""
    low, high = Coefficient("temperature", 1.0, 5.0, scale="log").interval()
    assert 0 < low < 1 < high
    assert low * high == pytest.approx(1.0)
    assert Coefficient("a", 1.0, 5.0, scale="positive").interval()[0] == 0


@pytest.mark.parametrize("score", ["brier", "spherical"])
def test_differences_of_scores_stay_in_their_range(score):
    """No difference of scores in [0, 1] is beyond -1 or 1, with three rows too."""
    right = ct.Predictions([0.0, 1.0, 0.02], [0, 1, 0], classes=[0, 1])
    wrong = ct.Predictions([1.0, 0.0, 0.5], [0, 1, 0], classes=[0, 1])
    result = ct.compare_models({"a": right, "b": wrong}, score=score, n_resamples=19, rng=1)
    assert all(-1 <= pair.low <= pair.high <= 1 for pair in result.pairs)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(3))
def test_scores_of_a_report_stay_in_their_range(seed):
    """The range under calibration of accuracy and Brier score is in [0, 1]."""
    data = few(seed).subset(np.arange(4))
    made = ct.report(data, test="brier", n_resamples=19, rng=1)
    for one in made.content.scores.scores:
        if one.low is not None:
            assert 0 <= one.low <= one.high
            assert one.name == "log loss" or one.high <= 1
