"""Calibration maps as curves: of two classes, of each class, of splines."""

from functools import cache

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions
from caltest import calibrators as cal
from caltest.calibrators import (
    BetaCalibrator,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    SplineCalibrator,
    TemperatureScaling,
    VectorScaling,
    VennAbers,
)
from caltest.plots import (
    calibration_map,
    confusion_change,
    latent_function,
    parameter_heatmap,
    simplex_map,
)
from caltest.plots.calibration_map import CORNERS, _grid

TWO = ct.datasets.generative_model("M2", 200, 2, rng=1)
FIVE = ct.datasets.generative_model("M2", 500, 5, rng=1)


def names_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("kind", [Identity, IsotonicCalibrator, BetaCalibrator, VennAbers])
@pytest.mark.parametrize("from_logits", [False, True])
def test_curve_of_two_classes_is_what_the_map_predicts(kind, from_logits):
    event = np.clip(TWO.probs[:, 1], 1e-9, 1 - 1e-9)
    given = np.log(event) - np.log1p(-event) if from_logits else event
    calibrator = kind(from_logits=from_logits).fit(given, TWO.labels)
    p, q = calibration_map(calibrator).lines[1].get_data()
    inside = (p > 0) & (p < 1)
    at = np.log(p[inside]) - np.log1p(-p[inside]) if from_logits else p[inside]
    np.testing.assert_allclose(q[inside], calibrator.predict_proba(at)[:, 1], rtol=1e-9)


def test_class_curves_are_the_maps_before_normalisation():
    """One-vs-rest has a map for each class."""
    calibrator = OneVsRest(IsotonicCalibrator()).fit(FIVE)
    ax = calibration_map(calibrator)
    p, q = ax.lines[1].get_data()
    rows = np.column_stack([p, *[(1 - p) / 4] * 4])
    np.testing.assert_allclose(q, calibrator.maps(rows)[:, 0])
    assert names_of(ax) == ["0", "1", "2", "3", "4"]
    assert "before normalisation" in ax.get_ylabel()


def test_curves_of_other_maps_have_all_other_classes_equal():
    """Those that are equal are one."""
    calibrator = VectorScaling().fit(FIVE)
    p, q = calibration_map(calibrator).lines[3].get_data()
    rows = np.column_stack([(1 - p) / 4, (1 - p) / 4, p, (1 - p) / 4, (1 - p) / 4])
    np.testing.assert_allclose(q, calibrator.predict_proba(rows)[:, 2])
    ax = calibration_map(TemperatureScaling().fit(FIVE))
    assert names_of(ax) == ["every class"]
    assert len(ax.lines) == 2


@pytest.mark.filterwarnings("ignore:the likelihood has no single maximum")
def test_many_classes_name_those_that_change_most():
    """Seven are coloured and at most 60 drawn; title and legend count them."""
    data = ct.datasets.generative_model("M2", 900, 80, rng=1)
    ax = calibration_map(VectorScaling().fit(data))
    assert len(ax.lines) == 1 + 60
    assert len(names_of(ax)) == 8
    assert names_of(ax)[-1] == "53 others"
    assert ax.get_title(loc="left") == "Vector scaling (60 of 80 classes)"


@pytest.mark.parametrize(("mode", "n_lines"), [("top-1", 1), ("class-wise", 5)])
def test_splines_show_the_score_they_recalibrate(mode, n_lines):
    """One curve for a rank, one for each class otherwise, through the fitted points."""
    calibrator = SplineCalibrator(mode=mode).fit(FIVE)
    ax = calibration_map(calibrator)
    p, q = ax.lines[1].get_data()
    expected = np.interp(p, calibrator.scores_[0], calibrator.recalibrated_[0])
    np.testing.assert_allclose(q, expected)
    assert len(ax.lines) == 1 + n_lines


# ---- pictures of maps of several classes --------------------------------------------------------

DATA = {m: ct.datasets.generative_model("M2", 300, m, rng=1) for m in (2, 3, 5)}


@cache
def dirichlet():
    return cal.DirichletCalibrator().fit(DATA[3])


def arrows_of(quiver):
    return quiver.XY, quiver.XY + np.column_stack([quiver.U, quiver.V])


@pytest.mark.parametrize("points", [2, 5, 12])
def test_grid_is_inside_of_the_simplex_and_symmetric(points):
    """Rows are distributions, and every permutation of one is there."""
    grid = _grid(points)
    assert len(grid) == points * (points + 1) // 2
    assert (grid > 0).all()
    np.testing.assert_allclose(grid.sum(axis=1), 1.0)
    turned = {tuple(row) for row in grid[:, [1, 2, 0]].round(9)}
    assert turned == {tuple(row) for row in grid.round(9)}


def test_arrows_lead_to_calibrated_probabilities():
    ax = simplex_map(dirichlet(), points=6)
    starts, ends = arrows_of(ax.collections[1])
    grid = _grid(6)
    np.testing.assert_allclose(starts, grid @ CORNERS)
    np.testing.assert_allclose(ends, dirichlet().predict_proba(grid) @ CORNERS, atol=1e-12)


def test_interpretation_points_are_drawn_with_their_images():
    """Only for maps that are linear in log probabilities."""
    starts, images = dirichlet().interpretation_points()
    ax = simplex_map(dirichlet())
    black, white = ax.lines[-2:]
    np.testing.assert_allclose(black.get_xydata(), starts @ CORNERS)
    np.testing.assert_allclose(white.get_xydata(), images @ CORNERS)
    logits = np.log(DATA[3].probs)
    matrix = cal.MatrixScaling(from_logits=True).fit(logits, DATA[3].labels)
    for other in (cal.TemperatureScaling().fit(DATA[3]), matrix):
        assert len(simplex_map(other).lines) == len(ax.lines) - 2


