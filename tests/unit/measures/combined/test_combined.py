"""The combined test: its portfolio, its scale, and what it says."""

import tracemalloc
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import caltest as ct
from caltest import NotApplicable
from caltest.kernels import Exponential
from caltest.kernels.features import Features
from caltest.measures.combined import tails
from caltest.measures.combined.component import (
    BINARY,
    SEVERAL,
    belt,
    confusions,
    orthonormal,
    waves,
)
from caltest.measures.combined.context import Context
from caltest.measures.combined.one_event import LEAST_PROB, ObservedRows, OneEvent
from caltest.numerics.joint import log_mean_exp
from caltest.numerics.logistic import clipped_log_odds

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


def test_temperature_at_a_bound_is_called_so():
    predictions = ct.datasets.generative_model("M1", n=50, m=3, rng=0)
    data = ct.Predictions(predictions.probs, predictions.probs.argmax(axis=1))
    result = ct.test_calibration(None, data, n_resamples=19, rng=1)
    temperature = next(row for row in result.components if row.test == "temperature")
    assert temperature.parameters["finding"].endswith("temperature 0.05 or less fits best")


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
    said = r"takes [\d.]+ GiB, more than the 1 .*lens='confidence'"
    with pytest.raises(NotApplicable, match=said):
        ct.test_calibration(probs, [0, 1, 2], test=test, n_resamples=9, rng=1)


def test_counts_of_chunks_that_fill_the_memory_are_refused():
    """1300 tables of 2000 x 2000 pairs are 39 GiB."""
    from caltest.measures.combined.chunks import PortfolioTotals

    with pytest.raises(NotApplicable, match="counting 1300 times the pairs of 2000 classes takes"):
        PortfolioTotals(None, None, None, 2000, 1300)


def test_belt_functions_are_orthonormal():
    p = np.random.default_rng(1).uniform(0.05, 0.9, 80)
    functions = orthonormal(np.vander(clipped_log_odds(p, LEAST_PROB), 3).T, p * (1 - p))
    assert_allclose(functions @ np.diag(p * (1 - p)) @ functions.T, np.eye(3), atol=1e-9)


def test_component_without_meaning_is_refused():
    with pytest.raises(NotApplicable, match="one-dimensional"):
        ct.test_calibration(None, SURE, test="combined", components=["ks"])


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


