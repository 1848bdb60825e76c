"""Reliability diagrams."""

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import (
    confidence_band_curve,
    corp_band,
    corp_curve,
    reliability_bins,
    smooth_curve,
)
from caltest.plots import attributes_diagram, reliability_diagram
from caltest.plots.base import tips_of

RNG = np.random.default_rng(1)
P = RNG.random(400)
Y = (RNG.random(400) < P).astype(int)
DOTS = {"observed", "outside"}
P3 = RNG.dirichlet(np.ones(3), 400)
Y3 = RNG.integers(0, 3, 400)


def points_of(ax):
    """All points of the bins, in the order of the predictions."""
    dots = [part.get_offsets() for part in ax.collections if part.get_label() in DOTS]
    return np.array(sorted(np.concatenate(dots).tolist()))


def names_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_points_and_bars_are_those_of_the_bins(binning):
    ax = reliability_diagram(P, Y, binning=binning, bins=8, confidence=0.9)
    found = reliability_bins(P, Y, binning=binning, bins=8, confidence=0.9)
    np.testing.assert_allclose(points_of(ax), np.column_stack([found.mean, found.frequency]))
    drawn = next(part for part in ax.collections if part.get_label() == "90 % if calibrated")
    bars = np.array(drawn.get_segments())
    np.testing.assert_allclose(bars[:, :, 1], np.column_stack([found.lower, found.upper]))


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_bars_of_accuracy_and_gap_are_those_of_the_bins(binning):
    """The ECE is the mean gap by rows; bars do not overlap, and hold the mean prediction."""
    ax = reliability_diagram(P, Y, bars="gap", binning=binning, bins=8, zoom=False)
    found = reliability_bins(P, Y, binning=binning, bins=8)
    observed, gaps = ax.containers
    assert [bar.get_height() for bar in observed] == pytest.approx(found.frequency.tolist())
    gap = np.array([bar.get_height() for bar in gaps])
    if binning == "uniform":
        assert gap @ found.mass / found.mass.sum() == pytest.approx(ct.measures.ece(P, Y, bins=8))
    np.testing.assert_allclose(gap, np.abs(found.mean - found.frequency))
    left = np.array([bar.get_x() for bar in observed])
    right = left + [bar.get_width() for bar in observed]
    assert ((left <= found.mean) & (found.mean <= right)).all()
    assert (right[:-1] <= left[1:] + 1e-12).all()
    assert "95 % if calibrated" in names_of(ax)


def test_corp_draws_the_isotonic_fit_and_the_parts_of_the_score():
    """The corners of the curve are drawn, with MCB, DSC and UNC."""
    ax = reliability_diagram(P, Y, corp=True, numbers=False)
    curve = next(line for line in ax.lines if line.get_label().startswith("isotonic"))
    np.testing.assert_allclose(curve.get_xydata().T, corp_curve(P, Y).points)
    words = [line.split()[0] for line in ax.texts[0].get_text().splitlines()]
    assert words == ["n", "MCB", "DSC", "UNC"]


@pytest.mark.full
def test_bands_are_drawn_as_they_are():
    """A band of corp_band, and one of confidence_band_curve, which "confidence" computes."""
    drawn = corp_band(P, Y, confidence=0.9, n_resamples=99, rng=1)
    assert "90 % if calibrated" in names_of(reliability_diagram(P, Y, corp=True, band=drawn))
    first, second = (
        reliability_diagram(P, Y, corp=True, band=band).patches[0].get_xy()
        for band in ("confidence", confidence_band_curve(P, Y))
    )
    assert np.array_equal(first, second)


def test_confidence_band_is_drawn_where_it_holds():
    """The edges of the drawn band at predictions and between them are those of `at`."""
    band = confidence_band_curve(P[:30], Y[:30])
    ax = reliability_diagram(P[:30], Y[:30], band=band)
    at = (band.x[1:] + band.x[:-1]) / 2
    edges = [line.get_xydata() for line in ax.lines if line.get_linestyle() == ":"]
    steps = (edge[np.searchsorted(edge[:, 0], at), 1] for edge in edges)
    for drawn, bound in zip(steps, band.at(at), strict=True):
        np.testing.assert_allclose(drawn, bound)