def test_dots_are_predictions_and_not_too_many():
    """Predictions or an array; of many rows some."""
    many = ct.datasets.generative_model("M2", 5000, 3, rng=1)
    for given in (many, many.probs):
        dots = simplex_map(dirichlet(), given).lines[4].get_xydata()
        assert len(dots) == 2000
        np.testing.assert_allclose(dots[0], many.probs[0] @ CORNERS)
    with pytest.raises(InvalidInput, match="predictions must have 3 columns"):
        simplex_map(dirichlet(), DATA[5])


def test_what_has_too_few_classes_or_nothing_to_show_says_so():
    with pytest.raises(NotApplicable, match="needs 3 classes, and the map has 5"):
        simplex_map(cal.VectorScaling().fit(DATA[5]))
    ax = confusion_change(DATA[5], cal.TemperatureScaling().fit(DATA[5]))
    assert ax.texts[-1].get_text() == "no predicted class changes"


@pytest.mark.parametrize("form", ["linear", "canonical"])
def test_heat_map_holds_the_parameters(form):
    """Weights, then the intercept; each number stands in its cell."""
    ax = parameter_heatmap(dirichlet(), form=form)
    expected = np.column_stack(getattr(dirichlet(), f"{form}_"))
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert [float(text.get_text()) for text in ax.texts] == pytest.approx(
        expected.ravel().tolist(), abs=0.0051
    )
    assert ax.get_xticklabels()[-1].get_text() == ("intercept" if form == "linear" else "c")


def test_map_without_parameters_is_not_applicable():
    """Isotonic regression has no weights, vector scaling no canonical form."""
    with pytest.raises(NotApplicable, match="Isotonic calibration has no linear parameters"):
        parameter_heatmap(cal.IsotonicCalibrator().fit(DATA[2]))
    with pytest.raises(NotApplicable, match="no canonical parameters"):
        parameter_heatmap(cal.VectorScaling().fit(DATA[3]), form="canonical")
    with pytest.raises(InvalidInput, match="form must be one of"):
        parameter_heatmap(dirichlet(), form="generative")


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize("weight", [None, np.arange(300.0)])
def test_confusion_change_counts_rows(weight):
    """As the difference of two matrices counted one by one."""
    data = Predictions(DATA[5].probs, DATA[5].labels, sample_weight=weight)
    after = Predictions(DATA[5].probs[:, [1, 0, 2, 3, 4]], DATA[5].labels)
    expected = np.zeros((5, 5))
    for i, label in enumerate(data.labels.tolist()):
        w = 1.0 if weight is None else weight[i] / weight[1:].mean()  # of the positive ones
        expected[label, data.probs[i].argmax()] -= w
        expected[label, after.probs[i].argmax()] += w
    after = Predictions(after.probs, after.labels, sample_weight=weight)
    ax = confusion_change(data, after)
    np.testing.assert_allclose(ax.images[0].get_array(), expected)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_name_of_the_axis_stays_in_the_figure_beside_long_names():
    """The square of cells makes room for it."""
    given = ct.datasets.generative_model("M2", 300, 4, rng=1)
    names = ["a very long name of a class", "x1", "y2", "z3"]
    labels = np.array(names)[given.labels]
    before, after = (
        Predictions(p, labels, classes=names) for p in (given.probs, given.probs[:, ::-1])
    )
    ax = confusion_change(before, after)
    ax.figure.draw_without_rendering()
    assert ax.yaxis.label.get_window_extent().x0 >= 0


def test_confusion_needs_the_same_rows():
    first = Predictions([0.2, 0.7], [0, 1])
    with pytest.raises(InvalidInput, match="another label at row 1"):
        confusion_change(first, Predictions([0.2, 0.7], [0, 0]))
    with pytest.raises(InvalidInput, match="2 and 3 rows"):
        confusion_change(first, Predictions([0.2, 0.7, 0.1], [0, 1, 1]))
    with pytest.raises(InvalidInput, match="before must be a Predictions"):
        confusion_change([0.2], first)


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:the latent mean falls")
@pytest.mark.filterwarnings("ignore:.*have a probability above 0.999")
def test_latent_function_needs_a_gaussian_process():
    """The mean lies in its band; other calibrators have none."""
    calibrator = cal.GPCalibrator().fit(DATA[2])
    of_logits = cal.GPCalibrator(from_logits=True).fit(np.log(DATA[2].probs), DATA[2].labels)
    for made in (calibrator, of_logits):
        ax = made.plot_latent(confidence=0.9)
        assert sorted(names_of(ax)) == ["90 % band", "identity", "inducing inputs", "latent mean"]
        z, mean = ax.lines[0].get_data()
        np.testing.assert_array_equal(mean, made.latent(z).mean)
        assert made.plot_latent(ax=ax) is ax
    with pytest.raises(NotApplicable, match="no latent function; use GPCalibrator"):
        latent_function(dirichlet())


@pytest.mark.parametrize(
    ("kind", "m", "mark"),
    [
        ("temperature", 2, "predicted probability of 1"),
        ("temperature", 3, ""),
        ("temperature", 5, "predicted probability, others equal"),
        ("dirichlet", 5, "class of the score"),
        ("matrix", 5, "class of the score"),
        ("spline", 5, "predicted score, top-1"),
        ("isotonic", 2, "predicted probability of 1"),
    ],
)
def test_plot_draws_the_natural_picture(kind, m, mark):
    calibrator = cal.REGISTRY[kind]().fit(DATA[m])
    assert calibrator.plot().get_xlabel() == mark


def test_plot_draws_the_kind_that_is_asked_for():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert dirichlet().plot("parameters", ax=ax) is ax
    assert ax.images
    with pytest.raises(InvalidInput, match="kind must be one of"):
        dirichlet().plot("curve")
