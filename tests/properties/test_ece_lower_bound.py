"""Theorem 1 of Wenger et al. (2020) holds for every data set, with the plug-in quantities."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest import DegenerateDataWarning
from caltest.measures import ece, ece_lower_bound, overconfidence, underconfidence
from caltest.testing import strategies


def plug_in_ece(data, bins, power):
    """Return the confidence ECE_p over `bins` bins, with the mean confidence of each."""
    top, confidence = data.probs.argmax(axis=1), data.probs.max(axis=1)
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    cells = np.ceil(confidence * bins)
    groups = [cells == cell for cell in np.unique(cells)]
    share = np.array([weight[g].sum() for g in groups]) / weight.sum()
    gap = [
        abs(np.average(confidence[g] - (top == data.labels)[g], weights=weight[g])) for g in groups
    ]
    return max(gap) if power == np.inf else float((share @ np.array(gap) ** power) ** (1 / power))


@given(strategies.predictions(), st.integers(1, 20), st.sampled_from([1.0, 1.5, 2.0, 5.0, np.inf]))
def test_bound_is_below_every_ece(data, bins, power):
    """|o(f) P(wrong) - u(f) P(right)| <= ECE_1 <= ECE_p <= ECE_inf."""
    bound, first = ece_lower_bound(data), plug_in_ece(data, bins, 1.0)
    assert bound <= first + 1e-12
    assert first <= plug_in_ece(data, bins, power) + 1e-12
    assert plug_in_ece(data, bins, power) <= plug_in_ece(data, bins, np.inf) + 1e-12


@given(strategies.predictions(), st.integers(1, 20), st.sampled_from([1.0, 2.0, 5.0]))
def test_bound_is_below_the_ece_of_caltest(data, bins, power):
    """The same with `ece` under the confidence lens."""
    assert ece_lower_bound(data) <= ece(data, lens="confidence", bins=bins, p=power) + 1e-12


@given(strategies.predictions())
def test_bound_is_the_balance_of_over_and_underconfidence(data):
    """With the shares of wrong and right predictions; also mean confidence less accuracy."""
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    right = data.probs.argmax(axis=1) == data.labels
    accuracy = np.average(right, weights=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        balance = overconfidence(data) * (1 - accuracy) - underconfidence(data) * accuracy
    difference = np.average(data.probs.max(axis=1), weights=weight) - accuracy
    assert balance == pytest.approx(difference, abs=1e-13)
    assert ece_lower_bound(data) == pytest.approx(abs(balance), abs=1e-13)