@pytest.mark.parametrize(
    ("lens", "names"),
    [
        (None, ("confidence", "accuracy")),
        ("top-2", ("predicted probability of rank 2", "observed frequency")),
        ("within-top-2", ("predicted probability of the top 2", "observed frequency")),
        ("classwise[1]", ("predicted probability of 1", "observed frequency of 1")),
    ],
)
def test_axes_are_named_after_the_lens(lens, names):
    """Three classes are shown by their confidence unless a lens is given."""
    ax = reliability_diagram(P3, Y3, lens=lens)
    assert (ax.get_xlabel(), ax.get_ylabel()) == names


def test_result_shows_its_pvalue_and_lens():
    """The lens is that of the result; under another one the text says which test it was."""
    result = calibration_test(P3, Y3, lens="classwise[2]", test="ece", n_resamples=99, rng=1)
    ax = reliability_diagram(result)
    assert ax.get_xlabel() == "predicted probability of 2"
    lines = ax.texts[0].get_text().splitlines()
    assert lines[:2] == ["n = 400", f"$p$ = {result.pvalue:g} (ece)"]
    other = reliability_diagram(result, lens="confidence", pvalue=0.2, numbers=False)
    assert other.texts[0].get_text().endswith("$p$ = 0.2 (ece, lens classwise[2], adjusted)")


@pytest.mark.full
def test_strip_counts_the_predictions_of_each_outcome():
    """Upwards those with the event, downwards those without; the legend has the rows."""
    ax = reliability_diagram(P, Y)
    (strip,) = ax.child_axes
    up, down = (patch.get_data().values for patch in strip.patches)
    counts = np.histogram(P[Y == 1], np.linspace(0, 1, 51))[0]
    np.testing.assert_allclose(up, counts / counts.max())
    assert (down <= 0).all()
    assert {f"1: {Y.sum()} rows", f"observed {100 * Y.mean():.1f} %"} <= set(names_of(ax))
    assert not reliability_diagram(P, Y, histogram=False).child_axes


def test_curve_and_band_are_those_of_the_measure():
    """The smooth curve is drawn over the range of the predictions."""
    ax = reliability_diagram(P, Y, confidence=0.8)
    found = smooth_curve(P, Y, confidence=0.8)
    line = next(line for line in ax.lines if line.get_label() == "smooth curve")
    np.testing.assert_allclose(line.get_xydata().T, (found.x, found.probability))
    assert "80 % band, simultaneous" in names_of(ax)


@pytest.mark.full
def test_numbers_are_those_of_the_measures():
    """All with intervals, ICI and E90 in percentage points; of many rows the latter without."""
    lines = reliability_diagram(P, Y).texts[0].get_text().splitlines()
    slope, error = ct.measures.calibration_slope(P, Y), ct.measures.ici(P, Y)
    assert lines[2].startswith(f"slope {slope:.2f} (")
    assert lines[3].startswith(f"ICI {100 * error:.1f} points (")
    many = reliability_diagram(np.tile(P, 12), np.tile(Y, 12)).texts[0].get_text().splitlines()
    assert many[3] == f"ICI {100 * ct.measures.ici(np.tile(P, 12), np.tile(Y, 12)):.1f} points"
    rare = reliability_diagram(np.tile(P, 12) / 10_000, np.arange(12 * P.size) == 7)
    value = rare.texts[0].get_text().splitlines()[3].split()[1]
    assert float(value) > 0.0