def weights_of(kind, rng, n):
    """Return continuous weights, whole ones, those with a huge one, or none of half the rows."""
    if kind == "whole":
        return rng.integers(1, 20, n)
    if kind == "one huge":
        return np.where(np.arange(n) == n // 3, n / 4, 1.0)
    return rng.lognormal(size=n) * (np.arange(n) % 2 if kind == "none of half" else 1.0)


@pytest.fixture
def few_are_many(monkeypatch):
    """Count from 2000 rows on."""
    monkeypatch.setattr(import_module("caltest.measures.combined.combined"), "MANY", 2000)


@pytest.mark.usefixtures("few_are_many")
@pytest.mark.parametrize("digits", [2, 9], ids=["ties", "no ties"])
@pytest.mark.parametrize("kind", ["continuous", "whole", "one huge", "none of half"])
def test_rows_with_weights_are_counted(kind, digits):
    """Components are those of the rows with a weight: also of pairs, where one has most of it."""
    rng = np.random.default_rng(3)
    p = np.clip(rng.beta(0.7, 0.7, 6000).round(digits), 1e-3, 0.999)
    labels = (rng.random(p.size) < p).astype(int)
    weight = weights_of(kind, rng, p.size)
    counted, rows = (
        ct.test_calibration(
            p[kept], labels[kept], sample_weight=weight[kept], n_resamples=199, rng=1, engine=engine
        )
        for engine, kept in (("auto", weight >= 0), ("rows", weight > 0))
    )
    assert "cells" in counted.parameters
    assert counted.pvalue == pytest.approx(rows.pvalue, abs=0.15)
    every = {row.test: row for row in rows.components}
    for row in counted.components:
        theirs = every[row.test]
        spread = np.std(theirs.null_distribution)
        assert row.statistic == pytest.approx(theirs.statistic, 1e-9, 0.1 * spread), row.test
        assert row.pvalue == pytest.approx(theirs.pvalue, abs=0.15), row.test


@pytest.mark.usefixtures("few_are_many")
def test_equal_weights_change_nothing_where_rows_are_counted():
    rng = np.random.default_rng(4)
    p = rng.beta(0.7, 2, 4000)
    labels = (rng.random(p.size) < p).astype(int)
    found = [
        ct.test_calibration(p, labels, sample_weight=weight, n_resamples=49, rng=1)
        for weight in (None, np.full(p.size, 3.5))
    ]
    assert_allclose(*(one.null_distribution for one in found), rtol=1e-9)


@pytest.mark.full
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_that_other_tests_see_are_counted_in_the_same_cells(weighted):
    """Each component of a redrawn label vector is about that of the rows."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.7, 0.7, 100_000)
    labels = (rng.random(p.size) < p).astype(int)
    asked = {"test": ["combined", "ks"], "n_resamples": 99, "rng": 1}
    asked |= {"sample_weight": rng.lognormal(size=p.size)} if weighted else {}
    counted, rows = (ct.test_calibration(p, labels, engine=k, **asked) for k in ("auto", "rows"))
    assert "cells" in counted.rows[0].parameters
    assert counted.rows[1].pvalue == rows.rows[1].pvalue
    every = {row.test: row for row in rows.rows[0].components}
    for row in counted.rows[0].components:
        ours, theirs = row.null_distribution, every[row.test].null_distribution
        assert np.corrcoef(ours, theirs)[0, 1] > 0.99


def test_equal_predictions_of_very_many_rows_share_a_cell():
    labels = np.arange(100_000) % 3 == 0
    one = ct.test_calibration(np.full(labels.size, 0.33), labels, n_resamples=19, rng=1)
    assert one.parameters["cells"] == 1
    assert one.parameters["error by cells"] == "none"


@pytest.mark.full
def test_very_many_rows_of_several_classes_are_taken_by_chunks():
    """The p-value is that of a frame by chunks, and what is said of improbable ones of the rows."""
    rng = np.random.default_rng(5)
    probs = rng.dirichlet(np.ones(3), 50_000)
    labels = (rng.random((50_000, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    data = ct.Predictions(probs, labels)
    one, rows = (
        ct.test_calibration(None, data, n_resamples=319, rng=1, engine=e) for e in ("auto", "rows")
    )
    frame = pl.DataFrame({"y": labels, **{f"p{k}": probs[:, k] for k in range(3)}})
    asked = {"label": "y", "probs": ["p0", "p1", "p2"], "engine": "chunks"}
    chunks = ct.test_calibration(None, frame, n_resamples=319, rng=1, **asked)
    assert_allclose(one.null_distribution, chunks.null_distribution, rtol=1e-12)
    assert one.parameters["error by cells"].startswith("at most 0.0")
    assert "error by cells" not in rows.parameters
    own, every = ({row.test: row for row in result.components} for result in (one, rows))
    for key in ("temperature", "surprise"):
        assert own[key].parameters == every[key].parameters
    for key, row in own.items():
        unit = 5e4 - 1 if key == "skce" else 1.0  # over the rows, not over the pairs
        spread = unit * np.std(every[key].null_distribution)
        assert row.statistic == pytest.approx(unit * every[key].statistic, 3e-3, 0.3 * spread), key


@pytest.mark.parametrize(
    ("p", "said"),
    [(0.3, "outcomes with probabilities below 50 %: 30 % "), (0.5, "improbable outcomes = 0 ")],
)
def test_surprise_says_what_happens_where_no_outcome_is_improbable(p, said):
    """Not that 0 % of the outcomes are below 10 %, as is expected of such predictions."""
    found = ct.test_calibration(np.full(20, p), np.arange(20) % 5 < 3, n_resamples=19, rng=1)
    text = " ".join(str(found).split())
    assert said in text[text.index("surprise: ") :]


def test_forecasts_that_differ_by_rounding_alone_are_alike():
    """Those that a map has given one scale have no components along it."""
    rng = np.random.default_rng(1)
    mean, noise = rng.normal(size=300), 1e-13 * rng.normal(size=300)
    outcomes = mean + rng.normal(size=300)
    given = ((mean, 1.0), (mean, 1.0 + noise)), ((0.0 * mean, 1.5), (1e-2 * noise, 1.5))
    for pair in given:
        one, other = (ct.Forecasts(outcomes, mean=m, scale=s) for m, s in pair)
        values = [ct.test_calibration(x, n_resamples=19, rng=1).statistic for x in (one, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_few_outcomes_near_their_forecasts_are_found():
    """Of outcomes that scatter too little only one component tells; its tail is far from normal."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        mean = rng.normal(size=8)
        rows = ct.Forecasts(mean + 0.3 * rng.normal(size=8), mean=mean, scale=1.0)
        found.append(ct.test_calibration(rows, n_resamples=199, rng=seed))
    assert sum(result.pvalue <= 0.05 for result in found) >= 15


def test_gaps_of_forecasts_have_the_unit_of_the_outcome():
    """One of 1e-18 is no rounding error where outcomes are of the size 1e-16."""
    outcomes, unit = np.random.default_rng(1).normal(size=200), 2.0**-53
    found = []
    for one in (1.0, unit):
        rows = ct.Forecasts(one * outcomes, mean=0.0, scale=one)
        parts = ct.test_calibration(rows, n_resamples=19, rng=1).components
        found.append(next(part.estimate for part in parts if part.test == "bias"))
    assert 0 != found[1] == pytest.approx(unit * found[0], rel=1e-9)


@pytest.mark.parametrize("rare", [1e-320, 1e-308, 1e-200, 1e-140])
@pytest.mark.parametrize("lens", ["strong", "classwise"])
@pytest.mark.parametrize("rows", [{}, {"cluster": np.arange(60) % 20}], ids=["rows", "clusters"])
def test_events_that_are_next_to_impossible_speak_against_the_model(rare, lens, rows):
    """No power of their variance is 0, and none of what is divided by it is infinite."""
    level = np.random.default_rng(1).uniform(0.3, 0.7, 60)
    probs = np.column_stack([np.full(60, rare), level, 1 - level])
    options = {"lens": lens, "n_resamples": 99, "rng": 1, **rows}
    assert ct.test_calibration(probs, np.arange(60) % 3, **options).pvalue <= 0.02


def test_label_vectors_that_change_places_change_scores():
    """What makes p exact where a test has its scales from its own resamples."""
    rng = np.random.default_rng(5)
    seen = rng.gamma(2.0, size=(2, 320))
    portfolio = [SimpleNamespace(two_sided=two_sided) for two_sided in (False, True)]
    none = np.empty((2, 0))
    scales, scores = tails.scored(portfolio, seen, none)
    size = 320 // tails.parts_of(320)
    within, parts = np.arange(320), np.arange(320).reshape(-1, size)
    within[:size] = rng.permutation(size)
    parts = parts[rng.permutation(len(parts))].ravel()
    for order in (within, parts):
        assert_allclose(tails.scored(portfolio, seen[:, order], none)[1], scores[:, order])
    # The scale of the observed labels does not know them.
    others = tails.scales_of(portfolio, seen[:, size:])
    assert_array_equal(tails.scores_of(others, seen[:, :1]), scores[:, :1])
    assert_array_equal(tails.scores_of(scales, seen[:, :1]), scores[:, :1])


@pytest.mark.parametrize(
    ("size", "parts"), [(1000, 20), (1001, 13), (320, 20), (300, 0), (1009, 0)]
)
def test_few_resamples_have_scales_of_reference_labels(size, parts):
    assert tails.parts_of(size) == parts


@pytest.mark.parametrize("log_odds", [(-5, 0.1), (-7, 1.5), (0, 3)])
@pytest.mark.parametrize("component", [belt, waves])
def test_observed_rows_have_the_scores_of_all_rows(component, log_odds):
    """Also where functions of the predictions are nearly alike, and the curvature is all but 0."""
    rng = np.random.default_rng(0)
    p = np.sort(1 / (1 + np.exp(-rng.normal(*log_odds, size=50_000))))
    given = "P(1)", p, 1 - p, np.ones(p.size), rng.random(p.size) < p, np.arange(p.size)
    found, exact = (component(kind(*given)) for kind in (ObservedRows, OneEvent))
    assert_allclose(found.values(found.source.observed), exact.values(exact.source.observed), 1e-6)


def test_close_predictions_have_features_in_single_precision():
    """Their distances and the bandwidth are below the smallest number of that."""
    probs = np.tile([0.5, 0.5, 0.0], (1000, 1))
    probs[::2, 2] = 1e-40
    features = Features.of(Exponential(), probs)
    near = features.between(probs[:4], probs[:4])
    assert_allclose(features.products(probs[:4]), near, atol=1e-4)
