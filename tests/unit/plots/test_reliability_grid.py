import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import ece
from caltest.plots import base, reliability_grid

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
    """No title where nothing is left out."""
    grid = reliability_grid(P[:, :3] / P[:, :3].sum(1, keepdims=True), Y % 3)
    assert grid.shape == (3,)
    assert grid[0].figure.get_suptitle() == ""


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


def test_tests_of_one_lens_share_a_diagram():
    """Two tests of a lens are two p-values in it, named, and not the same diagram twice."""
    tests = ["ece", "spiegelhalter"]
    table = calibration_test(DATA, test=tests, lens=["confidence", "top-2"], n_resamples=9, rng=1)
    grid = reliability_grid(table)
    assert {ax.get_title(loc="left") for ax in grid} == {"confidence", "top-2"}
    assert len(grid) == 2
    for ax in grid:
        lens = ax.get_title(loc="left")
        rows = zip(table.rows, table.adjusted.tolist(), strict=True)
        pairs = sorted((p, row.test) for row, p in rows if row.lens == lens)
        expected = [f"{base.pvalue_text(p)} {test}" for p, test in pairs]
        assert ax.texts[0].get_text().splitlines()[1:] == expected


def test_of_three_tests_the_smallest_pvalue_is_written():
    tests = ["ece", "spiegelhalter", "log-loss"]
    table = calibration_test(DATA, test=tests, lens="confidence", n_resamples=9, rng=1)
    (ax,) = reliability_grid(table)
    least = base.pvalue_text(float(table.adjusted.min()))
    line = ax.texts[0].get_text().splitlines()[1]
    assert line.startswith(least)
    assert line.endswith(", least of 3")


def test_grid_names_groups_of_a_table():
    table = calibration_test(P[:, 0], Y == 0, test="ece", by=Y > 9, n_resamples=99, rng=1)
    names = {ax.get_title(loc="left") for ax in reliability_grid(table)}
    assert names == {"False, strong", "True, strong"}


def test_grid_of_a_result_shows_its_classes():
    """All classes of the predictions behind it, as many as are asked for."""
    result = calibration_test(DATA, n_resamples=9, rng=1)
    assert len(reliability_grid(result, most=2)) == 2


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
        ({"fig": 3}, "fig must be a FigureBase; got a int"),
    ],
)
def test_illegal_option_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        reliability_grid(DATA, **options)
