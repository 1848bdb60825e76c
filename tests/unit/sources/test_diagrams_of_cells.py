"""Diagrams of cells show what those of the rows show."""

import numpy as np
import polars as pl
import pytest
import scipy

import caltest as ct
from caltest.measures.bins.reliability_bins import bins_of_cells, count_limits
from caltest.measures.isotonic.corp import curve_of_units
from caltest.measures.recalibration.cox import CalibrationIntercept, CalibrationSlope
from caltest.measures.scores.decomposition import parts_of_cells
from caltest.measures.smooth.smooth_curve import curve_of_cells
from caltest.plots import reliability_diagram
from caltest.plots.seen import CellsEvent
from caltest.sources import count_rows
from caltest.units import CellUnits

NAMES = {"label": "y", "probs": "p"}


def rows(n, *, points, rate=(1, 3), seed=0):
    """Return predictions and labels; `points`: predictions that are the only ones of their cell."""
    rng = np.random.default_rng(seed)
    p = rng.beta(*rate, n)
    if points:
        p = np.clip(np.round(p * 1024), 1, 1023) / 1024
    return p, (rng.random(n) < p**1.2).astype(int)


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
@pytest.mark.parametrize("counted_for", [(), (7,)])
def test_bins_of_points_are_those_of_rows(binning, counted_for):
    """Means, frequencies and exact limits, where a cell has one prediction."""
    p, y = rows(3000, points=True)
    found = bins_of_cells(count_rows(p, y, counted_for), binning, 7, 0.9)
    expected = ct.measures.reliability_bins(p, y, binning=binning, bins=7, confidence=0.9)
    for name in ("left", "right", "count", "mean", "frequency", "lower", "upper"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)


def test_limits_of_many_equal_rows_are_binomial():
    for n in (40, 10**8):
        low, high = count_limits(np.array([0.3]), np.array([0, 1]), 0.025, np.array([n]))
        law = scipy.stats.binom(n, 0.3)
        assert (low[0], high[0]) == (law.ppf(0.025), law.isf(0.025))


def test_isotonic_fit_and_parts_are_those_of_rows():
    """The CORP curve, and the Brier score with its parts."""
    p, y = rows(3000, points=True)
    cells = count_rows(p, y)
    found, expected = curve_of_units(CellUnits(cells)), ct.measures.corp_curve(p, y)
    at = np.linspace(0.01, 0.9, 50)
    np.testing.assert_allclose(found.at(at), expected.at(at), rtol=1e-9)
    assert found.mass.sum() == 3000
    parts, of_rows = parts_of_cells(cells), ct.measures.score_decomposition(p, y)
    for name in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert getattr(parts, name) == pytest.approx(getattr(of_rows, name), rel=1e-9)


@pytest.mark.parametrize("n", [40, 600, 20_000])
def test_smooth_curve_is_that_of_rows(n):
    """Where log odds vary little within a cell, and up to its knots, which end where cells do."""
    p, y = rows(n, points=False, seed=1, rate=(4, 9))
    found, expected = curve_of_cells(count_rows(p, y), 0.95), ct.measures.smooth_curve(p, y)
    assert found.terms == expected.terms
    np.testing.assert_allclose(found.x[[0, -1]], expected.x[[0, -1]], atol=2**-15)
    for name in ("probability", "lower", "upper"):
        drawn = np.interp(expected.x, found.x, getattr(found, name))
        np.testing.assert_allclose(drawn, getattr(expected, name), atol=2e-3)


def test_confidence_band_is_no_narrower_than_that_of_rows():
    """Points that are rounded to three digits are the groups of the rows; others are near."""
    p, y = rows(5000, points=False)
    on_digits = np.clip(np.round(p, 3), 0.001, 0.999)
    x, low, high = CellsEvent(count_rows(on_digits, y)).band(0.95)
    expected = ct.measures.confidence_band_curve(on_digits, y, method="round")
    np.testing.assert_allclose(x, expected.x)
    np.testing.assert_allclose(low, expected.lower, atol=1e-9)
    np.testing.assert_allclose(high, expected.upper, atol=1e-9)
    x, low, high = CellsEvent(count_rows(p, y)).band(0.95)
    expected = ct.measures.confidence_band_curve(p, y, method="round")
    left, right = expected.at(x)
    assert np.abs(low - left).max() < 0.02
    assert np.abs(high - right).max() < 0.02


