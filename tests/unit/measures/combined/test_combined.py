"""The combined test: its portfolio, its scale, and what it says."""

import tracemalloc

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import caltest as ct
from caltest import NotApplicable
from caltest.measures import REGISTRY
from caltest.measures.combined.component import (
    BINARY,
    SEVERAL,
    confusions,
    correcting_temperature,
    kernel_error,
    orthonormal,
    surprise,
)
from caltest.measures.combined.context import Context
from caltest.measures.combined.one_event import log_odds
from caltest.measures.combined.tails import TailScale
from caltest.numerics.joint import log_mean_exp
from caltest.numerics.labels import resample_keys

SURE = ct.datasets.generative_model("M1", n=400, m=3, alpha=1.0, rng=1)


def sharpened(predictions, temperature):
    """The same labels with probabilities of another temperature."""
    probs = predictions.probs ** (1 / temperature)
    return ct.Predictions(probs / probs.sum(axis=1, keepdims=True), predictions.labels)


def test_too_sure_predictions_are_called_so():
    """The most extreme component has the temperature that fixes it."""
    result = ct.test_calibration(None, sharpened(SURE, 0.5), test="combined", rng=1)
    temperature = next(row for row in result.components if row.test == "temperature")
    assert result.pvalue == 0.001
    assert "too sure" in temperature.parameters["finding"]
    assert temperature.estimate == pytest.approx(2, abs=0.3)


def test_components_are_in_the_print_the_most_extreme_first():
    """Every component has a line after the p-value, in the order of the p-values."""
    result = ct.test_calibration(None, SURE, test="combined", n_resamples=99, rng=1)
    text = str(result)
    places = [text.index(f"\n{row.test}: ") for row in result.components]
    assert places == sorted(places)
    assert list(result.components.adjusted) == sorted(result.components.adjusted)


def test_components_are_shared_draws_with_the_single_test():
    """A registered test as a component has the p-value that it has by itself, at every rank."""
    names = ["ece", ("ks", "confidence")]
    result = ct.test_calibration(None, SURE, test="combined", components=names, rng=3)
    alone = {
        "ece": ct.test_calibration(None, SURE, test="ece", rng=3),
        "ks": ct.test_calibration(None, SURE, test="ks", lens="confidence", rng=3),
    }
    for row in result.components:
        assert row.statistic == alone[row.test].statistic
        assert_allclose(row.null_distribution, alone[row.test].null_distribution)


def test_reference_draws_are_not_those_of_a_user():
    """A resample that the scales were estimated from would not be exchangeable with the data."""
    bound = REGISTRY["combined"]().bind(SURE)
    keys = np.concatenate([resample_keys(seed, 50) for seed in range(20)])
    reference = resample_keys(0x5EED_0F7A_115C_A1E5_C0AB_1EED, 299)
    assert not np.isin(keys, reference).any()
    assert bound.redraw(keys[:3]).shape == (3, SURE.n)


def test_scale_is_the_share_up_to_the_tenth_value_and_goes_on():
    """-log p is the share of the reference, and increases beyond it; of a constant far out."""
    reference = np.random.default_rng(1).normal(size=299)
    scale = TailScale(reference, two_sided=False)
    assert scale.scores(np.array([np.median(reference)]))[0] == pytest.approx(np.log(2), abs=0.01)
    far = scale.scores(np.array([3.0, 5.0, 8.0]))
    assert (np.diff(far) > 3).all()
    scale = TailScale(np.zeros(299), two_sided=True)
    inside, outside = scale.scores(np.array([0.0, 1.0]))
    assert inside == 0
    assert outside > 10


def test_log_mean_exp_does_not_overflow():
    """A score of 1000 is 1000 - log K."""
    assert log_mean_exp(np.array([[1000.0], [0.0]]))[0] == pytest.approx(1000 - np.log(2))


@pytest.mark.parametrize(("m", "kinds"), [(2, BINARY), (3, SEVERAL)])
def test_value_is_the_weighted_mean_of_the_components(m, kinds):
    """The log of the mean of 1 / p, each component with its weight."""
    data = ct.datasets.generative_model("M1", n=100, m=m, rng=1)
    reciprocals = [np.exp(ct.measures.combined(data, components=k.key)) for k in kinds]
    mean = np.average(reciprocals, weights=[k.weight for k in kinds])
    assert ct.measures.combined(data) == pytest.approx(np.log(mean), rel=1e-12)


