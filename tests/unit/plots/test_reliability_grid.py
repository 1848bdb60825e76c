"""Grids of reliability diagrams and calibration graphs."""

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.calibrators import TemperatureScaling
from caltest.measures import ece
from caltest.plots import base, calibration_graphs, reliability_grid
from caltest.plots.reliability_grid import POINTS, _graphs

RNG = np.random.default_rng(1)
P = RNG.dirichlet(np.ones(20), 600)
Y = RNG.integers(0, 20, 600)
DATA = Predictions(P, Y)


def test_grid_shows_the_worst_classes_and_says_so():
    """Of 20 classes the 12 with the largest error, in that order."""
    grid = reliability_grid(DATA, bins=10)
    errors = ece(DATA, lens="classwise", bins=10)
    assert [int(ax.get_title(loc="left")) for ax in grid] == np.argsort(-errors)[:12].tolist()
    assert grid[0].figure.get_suptitle().startswith("12 of 20 diagrams")


def test_grid_of_few_classes_shows_all():
    """No title where nothing is left out; of a table and of a result too."""
    grid = reliability_grid(P[:, :3] / P[:, :3].sum(1, keepdims=True), Y % 3)
    assert grid.shape == (3,)
    assert grid[0].figure.get_suptitle() == ""
    table = calibration_test(P[:, 0], Y == 0, test="ece", by=Y > 9, n_resamples=99, rng=1)
    names = {ax.get_title(loc="left") for ax in reliability_grid(table)}
    assert names == {"False, strong", "True, strong"}
    result = calibration_test(DATA, n_resamples=9, rng=1)
    assert len(reliability_grid(result, most=2)) == 2


def test_grid_of_a_table_shows_adjusted_pvalues():
    """Each diagram has the p-value of its row; a row that leaves more classes has none."""
    table = calibration_test(
        DATA, test="ece", lens=["strong", "confidence", "top-2"], n_resamples=99, rng=1
    )
    grid = reliability_grid(table)
    shown = {ax.get_title(loc="left"): ax.texts[0].get_text().splitlines()[1] for ax in grid}
    expected = dict(zip((row.lens for row in table), table.adjusted.tolist(), strict=True))
    del expected["strong"]
    assert shown == {lens: f"{base.pvalue_text(value)} ece" for lens, value in expected.items()}


def test_of_three_tests_the_smallest_pvalue_is_written():
    tests = ["ece", "spiegelhalter", "log-loss"]
    table = calibration_test(DATA, test=tests, lens="confidence", n_resamples=9, rng=1)
    (ax,) = reliability_grid(table)
    least = base.pvalue_text(float(table.adjusted.min()))
    line = ax.texts[0].get_text().splitlines()[1]
    assert line.startswith(least)
    assert line.endswith(", least of 3")


@pytest.mark.full
def test_grid_is_drawn_in_a_given_figure():
    """No new figure is made then, be it a figure or a part of one."""
    whole = base.figure()
    fig = whole.subfigures(1, 2)[0]
    grid = reliability_grid(DATA, most=5, corp=True, fig=fig)
    assert all(ax.figure is fig for ax in grid)
    assert len(whole.axes) == 5
    whole.draw_without_rendering()


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize("m", [2, 5, 10])
def test_grid_fits_where_all_points_are_outside(m):
    """An empty set of points does not upset the layout; matplotlib would warn."""
    labels = np.random.default_rng(m).integers(0, m, 3000)
    probs = 0.98 * np.eye(m)[(labels + 1) % m] + 0.02 / m
    reliability_grid(probs, labels, bins=3)[0].figure.draw_without_rendering()


def test_table_without_two_classes_is_not_applicable():
    """The message says which lenses to test with."""
    table = calibration_test(DATA, lens=["strong", "largest-2"], n_resamples=9, rng=1)
    with pytest.raises(NotApplicable, match="run test_calibration with lens='classwise'"):
        reliability_grid(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most": 0}, "most must be an integer of at least 1"),
        ({"lens": "classwize"}, "lens must be one of"),
        ({"fig": 3}, "fig must be a FigureBase; got an int"),
    ],
)
def test_illegal_option_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        reliability_grid(DATA, **options)


# ---- the four graphs ----------------------------------------------------------------------------

M2 = ct.datasets.generative_model("M2", 400, 3, rng=1)
TIED = Predictions([0.1, 0.4, 0.4, 0.9], [0, 1, 0, 1])


