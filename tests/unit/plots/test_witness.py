"""The picture of the witness."""

import numpy as np
import pytest

import caltest as ct
from caltest import DegenerateDataWarning, InvalidInput, NotApplicable
from caltest.plots import witness


def result_of(model="M2", lens="strong", **options):
    """Test data of a model of Widmann et al."""
    data = ct.datasets.generative_model(model, rng=3, **options)
    return ct.test_calibration(data, test="skce", lens=lens, n_resamples=19, rng=1)


@pytest.mark.parametrize(("lens", "name"), [("confidence", "right"), ("classwise[1]", "1")])
def test_curve_is_that_of_the_witness(lens, name):
    """Under one-dimensional lenses; the axis names the event."""
    result = result_of(n=200, m=3, lens=lens)
    ax = witness(result)
    curve = result.witness().gap_curve(201)
    np.testing.assert_allclose(
        ax.lines[1].get_xydata(), np.column_stack([curve.x, 100 * curve.gap])
    )
    assert ax.get_xlabel() == f"predicted probability of {name}"


def test_witness_itself_has_no_pvalue():
    """The title of a result begins with its p-value."""
    result = result_of(n=50, m=2, alpha=1.0)
    assert witness(result).get_title(loc="left") == f"$p$ = {result.pvalue:.4g} (skce)"
    assert not witness(result.witness()).get_title(loc="left")


def test_gap_is_that_of_the_kernel_and_the_band_that_of_drawn_labels():
    """The mean of y - p by the weights of the kernel, with the deviation of labels of p."""
    result = result_of(n=80, m=2, alpha=1.0)
    found = result.witness()
    curve = found.gap_curve(5)
    data = result.evidence.seen
    p, y = data.probs[:, 1], data.labels
    h = float(result.parameters["bandwidth"])
    kernel = np.exp(-np.abs(curve.x[:, None] - p) / h)  # of the total variation
    weight = kernel / kernel.sum(axis=1, keepdims=True)
    assert curve.gap == pytest.approx(weight @ (y - p))
    deviation = np.sqrt(weight**2 @ (p * (1 - p)))
    ratio = curve.limit / deviation
    assert ratio == pytest.approx(np.full(5, ratio[0]))
    assert 1.96 < ratio[0] < 3.5


def test_only_what_is_outside_the_band_is_shaded():
    """Labels that are all 1 are under-predicted; a calibrated model has no shade."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.41, 0.59, 100)
    wrong = witness(ct.test_calibration(p, np.ones(100, int), test="skce", n_resamples=19, rng=1))
    right = witness(ct.test_calibration(p, rng.random(100) < p, test="skce", n_resamples=19, rng=1))
    names = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in (wrong, right)]
    assert "under-predicted" in names[0]
    assert names[1] == ["95 % if calibrated, simultaneous", "predictions"]


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_gap_of_equal_predictions_is_a_point():
    """A curve of one place would not be seen, nor a band without a width."""
    data = ct.Predictions(np.full(40, 0.3), np.arange(40) % 2)
    ax = witness(ct.test_calibration(data, test="skce", n_resamples=19, rng=1))
    assert ax.lines[1].get_marker() == "o"
    assert ax.collections[0].get_linewidth() > 0


def test_map_colours_the_gaps_beyond_chance():
    """In percentage points; other cells are white, and those without rows grey."""
    result = result_of(n=300, m=4)
    ax = witness(result, bins=5)
    found = result.witness()
    order = [region.name for region in found.by_class()]
    cells = ax.collections[1].get_array().filled(np.nan)
    for region in found.regions(5):
        cell = cells[order.index(region.name), round(region.low * 5)]
        assert cell in {0.0, 100 * region.gap}
        assert (cell == 0) or abs(region.gap) > 2.5 * region.noise
    assert [text.get_text() for text in ax.get_yticklabels()] == [str(name) for name in order]


def test_map_of_many_classes_shows_the_worst_and_says_so():
    result = result_of("M3", n=400, m=30)
    ax = witness(result, rows=7)
    assert len(ax.get_yticks()) == 7
    assert ax.get_title(loc="left").endswith("the 7 of 30 classes with the largest parts")
    assert len(witness(result).get_yticks()) == 20


def test_axes_are_given_or_the_witness_draws_itself():
    """Constant predictions too."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        result = ct.test_calibration([0.3] * 20, [0] * 20, test="skce", n_resamples=19, rng=1)
    ax = witness(result)
    assert len(ax.lines) == 2
    found = result_of(n=100, m=3).witness()
    ax, expected = found.plot(rows=2), witness(found, rows=2)
    assert [text.get_text() for text in ax.texts] == [text.get_text() for text in expected.texts]


def test_tests_without_a_witness_are_refused():
    """As those of scores are; and what is no result."""
    data = ct.datasets.generative_model("M1", n=50, m=3, rng=1)
    with pytest.raises(NotApplicable, match="has no witness"):
        witness(ct.test_calibration(data, test="brier", n_resamples=19, rng=1))
    with pytest.raises(InvalidInput, match="result must be a Witness; got a str"):
        witness("skce")
    with pytest.raises(InvalidInput, match="bins must be an integer of at least 2"):
        witness(result_of(n=30, m=3), bins=1)