def test_confusions_count_pairs_of_classes():
    """The running sum is the sum over the table, without the hits."""
    context = Context(SURE)
    component, pairs = confusions(context), context.confusions()
    observed = np.zeros((3, 3))
    np.add.at(observed, (SURE.predicted, SURE.labels), 1)
    expected = np.sum(np.square(observed - pairs.expected) * pairs.precision)
    value = component.values(context.observed)[0]
    assert value == pytest.approx(expected)
    assert not pairs.precision[np.arange(pairs.predicted.size), pairs.predicted].any()


@pytest.mark.parametrize(
    "work",
    [
        lambda data: confusions(Context(data)).values(data.labels[None].astype(np.uint16)),
        ct.measures.e_likelihood_ratio,
    ],
    ids=["confusions", "e-likelihood-ratio"],
)
def test_memory_does_not_grow_with_the_pairs_of_classes(work):
    """Four rows of 3000 classes take less than one table of 3000 x 3000."""
    data = ct.Predictions(np.random.default_rng(1).dirichlet(np.ones(3000), 4), [5, 17, 90, 2000])
    work(data)
    tracemalloc.start()
    work(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 3000**2 / 4


@pytest.mark.parametrize("test", ["skce", "kce", "cox", "unreliability"])
def test_what_needs_the_pairs_of_very_many_classes_is_refused(test):
    """Before any work, with the size and what to ask instead."""
    probs = np.full((3, 12_000), 1 / 12_000)
    with pytest.raises(
        NotApplicable, match=r"takes [\d.]+ GiB, more than the 1 .*lens='confidence'"
    ):
        ct.test_calibration(probs, [0, 1, 2], test=test, n_resamples=9, rng=1)


def test_counts_of_chunks_that_fill_the_memory_are_refused():
    """1300 tables of 2000 x 2000 pairs are 39 GiB."""
    from caltest.measures.combined.chunks import PortfolioTotals

    with pytest.raises(NotApplicable, match="counting 1300 times the pairs of 2000 classes takes"):
        PortfolioTotals(None, None, None, 2000, 1300)


def test_features_of_few_rows_are_the_kernel():
    """With no more rows than landmarks the component is the SKCE."""
    data = ct.datasets.generative_model("M2", n=50, m=4, alpha=1.0, rng=1)
    context = Context(data)
    component = kernel_error(context)
    apart = np.abs(data.probs[:, None] - data.probs).sum(axis=2)[np.triu_indices(data.n, 1)] / 2
    kernel = ct.kernels.Exponential(bandwidth=np.median(apart))
    value = component.values(context.observed)[0]
    assert value == pytest.approx(ct.measures.skce(data, kernel=kernel), abs=1e-9)


def test_belt_functions_are_orthonormal():
    p = np.random.default_rng(1).uniform(0.05, 0.9, 80)
    functions = orthonormal(np.vander(log_odds(p), 3).T, p * (1 - p))
    assert_allclose(functions @ np.diag(p * (1 - p)) @ functions.T, np.eye(3), atol=1e-9)


def test_correcting_temperature_is_that_of_the_calibrator():
    """The maximum of the likelihood over temperatures."""
    data = sharpened(SURE, 0.7)
    found = correcting_temperature(np.log(data.probs), data.labels, np.ones(data.n))
    fitted = ct.calibrators.TemperatureScaling().fit(data.probs, data.labels).temperature_
    assert found == pytest.approx(fitted, rel=1e-3)


def test_component_without_meaning_is_refused():
    with pytest.raises(NotApplicable, match="one-dimensional"):
        ct.test_calibration(None, SURE, test="combined", components=["ks"])


@pytest.mark.parametrize("m", [2, 5])
def test_surprise_is_the_log_of_a_mean_of_roots(m):
    """The log of the sum of p^(-1/2) of what happened, over what is expected of it."""
    data = ct.datasets.generative_model("M2", n=60, m=m, alpha=0.3, rng=2)
    context = Context(data)
    source = context.source("strong")
    component = surprise(source)
    seen = 1 / np.sqrt(np.maximum(data.probs[np.arange(data.n), data.labels], 1e-12))
    mean = (data.probs / np.sqrt(np.maximum(data.probs, 1e-12))).sum()
    value = component.values(source.observed)[0]
    assert value == pytest.approx(np.log(seen.sum() / mean))


def test_outcomes_that_were_as_good_as_excluded_are_named():
    """Five labels of a probability of 1e-5 in 200 rows, which no other component hears as loud."""
    probs = np.tile([0.6, 0.39998, 1e-5, 1e-5], (200, 1))
    labels = np.arange(200) % 5 // 3
    labels[:5] = 2
    result = ct.test_calibration(ct.Predictions(probs, labels), rng=1, test="combined")
    surprise = next(row for row in result.components if row.test == "surprise")
    assert result.pvalue == 0.001
    assert "below 10 %: 0.002 % expected, 2.5 %" in surprise.parameters["finding"]
    assert surprise.estimate == pytest.approx(0.025 - 2e-5)


def test_confusions_look_where_there_are_rows():
    """A row that is certain and right leaves all pairs without a gap, also those without rows."""
    result = ct.test_calibration([[0.0, 0.0, 1.0]] * 3, [2, 2, 2], n_resamples=9, rng=1)
    assert result.pvalue == 1.0


@pytest.mark.full
@pytest.mark.parametrize("shape", [(0.7, 0.7), (0.05, 5.0)], ids=["even", "rare"])
def test_very_many_rows_of_two_classes_are_counted(shape):
    """Each component is that of the rows within 5 % of its spread, or 0.3 % of itself.

    A bin of a tenth of the rows may end within a cell.
    """
    rng = np.random.default_rng(1)
    p = np.append(rng.beta(*shape, 120_000), [0.0, 1.0])
    labels = (rng.random(p.size) < 0.99 * p + 0.001).astype(int)
    labels[-2:] = 0, 1
    counted, rows = (
        ct.test_calibration(p, labels, n_resamples=49, rng=1, engine=engine)
        for engine in ("auto", "rows")
    )
    assert "cells" in counted.parameters
    assert "cells" not in rows.parameters
    assert counted.pvalue == rows.pvalue == 0.02
    every = {row.test: row for row in rows.components}
    for row in counted.components:
        spread = np.std(every[row.test].null_distribution)
        assert row.statistic == pytest.approx(every[row.test].statistic, 3e-3, 0.05 * spread)


def test_equal_predictions_of_very_many_rows_share_a_cell():
    """One cell is the rows themselves."""
    labels = np.arange(100_000) % 3 == 0
    one = ct.test_calibration(np.full(labels.size, 0.33), labels, n_resamples=19, rng=1)
    assert one.parameters["cells"] == 1
    assert one.parameters["error by cells"] == "none"


def test_very_many_rows_of_several_classes_are_taken_by_chunks():
    """The p-value is that of a frame by chunks, and what is said of improbable ones of the rows."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), 100_000)
    labels = (rng.random((100_000, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    data = ct.Predictions(probs, labels)
    one, rows = (
        ct.test_calibration(None, data, n_resamples=49, rng=1, engine=e) for e in ("auto", "rows")
    )
    frame = pl.DataFrame({"y": labels, **{f"p{k}": probs[:, k] for k in range(3)}})
    asked = {"label": "y", "probs": ["p0", "p1", "p2"], "engine": "chunks"}
    chunks = ct.test_calibration(None, frame, n_resamples=49, rng=1, **asked)
    assert_allclose(one.null_distribution, chunks.null_distribution, rtol=1e-12)
    assert one.parameters["error by cells"].startswith("at most 0.0")
    assert "error by cells" not in rows.parameters
    own, every = ({row.test: row for row in result.components} for result in (one, rows))
    for key in ("temperature", "surprise"):
        assert own[key].parameters == every[key].parameters
    for key, row in own.items():
        unit = 1e5 - 1 if key == "skce" else 1.0  # over the rows, not over the pairs
        spread = unit * np.std(every[key].null_distribution)
        assert row.statistic == pytest.approx(unit * every[key].statistic, 3e-3, 0.3 * spread), key