def test_curves_are_those_of_a_hand_count():
    """Equal scores are one step; each step has its score at both ends."""
    curves = _graphs(TIED, 6)
    np.testing.assert_allclose(curves.fractile, [0, 0.25, 0.25, 0.75, 0.75, 1])
    np.testing.assert_allclose(curves.score, [0.1, 0.1, 0.4, 0.4, 0.9, 0.9])
    np.testing.assert_allclose(curves.cumulative_score, [0, 0.025, 0.025, 0.225, 0.225, 0.45])
    np.testing.assert_allclose(curves.cumulative_event, [0, 0, 0, 0.25, 0.25, 0.5])
    assert curves.ks_error == pytest.approx(0.05)


def test_many_scores_are_thinned_but_the_worst_stays():
    """A picture of a million rows has as many points as one of a thousand."""
    data = ct.datasets.generative_model("M2", 50_000, 2, rng=1)
    curves = _graphs(data, 6)
    assert len(curves.fractile) <= 2 * (POINTS + 3)
    assert curves.ks_error == pytest.approx(ct.measures.ks_error(data), rel=1e-9)
    assert (curves.fractile[0], curves.fractile[-1]) == (0.0, pytest.approx(1.0))


@pytest.mark.full
def test_second_row_is_after_recalibration():
    """A calibrator maps the first predictions; predictions stand for themselves."""
    temperature = TemperatureScaling().fit(M2)
    mapped = Predictions(temperature.predict_proba(M2), M2.labels)
    titles = [
        [ax.get_title(loc="left") for ax in calibration_graphs(M2, after)[:, 0]]
        for after in (temperature, mapped)
    ]
    assert titles[0] == titles[1]
    ks = [ct.measures.ks_error(data, lens="confidence") for data in (M2, mapped)]
    names = ("before", "after")
    assert titles[0] == [
        f"{name} recalibration: KS error = {100 * value:.2f} %"
        for name, value in zip(names, ks, strict=True)
    ]


def test_lens_of_a_result_is_taken():
    """A result brings its lens, and an option overrides it."""
    result = ct.test_calibration(M2, test="ks", lens="classwise[1]", n_resamples=99, rng=1)
    title = calibration_graphs(result)[0, 0].get_title(loc="left")
    assert title == f"KS error = {100 * result.estimate:.2f} %"
    other = calibration_graphs(result, lens="confidence")[0, 0].get_title(loc="left")
    assert other == calibration_graphs(M2)[0, 0].get_title(loc="left")


def test_result_and_calibrator_go_together():
    """The calibrator maps the predictions behind the result."""
    result = ct.test_calibration(M2, test="ks", lens="confidence", n_resamples=99, rng=1)
    assert calibration_graphs(result, TemperatureScaling().fit(M2)).shape == (2, 4)


@pytest.mark.parametrize("scores", [[0.1, 0.4, 0.4, 0.9], [0.3, 0.3, 0.3, 0.3]])
@pytest.mark.parametrize("event", [0, 1])
def test_probability_of_one_class_is_what_happened(event, scores):
    """Where the event always or never happens, its probability is not the score."""
    axes = calibration_graphs(Predictions(scores, [event] * 4))
    score, probability = (line.get_ydata() for line in axes[0, 3].lines)
    assert sorted(set(score.tolist())) == sorted(set(scores))
    assert set(probability.tolist()) == {float(event)}
    if len(set(scores)) == 1:
        assert axes[0, 3].get_xlim() == (-0.02, 1.02)


def test_figure_given_is_drawn_on():
    from matplotlib.figure import Figure

    figure = Figure()
    part = figure.subfigures(1, 2)[0]
    axes = calibration_graphs(TIED, fig=part)
    assert all(ax.figure is part for ax in axes.ravel())


def test_what_cannot_be_drawn_is_refused():
    """More than two classes, families of lenses, too few knots, axes for a figure."""
    with pytest.raises(NotApplicable, match="one-dimensional"):
        calibration_graphs(M2, lens="strong")
    with pytest.raises(InvalidInput, match="lens must be a single one"):
        calibration_graphs(M2, lens="classwise")
    with pytest.raises(InvalidInput, match="knots must be an integer of at least 3"):
        calibration_graphs(M2, knots=2)
    with pytest.raises(InvalidInput, match="fig must be a"):
        calibration_graphs(M2, fig=1)
