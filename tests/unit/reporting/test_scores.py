"""Scores with the law under calibration, compared with all labels that there are."""

import itertools
from functools import partial

import numpy as np
import pytest

import caltest as ct
from caltest.reporting.about import PROFILES
from caltest.reporting.estimates import collect_scores
from caltest.reporting.source import ReportedRows
from caltest.reporting.source import TestPlan as Plan

reported = partial(ReportedRows, plan=Plan(()), logits=None, hashed="")


def scores_of(data):
    """Return the scores by name; no test was made."""
    row = ct.test_calibration(data, n_resamples=19, rng=1)
    table = ct.HTestTable((row,), None, [row.pvalue])
    scores = collect_scores(reported(data), table, PROFILES["general"]).scores
    return {score.name: score for score in scores}


@pytest.mark.parametrize("m", [2, 3])
def test_law_under_calibration_is_that_of_all_labels(m):
    """Mean and standard deviation equal those over all label vectors with their chances."""
    data = ct.datasets.generative_model("M1", n=4, m=m, rng=1)
    values, chances = [], []
    for labels in itertools.product(range(m), repeat=4):
        values.append(
            (ct.measures.brier_score(data.probs, labels), ct.measures.log_loss(data.probs, labels))
        )
        chances.append(data.probs[np.arange(4), labels].prod())
    mean = np.array(chances) @ np.array(values)
    deviation = np.sqrt(np.array(chances) @ np.square(values - mean))
    found = [scores_of(data)[name] for name in ("Brier score", "log loss")]
    assert [score.expected for score in found] == pytest.approx(mean)
    # The lower end is cut off at 0.
    half = [(score.high - score.expected) / 1.959964 for score in found]
    assert half == pytest.approx(deviation)


def test_scores_are_those_of_the_measures():
    """Accuracy, Brier score, log loss and the classwise ECE, with weights."""
    data = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    weight = np.arange(1.0, 61.0)
    data = ct.Predictions(data.probs, data.labels, sample_weight=weight)
    found = scores_of(data)
    assert found["Brier score"].value == pytest.approx(ct.measures.brier_score(data))
    assert found["log loss"].value == pytest.approx(ct.measures.log_loss(data))
    assert found["accuracy"].value == pytest.approx(
        np.average(data.predicted == data.labels, weights=weight)
    )
    rng, redrawn = np.random.default_rng(1), []
    for _ in range(400):
        labels = (np.cumsum(data.probs, axis=1) < rng.random((60, 1))).sum(axis=1)
        own = ct.Predictions(data.probs, labels, sample_weight=weight, classes=[0, 1, 2])
        redrawn.append(ct.measures.classwise_ece(own))
    error = found["classwise ECE"]
    assert error.expected == pytest.approx(np.mean(redrawn), rel=0.03)
    assert error.low < error.expected < error.high


def test_events_beside_the_auc_are_weighted():
    """And the verdict says that there are weights, and as how many rows they count."""
    labels, weight = np.arange(60) % 2, np.arange(1.0, 61.0)
    data = ct.Predictions(np.linspace(0.1, 0.9, 60), labels, sample_weight=weight)
    found = ct.report(data, test="brier", n_resamples=19, rng=1)
    share = 100 * np.average(labels, weights=weight)
    row = found.content.scores.discrimination[0]
    assert row.note == f"of 60 rows by weight ({share:.1f} %)"
    rows = weight.sum() ** 2 / (weight @ weight)
    assert f"Rows have weights, and count as {rows:,.0f} of equal weight." in found.to_markdown()


def test_infinite_log_loss_has_no_range():
    """An impossible label makes the log loss infinite, and its law is still told."""
    data = ct.Predictions([[1.0, 0.0], [0.5, 0.5], [0.3, 0.7]], [1, 0, 1])
    found = scores_of(data)["log loss"]
    assert found.value == np.inf
    assert found.low is None
    assert np.isfinite(found.expected)
