"""The binned errors of ece.py: bins, distances, the sweep, degenerate data, print and null law."""

import itertools
import math

import numpy as np
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.measures import ECE, ClasswiseECE, ece, mce
from caltest.measures.bins.ece import class_bins, sweep_counts, tie_runs

pytestmark = pytest.mark.loops


@pytest.fixture
def predictions():
    """Uncalibrated predictions of three classes."""
    return ct.datasets.generative_model("M2", n=300, m=3, alpha=1.0, rng=0)


def test_ece_of_one_observation_and_on_an_edge():
    """One bin; 0.7 is in (0.6, 0.7] of ten bins although 10 * 0.7 rounds up."""
    assert ece([[0.5, 0.3, 0.2]], [1]) == pytest.approx(0.7)
    assert ece([0.2], [1], binning="quantile") == pytest.approx(0.8)
    assert ece([0.2], [1], binning="sweep") == pytest.approx(0.8)
    assert ece([0.65, 0.7], [0, 1], bins=10) == pytest.approx(0.5 - 0.675 + 0.35)


def test_distance_as_a_function_works_for_the_sweep():
    """Which finds its bins by itself."""
    data = ct.datasets.generative_model("M2", n=60, m=2, rng=0)
    named = ece(data, binning="sweep")
    value = ece(data, distance=lambda p, y: abs(p - y).sum() / 2, binning="sweep")
    assert value == pytest.approx(named, rel=1e-12)


def test_distance_must_return_numbers(predictions):
    """NaN would be neither large nor small."""
    with pytest.raises(InvalidInput, match="distance must return finite numbers"):
        ece(predictions, distance=lambda p, y: math.nan * (p - y).sum())
    for wrong in (lambda p, y: p - y, lambda _p, _y: "far", lambda _p, _y: None):
        with pytest.raises(InvalidInput, match="distance must return a number; got"):
            ece(predictions, distance=wrong)


def test_median_variance_bins_need_min_size_observations():
    """Otherwise there would be no bin at all."""
    with pytest.raises(NotApplicable, match="there are 3; use a smaller min_size"):
        ece([0.1, 0.5, 0.9], [0, 1, 1], binning="median-variance")


def test_sweep_takes_no_weights():
    """The message names a binning that does."""
    weighted = ct.Predictions([0.1, 0.5], [0, 1], sample_weight=[1, 2])
    with pytest.raises(NotApplicable, match="takes no sample weights; use binning='quantile'"):
        ece(weighted, binning="sweep")


@pytest.mark.parametrize(
    ("options", "m", "shown"),
    [
        ({}, 2, {"binning": "uniform", "bins": 15, "distance": "total variation"}),
        (
            {"binning": "median-variance", "distance": "cityblock"},
            2,
            {"binning": "median-variance", "min_size": 10, "distance": "city-block distance"},
        ),
        ({"bins": 2, "distance": max}, 3, {"bins": 2, "occupied bins": 4, "distance": "max"}),
    ],
)
def test_ece_parameters_name_bins_and_distance(options, m, shown):
    data = ct.datasets.generative_model("M1", n=200, m=m, alpha=1.0, rng=0)
    parameters = ECE(**options).bind(data).parameters
    assert shown.items() <= parameters.items()


def test_sweep_shows_the_number_of_bins_of_the_observed_labels():
    """Four for sorted labels, one where they fall."""
    event = [0.1, 0.2, 0.7, 0.9]
    for labels, bins in (([0, 0, 1, 1], 4), ([0, 1, 0, 1], 2), ([1, 1, 0, 0], 1)):
        bound = ECE(binning="sweep").bind(ct.Predictions(event, labels))
        assert bound.parameters["bins"] == bins


def test_power_is_part_of_the_symbol():
    assert [ECE(p=p).symbol for p in (1, 2, 1.5)] == ["ECE", "ECE_2", "ECE_1.5"]
    assert ClasswiseECE(p=2).symbol == "classwise ECE_2"
    with pytest.raises(TypeError, match="unexpected keyword argument 'p'"):
        mce([0.1], [0], p=2)  # it is the ECE with an infinite one