@pytest.mark.full
def test_saturated_predictions_are_drawn_on_log_odds():
    """Where half of them are near 0 or 1 and others are not; and where it is asked for."""
    p = np.concatenate([np.full(200, 0.999), P[:150]])
    y = np.concatenate([np.ones(200, int), Y[:150]])
    assert reliability_diagram(p, y).get_xscale() == "logit"
    assert reliability_diagram(p, y, scale="probability").get_xscale() == "linear"
    ax = reliability_diagram(P, Y, scale="log-odds")
    assert (ax.get_xscale(), ax.get_xlim()) == ("logit", ax.get_ylim())
    assert np.isfinite(points_of(ax)).all()


def test_area_of_points_grows_with_their_rows():
    """The point of most rows is the largest, and points of few rows are faint."""
    p, y = np.repeat([0.1, 0.5, 0.9], [5, 25, 100]), np.repeat([0, 1, 0, 1], [5, 10, 15, 100])
    ax = reliability_diagram(p, y, bins=5, binning="uniform", bars=None)
    dots = next(part for part in ax.collections if part.get_label() == "observed")
    assert np.all(np.diff(dots.get_sizes()) > 0)
    assert dots.get_edgecolors()[:, 3].tolist() == [0.4, 0.7, 1.0]


def test_points_tell_their_numbers():
    """Each point has a text for pictures that can show it."""
    ax = reliability_diagram([0.25] * 40, [0] * 30 + [1] * 10)
    texts = [text for _, own in tips_of(ax.figure) for text in own]
    assert texts[0].startswith("40 rows: predicted 25.0 %, observed 25.0 % (if calibrated ")


@pytest.mark.full
@pytest.mark.parametrize(("n", "corp"), [(1, False), (2, True)])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_constant_predictions_are_drawn(p, n, corp):
    """One point is a diagram too, for one row and for predictions of 0 and 1."""
    band = corp_band([p] * n, [0] * n, n_resamples=99, rng=1)
    for choice in (None, "confidence", band, *(["consistency"] * (not corp))):
        ax = reliability_diagram([p] * n, [0] * n, corp=corp, band=choice)
        ax.figure.draw_without_rendering()


def test_weights_are_heights_of_the_histogram():
    weighted = Predictions(P, Y, sample_weight=np.where(P < 0.5, 0.0, 1.0))
    (strip,) = reliability_diagram(weighted, zoom=False).child_axes
    assert not strip.patches[0].get_data().values[:25].any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bars": "confidence"}, "bars must be one of 'consistency'"),
        ({"band": "belt"}, "band must be one of 'auto', 'consistency'"),
        ({"band": "consistency", "corp": True}, r"pass band=caltest.measures.corp_band\(...\)"),
        ({"binning": "sweep"}, "binning must be one of 'uniform', 'quantile'"),
        ({"lens": "classwise"}, "lens must be a single one; got 'classwise'"),
        ({"curve": "loess"}, "curve must be 'smooth'"),
        ({"pvalue": 2}, r"pvalue must lie in \[0, 1\]; got 2"),
        ({"histogram": 1}, "histogram must be True or False"),
        ({"confidence": 1}, "confidence must lie strictly between 0 and 1"),
        ({"ax": "axes"}, "ax must be an Axes; got a str"),
    ],
)
def test_illegal_option_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        reliability_diagram(P, Y, **options)


def test_lens_that_leaves_three_classes_is_not_applicable():
    with pytest.raises(NotApplicable, match="a reliability diagram takes one-dimensional"):
        reliability_diagram(P3, Y3, lens="largest-2")


def test_lines_are_those_of_the_observed_frequency():
    """No resolution at the frequency, no skill halfway between that and the diagonal."""
    data = ct.datasets.generative_model("M1", n=300, m=2, alpha=1.0, rng=1)
    ax = attributes_diagram(data)
    rate = float(np.mean(data.labels == 1))
    flat, upright, skill = ax.lines[-3:]
    assert set(flat.get_ydata()) == set(upright.get_xdata()) == {rate}
    np.testing.assert_allclose(skill.get_ydata(), (skill.get_xdata() + rate) / 2)
    assert skill.get_xdata()[[0, -1]].tolist() == [0, 1]
    assert "adds to the skill" in [text.get_text() for text in ax.get_legend().get_texts()]