@pytest.mark.parametrize(
    "measure", [CalibrationIntercept(), CalibrationIntercept(slope="estimated"), CalibrationSlope()]
)
@pytest.mark.parametrize(("n", "rate"), [(300, (1, 3)), (300, (1, 60)), (4000, (1, 3))])
def test_coefficient_intervals_of_points_are_those_of_rows(measure, n, rate):
    """Also with few events, where one that has not been seen counts."""
    p, y = rows(n, points=True, rate=rate, seed=2)
    found = measure.cell_interval(count_rows(p, y), level=0.95)
    expected = measure.own_interval(ct.Predictions(p, y), level=0.95)
    # With few events weights are other random ones.
    few = min(y.sum(), n - y.sum()) < 20 and "fixed" not in measure.description
    rtol = 0.3 if few else 1e-6
    assert found.estimate == pytest.approx(expected.estimate, rel=1e-6)
    np.testing.assert_allclose((found.low, found.high), (expected.low, expected.high), rtol=rtol)


def dots_of(ax):
    """Where the points of the bins are."""
    drawn = [c.get_offsets() for c in ax.collections if c.get_label() in {"observed", "outside"}]
    return np.array(sorted(np.concatenate(drawn).tolist()))


@pytest.mark.full
@pytest.mark.parametrize("kind", ["reliability", "corp", "confidence-band", "null"])
def test_result_by_cells_has_the_plots_of_its_cells(kind):
    """Those that need the rows say so."""
    p, y = rows(3000, points=False)
    frame = pl.DataFrame({"y": y, "p": p})
    result = ct.test_calibration(None, frame, test="ece", engine="cells", rng=1, **NAMES)
    assert result.plot(kind).figure is not None
    assert result.plot().get_ylabel() == "observed frequency of 1"
    with pytest.raises(ct.NotApplicable, match="engine='rows'"):
        result.plot("belt")
    with pytest.raises(ct.NotApplicable, match="lens='confidence' needs the rows"):
        result.plot("reliability", lens="confidence")
    of_json = ct.results.HTest.from_dict(result.to_dict())
    assert of_json == result
    assert of_json.counted is None


def test_diagram_of_a_table_is_the_same_by_cells_and_by_rows():
    """Bins that are asked for are counted, and every lens of one event is there."""
    p, y = rows(4000, points=False)
    frame = pl.DataFrame({"y": y, "p": p}).lazy()
    drawn = [
        reliability_diagram(None, frame, bins=11, engine=engine, zoom=False, **NAMES)
        for engine in ("cells", "rows")
    ]
    np.testing.assert_allclose(dots_of(drawn[0]), dots_of(drawn[1]), atol=1e-9)
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 2, 3], 2000)
    labels = (probs.cumsum(axis=1) > rng.random(2000)[:, None]).argmax(axis=1)
    three = pl.DataFrame({"y": labels, **{f"p{k}": probs[:, k] for k in range(3)}})
    assert reliability_diagram(three, engine="cells", **NAMES).get_ylabel() == "accuracy"
    one = reliability_diagram(three, lens="classwise[2]", engine="cells", **NAMES)
    assert one.get_ylabel() == "observed frequency of 2"
    with pytest.raises(ct.InvalidInput, match="single"):
        reliability_diagram(three, lens="classwise", engine="cells", **NAMES)


def test_rows_that_are_left_out_of_a_diagram_are_named():
    """By a warning; without on_error='skip' they are an error."""
    p, y = rows(100, points=False)
    frame = pl.DataFrame({"y": y, "p": np.where(np.arange(100) < 3, 2.0, p)})
    with pytest.raises(ct.InvalidInput, match="outside"):
        reliability_diagram(frame, engine="cells", **NAMES)
    with pytest.warns(ct.errors.DegenerateDataWarning, match="3 rows with a probability outside"):
        reliability_diagram(frame, engine="cells", on_error="skip", **NAMES)
    with pytest.raises(ct.NotApplicable, match="name columns"):
        reliability_diagram(p, y, label="y")
    with pytest.raises(ct.InvalidInput, match="probs"):
        reliability_diagram(p, y, probs="p")