# ---- the null law -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"bins": 2}, {"bins": 2, "p": 2}, {"binning": "quantile", "bins": 3}, {"binning": "sweep"}],
    ids=str,
)
def test_exact_pvalue_is_that_over_all_labels(options):
    """Seven predictions, all 128 label vectors with their probabilities."""
    event = np.array([0.1, 0.2, 0.3, 0.45, 0.6, 0.7, 0.8])
    labels = np.array(list(itertools.product([0, 1], repeat=7)))
    law = np.prod(np.where(labels, event, 1 - event), axis=1)
    values = np.array([ece(ct.Predictions(event, y, classes=[0, 1]), **options) for y in labels])
    observed = np.array([1, 0, 1, 0, 1, 0, 1])
    expected = law[values >= ece(event, observed, **options) - 1e-12].sum()
    result = ct.test_calibration(event, observed, test="ece", n_resamples=127, **options)
    assert result.pvalue == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("binning", ["uniform", "quantile", "median-variance"])
def test_rows_without_weight_make_no_bins_of_clusters(binning):
    """The predictions of such rows are in a bin of their own."""
    data = ct.datasets.generative_model("M2", n=100, m=2, rng=0)
    probs, clusters = 0.9 * data.probs[:, 1], np.arange(100) % 20
    test = ECE(binning=binning)
    given = {"test": test, "n_resamples": 99, "rng": 1}
    alone = ct.test_calibration(probs, data.labels, cluster=clusters, **given)
    result = ct.test_calibration(
        np.append(probs, [0.99, 1.0]),
        np.append(data.labels, [0, 1]),
        sample_weight=np.append(np.ones(100), [0, 0]),
        cluster=np.append(clusters, [0, 1]),
        **given,
    )
    assert result.pvalue == alone.pvalue
    assert result.statistic == pytest.approx(alone.statistic)


@pytest.mark.parametrize(("bins", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_table_of_bins_takes_the_smallest_type(bins, dtype):
    """One byte for each probability up to 256 bins."""
    data = ct.datasets.generative_model("M1", n=20, m=3, rng=0)
    codes, _ = class_bins(data, ClasswiseECE(bins=bins))
    assert codes.dtype == dtype


def plain_bins(labels, values, bins):
    """Return the labels in each of the occupied bins of equal mass, ties in the lower one."""
    quantiles = [values[-(-k * len(values) // bins) - 1] for k in range(1, bins)]
    cells = np.searchsorted(quantiles, values)
    return [labels[cells == c] for c in np.unique(cells)]


def plain_count(labels, values):
    """Grow the number of bins from 1 until the mean labels are not monotone."""
    for bins in range(2, len(values) + 1):
        means = [part.mean() for part in plain_bins(labels, values, bins)]
        if (np.diff(means) < -1e-12).any():
            return bins - 1
    return len(values)


def counts(labels, values):
    return sweep_counts(labels, *tie_runs(values))


@pytest.mark.parametrize("digits", [17, 1])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 57, 200])
def test_sweep_stops_where_the_plain_one_does(n, digits):
    """For calibrated labels, with and without ties."""
    rng = np.random.default_rng(n)
    values = np.sort(np.round(rng.random(n), digits))
    labels = (rng.random((30, n)) < values).astype(np.uint8)
    expected = [plain_count(row, values) for row in labels]
    np.testing.assert_array_equal(counts(labels, values), expected)


@pytest.mark.parametrize("swaps", [0, 1, 3])
def test_sweep_of_separated_labels_stops_where_the_plain_one_does(swaps):
    """Few bins around the border decide; the others are passed over."""
    rng = np.random.default_rng(swaps)
    values = np.sort(rng.random(80))
    labels = (np.arange(80) >= 40).astype(np.uint8)
    for at in 39 + rng.integers(-3, 3, swaps):
        labels[[at, at + 1]] = labels[[at + 1, at]]
    assert counts(labels[None], values)[0] == plain_count(labels, values)


@pytest.mark.full
def test_sweep_of_sorted_labels_is_fast():
    """No violation at all: as many bins as rows, without looking at each of them n times."""
    values = np.linspace(0.1, 0.9, 200_000)
    labels = (values > 0.5).astype(np.uint8)[None]
    assert counts(labels, values)[0] == values.size


def test_ece_of_the_confidence_takes_no_other_lens():
    """The error names the function that was called."""
    with pytest.raises(TypeError, match=r"confidence_ece\(\) got an unexpected .* 'lens'"):
        ct.measures.confidence_ece([0.2, 0.9], [0, 1], lens="strong")
