"""Pictures of forecasts: what they show, how sure their bands are, and what they refuse."""

import numpy as np
import pytest
from scipy.special import ndtr

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.plots.forecasts import joint_band


def forecasts_of(rng, n=60, factor=1.0, **rows):
    """Return Gaussian forecasts whose outcomes scatter a factor as widely as predicted."""
    mean, scale = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
    y = mean + factor * scale * rng.normal(size=n)
    return ct.Forecasts(y, mean=mean, scale=scale, **rows)


@pytest.fixture(scope="module")
def sure():
    return forecasts_of(np.random.default_rng(2), n=400, factor=1.6)


def line(ax, label="observed"):
    (found,) = [one for one in ax.get_lines() if one.get_label() == label]
    return found.get_xydata()


def band(ax):
    """Return the places, (K, 2), that the band of a picture has as its corners."""
    return ax.collections[0].get_paths()[0].vertices


def names(ax):
    return {text.get_text() for text in ax.get_legend().get_texts()}


def test_bars_are_shares_of_the_transform(sure):
    """They are those of numpy's histogram with weights; of an ensemble all bins are alike."""
    rng = np.random.default_rng(3)
    weight = rng.exponential(size=sure.n)
    x = rng.normal(size=(3000, 8))
    members = ct.Forecasts(x[:, 0], members=x[:, 1:])
    weighted = ct.Forecasts(sure.outcomes, distribution=sure.law, sample_weight=weight)
    for given, own in ((weighted, weight), (members, None)):
        bars = ct.plots.pit_histogram(given, bins=5).patches
        expected = np.histogram(given.pit, bins=5, range=(0, 1), weights=own)[0]
        found = [bar.get_height() for bar in sorted(bars, key=lambda bar: bar.get_x())]
        assert np.allclose(found, expected / expected.sum())
    assert "outside the band" not in names(ct.plots.pit_histogram(members, bins=5))


def test_curves_are_observed_shares(sure):
    """Coverage and shares below quantiles equal those counted from z scores."""
    z = np.sort(np.abs((sure.outcomes - sure.mean) / sure.scale))
    curve = line(ct.plots.coverage_curve(sure))
    expected = [np.mean(2 * ndtr(z) - 1 < level) for level in curve[:, 0]]
    assert np.allclose(curve[:, 1], expected)
    levels = [0.1, 0.5, 0.75]
    below = line(ct.plots.quantile_reliability(sure, levels=levels))
    z = (sure.outcomes - sure.mean) / sure.scale
    assert np.allclose(below[:, 1], [np.mean(ndtr(z) < level) for level in levels])


def test_rows_without_weight_are_in_no_bin_of_spread():
    rng = np.random.default_rng(3)
    scale = np.arange(1.0, 101.0)
    outcomes = scale * rng.normal(size=100)
    weighted = ct.Forecasts(outcomes, mean=0.0, scale=scale, sample_weight=scale > 60)
    alone = ct.Forecasts(outcomes[60:], mean=0.0, scale=scale[60:])
    points = [line(ct.plots.spread_against_error(one, bins=4)) for one in (weighted, alone)]
    assert np.allclose(*points)


def test_spread_against_error_compares_bins(sure):
    """Each of two bins has its root mean square of deviations and of errors."""
    points = line(ct.plots.spread_against_error(sure, bins=2))
    halves = np.array_split(np.argsort(sure.scale), 2)
    error = sure.outcomes - sure.mean
    for point, half in zip(points, halves, strict=True):
        expected = [np.sqrt(np.mean(values[half] ** 2)) for values in (sure.scale, error)]
        assert np.allclose(point, expected)


@pytest.mark.full
def test_what_is_too_sure_leaves_the_bands(sure):
    """Each picture says so, and the p-value of a result stands in it."""
    result = ct.test_calibration(sure, test="pit-ks", n_resamples=99, rng=1)
    for kind in ("pit", "coverage", "quantiles", "spread"):
        ax = result.plot(kind)
        assert "outside the band" in names(ax)
        assert "0.01 (pit-ks)" in "".join(text.get_text() for text in ax.texts)


@pytest.mark.full
def test_band_holds_calibrated_values_as_often_as_it_says():
    """Of 200 data sets of 12 rows in bins, about 10 % leave a band of 90 %, and no more."""
    rng = np.random.default_rng(5)
    for alike in (True, False):
        probs = np.full(4, 0.25) if alike else np.array([0.05, 0.15, 0.3, 0.5])
        left = 0
        for _ in range(200):
            values = rng.multinomial(12, probs, size=100) / 12
            low, high = joint_band(values, 0.9, alike=alike)
            left += bool(((values[0] < low) | (values[0] > high)).any())
        assert 3 <= left <= 34  # of 20 expected, with probability 99.9 %


def test_band_of_bins_is_that_of_the_multinomial():
    """Its ends hold all counts with 95 % at least, by draws that the picture has not seen."""
    ax = ct.plots.pit_histogram(forecasts_of(np.random.default_rng(6), n=200))
    counts = np.random.default_rng(7).multinomial(200, [0.1] * 10, size=20_000) / 200
    low, high = band(ax)[:, 1].min(), band(ax)[:, 1].max()
    inside = np.mean((counts >= low - 1e-9).all(axis=1) & (counts <= high + 1e-9).all(axis=1))
    assert 0.94 <= inside < 0.985


@pytest.mark.full
def test_results_and_verdicts_of_forecasts_draw_the_histogram(sure):
    """So do tables of tests of the same forecasts; classes have none of these pictures."""
    asked = {"n_resamples": 19, "rng": 1}
    result = ct.test_calibration(sure, test="crps", **asked)
    table = ct.test_calibration(sure, test=["crps", "pit-ks"], **asked)
    for one in (result, table, result.verdict()):
        assert one.plot().get_label() == "PIT histogram"
        assert one.plot("coverage").get_ylabel() == "observed coverage"
    assert table.plot("pvalues").get_xlabel().startswith("p-value")
    with pytest.raises(NotApplicable, match="is of classes, not of predictive distributions"):
        result.plot("reliability")
    with pytest.raises(InvalidInput, match="lens must be one of those of Forecasts"):
        ct.plots.reliability_grid(result)
    classes = ct.datasets.generative_model("M2", n=40, m=2, rng=1)
    of_classes = ct.test_calibration(classes, test=["ece", "ks"], **asked)
    with pytest.raises(NotApplicable, match="of the forecasts that all tests of a table share"):
        of_classes.plot("pit")
    with pytest.raises(InvalidInput, match="forecasts must be a Forecasts; got a Predictions"):
        of_classes.rows[0].plot("pit")
    with pytest.raises(InvalidInput, match="levels must be between 0 and 1, and increase"):
        ct.plots.quantile_reliability(sure, levels=[0.5, 0.1])
