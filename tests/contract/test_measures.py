"""What holds for every measure: one code path for observed and redrawn labels, one value."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import caltest as ct
from caltest.errors import NotApplicable
from caltest.measures import REGISTRY

# Infinite where a threshold separates redrawn labels: its arc tangent has a mean.
INFINITE = {"calibration-slope"}
every_measure = pytest.mark.parametrize("key", REGISTRY)
every_number_of_classes = pytest.mark.parametrize("m", [2, 3, 20])


def predictions_of(m):
    """Return predictions with ties, zeros and ones and calibrated labels, in two classes or m."""
    rng = np.random.default_rng(m)
    counts = rng.multinomial(6, np.ones(m) / m, 70)
    counts[:, 0] += counts.sum(axis=1) == 0
    probs = counts / counts.sum(axis=1, keepdims=True)
    return ct.Predictions(probs, np.zeros(70, int), classes=np.arange(m)).simulate(rng)


def bind(key, predictions):
    """Bind a measure with default options, under the first lens that it takes."""
    for lens in ("strong", "confidence"):
        with suppress(NotApplicable):
            return REGISTRY[key]().bind(ct.lenses.resolve_lens(lens)(predictions))
    raise AssertionError(f"{key} takes no predictions of {predictions.m} classes under any lens")


@every_measure
def test_key_and_function_name_one_measure(key):
    """One key names a measure everywhere, and its function stands beside its class."""
    measure = REGISTRY[key]
    assert measure.key == key
    function = getattr(ct.measures, measure.function_name(), None)
    assert function is None or function.__module__ == measure.__module__


@every_measure
def test_measure_has_a_title_and_a_symbol(key):
    """Both are one line."""
    measure = REGISTRY[key]()
    for text in (REGISTRY[key].title, measure.title, measure.symbol, measure.description):
        assert text.strip() == text != ""
        assert "\n" not in text


@every_number_of_classes
@every_measure
def test_value_is_that_of_observed_labels_among_redrawn_ones(key, m):
    """`value` and a row of `values` are the same number."""
    bound = bind(key, predictions_of(m))
    labels = bound.redraw(np.random.default_rng(0), 3)
    rows = np.concatenate([labels, bound.observed[None]])
    assert bound.values(rows)[3] == pytest.approx(bound.value(), rel=1e-9, abs=1e-12)


@every_number_of_classes
@every_measure
def test_redrawn_values_are_those_of_new_predictions(key, m):
    """All that a bound measure keeps depends on the predictions alone: labels can be exchanged."""
    predictions = predictions_of(m)
    bound = bind(key, predictions)
    others = [bind(key, predictions.simulate(seed)) for seed in range(5)]
    expected = [other.value() for other in others]
    rows = np.array([other.observed for other in others])
    np.testing.assert_allclose(bound.values(rows), expected, rtol=1e-9, atol=1e-12)


@every_number_of_classes
@every_measure
def test_values_do_not_depend_on_how_rows_are_batched(key, m):
    """Rows at a time, and threads, change nothing."""
    bound = bind(key, predictions_of(m))
    labels = bound.redraw(np.random.default_rng(0), 21)
    whole = bound.values(labels, 1)
    single = np.concatenate([bound.values(row[None], 1) for row in labels])
    np.testing.assert_allclose(single, whole, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(bound.values(labels, 2), whole, rtol=1e-9, atol=1e-13)


@every_number_of_classes
@every_measure
def test_redrawn_values_have_the_law_of_simulated_predictions(key, m):
    """Labels redrawn in the order of the bound measure, and `Predictions.simulate`: equal means."""
    predictions = predictions_of(m)
    bound = bind(key, predictions)
    bounded = np.arctan if key in INFINITE else np.asarray
    redrawn = bounded(bound.values(bound.redraw(np.random.default_rng(0), 2000)))
    # Other seeds than that of the predictions, on which its labels would depend.
    values = [bind(key, predictions.simulate(seed)).value() for seed in range(100, 200)]
    simulated = bounded(values)
    error = redrawn.std() * np.sqrt(1 / 100 + 1 / 2000)
    assert abs(redrawn.mean() - np.mean(simulated)) < 5 * error + 1e-12
