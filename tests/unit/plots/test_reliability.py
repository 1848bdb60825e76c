from __future__ import annotations

import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import confidence_band_curve, corp_band, corp_curve, reliability_bins
from caltest.plots import reliability_diagram
from caltest.results import HTest

RNG = np.random.default_rng(1)
P = RNG.random(400)
Y = (RNG.random(400) < P).astype(int)
P3 = RNG.dirichlet(np.ones(3), 400)
Y3 = RNG.integers(0, 3, 400)


def points_of(ax):
    """All points of the bins, in the order of the predictions."""
    dots = [line.get_xydata() for line in ax.lines if line.get_linestyle() == "None"]
    return np.array(sorted(np.concatenate(dots).tolist()))


def names_of(ax):
    """The texts of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_points_and_bars_are_those_of_the_bins(binning):
    """What is drawn is what `reliability_bins` gives."""
    ax = reliability_diagram(P, Y, binning=binning, bins=8, level=0.9)
    found = reliability_bins(P, Y, binning=binning, bins=8, level=0.9)
    np.testing.assert_allclose(points_of(ax), np.column_stack([found.mean, found.frequency]))
    bars = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(bars[:, :, 1], np.column_stack([found.lower, found.upper]))


def test_points_outside_their_bars_stand_out():
    """Of a model that is always wrong all points are outside."""
    assert names_of(reliability_diagram(P, 1 - Y))[-1] == "observed, outside"
    assert names_of(reliability_diagram(P, Y, bars=None)) == ["observed"]


def test_band_joins_the_bars():
    """The consistency band takes the place of the bars."""
    ax = reliability_diagram(P, Y, band="consistency")
    assert len(ax.collections) == 1
    assert names_of(ax)[0] == "95 % consistency"


def test_corp_draws_the_isotonic_fit_and_the_parts_of_the_score():
    """The corners of the curve are drawn, with MCB, DSC and UNC."""
    ax = reliability_diagram(P, Y, corp=True)
    curve = next(line for line in ax.lines if line.get_label().startswith("isotonic"))
    np.testing.assert_allclose(curve.get_xydata().T, corp_curve(P, Y).points)
    words = [line.split()[0] for line in ax.texts[0].get_text().splitlines()]
    assert words == ["n", "MCB", "DSC", "UNC"]


def test_bands_are_drawn_as_they_are():
    """A band of corp_band, and one of confidence_band_curve, which "confidence" computes."""
    drawn = corp_band(P, Y, level=0.9, n_resamples=99, rng=1)
    assert "90 % consistency" in names_of(reliability_diagram(P, Y, corp=True, band=drawn))
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
    assert ax.texts[0].get_text() == f"n = 400\n$p$ = {result.pvalue:g}"
    other = reliability_diagram(result, lens="confidence")
    assert other.texts[0].get_text().endswith("(ece, lens classwise[2])")


def test_histogram_counts_the_predictions():
    """The strip on top has all rows; without it there is none."""
    ax = reliability_diagram(P, Y)
    (strip,) = ax.child_axes
    assert strip.patches[0].get_data().values.sum() == 400
    assert ax.texts[0].get_text() == "n = 400"
    assert not reliability_diagram(P, Y, histogram=False).child_axes


@pytest.mark.parametrize("corp", [False, True])
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_constant_predictions_are_drawn(p, n, corp):
    """One point is a diagram too, for one row and for predictions of 0 and 1."""
    band = corp_band([p] * n, [0] * n, n_resamples=99, rng=1)
    for choice in (None, "confidence", band, *(["consistency"] * (not corp))):
        ax = reliability_diagram([p] * n, [0] * n, corp=corp, band=choice)
        ax.figure.draw_without_rendering()


def test_weights_are_heights_of_the_histogram():
    """The strip shows the weight of the predictions."""
    weighted = Predictions(P, Y, sample_weight=np.full(400, 0.5))
    (strip,) = reliability_diagram(weighted).child_axes
    assert strip.patches[0].get_data().values.sum() == 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bars": "confidence"}, "bars must be one of 'consistency'"),
        ({"band": "belt"}, "band must be one of 'consistency', 'confidence'"),
        ({"band": "consistency", "corp": True}, r"pass band=caltest.measures.corp_band\(...\)"),
        ({"binning": "sweep"}, "binning must be one of 'uniform', 'quantile'"),
        ({"lens": "classwise"}, "lens must be a single one; got 'classwise'"),
        ({"histogram": 1}, "histogram must be True or False"),
        ({"level": 1}, "level must lie strictly between 0 and 1"),
        ({"ax": "axes"}, "ax must be a Axes; got a str"),
    ],
)
def test_illegal_option_is_refused(options, message):
    """The message names the option, its value and the remedy."""
    with pytest.raises(InvalidInput, match=message):
        reliability_diagram(P, Y, **options)


def test_lens_that_leaves_three_classes_is_not_applicable():
    """The message names lenses that help."""
    with pytest.raises(NotApplicable, match="a reliability diagram takes one-dimensional"):
        reliability_diagram(P3, Y3, lens="largest-2")


def test_result_without_predictions_is_not_applicable():
    """A result that was read from JSON holds numbers only."""
    result = calibration_test(P, Y, n_resamples=9, rng=1)
    with pytest.raises(NotApplicable, match="a reliability diagram needs the predictions"):
        reliability_diagram(HTest.from_dict(result.to_dict()))


def test_labels_beside_a_result_are_refused():
    """A result has its own."""
    result = calibration_test(P, Y, n_resamples=9, rng=1)
    with pytest.raises(InvalidInput, match="labels has no effect where the first argument is the"):
        reliability_diagram(result, Y)
