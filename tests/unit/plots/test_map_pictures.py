"""Pictures of maps of several classes: simplex, parameters, confusion, latent function, plot()."""

from functools import cache

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions
from caltest import calibrators as cal
from caltest.plots import confusion_change, latent_function, parameter_heatmap, simplex_map
from caltest.plots.calibration_map import CORNERS, _grid

DATA = {m: ct.datasets.generative_model("M2", 300, m, rng=1) for m in (2, 3, 5)}


@cache
def dirichlet():
    """Return a fitted map of three classes."""
    return cal.DirichletCalibrator().fit(DATA[3])


def arrows_of(quiver):
    """Return starts and ends of arrows."""
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


def test_simplex_needs_three_classes():
    with pytest.raises(NotApplicable, match="needs 3 classes, and the map has 5"):
        simplex_map(cal.VectorScaling().fit(DATA[5]))


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


def test_heat_map_of_many_classes_names_some():
    """The intercept is always named, and cells have no numbers."""
    data = ct.datasets.generative_model("M1", 2000, 57, rng=1)
    ax = parameter_heatmap(cal.VectorScaling().fit(data))
    assert not ax.texts
    words = [text.get_text() for text in ax.get_xticklabels()]
    assert words[:2] == ["0", "5"]
    assert words[-1] == "intercept"
    assert len(words) <= 41


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


def test_confusion_that_does_not_change_says_so():
    """Temperature scaling keeps the order of the classes."""
    ax = confusion_change(DATA[5], cal.TemperatureScaling().fit(DATA[5]))
    assert ax.texts[-1].get_text() == "no predicted class changes"


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
    z, mean = latent_function(calibrator, confidence=0.5).lines[0].get_data()
    np.testing.assert_array_equal(mean, calibrator.latent(z).mean)
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
