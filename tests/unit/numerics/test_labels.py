"""Labels are drawn with the probabilities asked for, and never from an impossible class."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from caltest.numerics import labels
from caltest.numerics.labels import cumulative_probs, draw_events, draw_labels, label_dtype

pytestmark = pytest.mark.loops


def constant_rng(value):
    """Return a stand-in for a generator whose uniform numbers are all `value`."""
    return SimpleNamespace(random=lambda shape: np.full(shape, value))


@pytest.mark.parametrize(("m", "dtype"), [(2, "u1"), (256, "u1"), (257, "u2"), (65537, "u4")])
def test_label_dtype_holds_every_code(m, dtype):
    """The type is the smallest that holds m - 1."""
    assert label_dtype(m) == np.dtype(dtype)


def test_cumulative_probs_end_at_the_last_possible_class():
    """From the last class of positive probability on they are infinite."""
    table = cumulative_probs(np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(table, [[0.25, np.inf, np.inf], [0.0, 0.0, np.inf]])


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
@pytest.mark.parametrize("m", [3, 40])
def test_draw_labels_never_draws_an_impossible_class(uniform, m):
    """The extreme uniform numbers give the first and the last class of positive probability."""
    probs = np.zeros((1, m))
    probs[0, [1, m - 2]] = 0.1, 0.8999999999999999  # the sum is rounded below 1
    drawn = draw_labels(cumulative_probs(probs), constant_rng(uniform), 2)
    expected = 1 if uniform == 0 else m - 2
    np.testing.assert_array_equal(drawn, [[expected], [expected]])


@pytest.mark.parametrize("m", [labels.LINEAR_UP_TO, labels.LINEAR_UP_TO + 1])
def test_draw_labels_inverts_the_cumulative_probabilities(m):
    """Counting (few classes) and searching (many) both give NumPy's searchsorted."""
    table = cumulative_probs(np.random.default_rng(0).dirichlet(np.ones(m), 50))
    uniforms = np.random.default_rng(1).random((4, 50))
    expected = [
        [np.searchsorted(table[i], u, side="right") for i, u in enumerate(row)] for row in uniforms
    ]
    np.testing.assert_array_equal(draw_labels(table, np.random.default_rng(1), 4), expected)


def test_draw_labels_has_the_frequencies_of_the_probabilities():
    """Over 1e5 draws every frequency is within 5 standard errors."""
    p, size = np.array([0.05, 0.0, 0.7, 0.25]), 100_000
    drawn = draw_labels(cumulative_probs(p[None]), np.random.default_rng(0), size)
    frequency = np.bincount(drawn.ravel(), minlength=4) / size
    assert (np.abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / size)).all()


def test_draw_events_has_the_frequencies_of_the_probabilities():
    """Events of probability 0 and 1 are never and always drawn, others within 5 standard errors."""
    p, size = np.array([0.0, 0.3, 1.0]), 100_000
    frequency = draw_events(p, np.random.default_rng(0), size).mean(axis=0)
    assert (np.abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / size)).all()


def test_draws_do_not_depend_on_the_chunk(monkeypatch):
    """Uniform numbers are drawn in rows, so that the stream is the same for every chunk."""
    p = np.random.default_rng(0).dirichlet(np.ones(3), 10)
    draws = []
    for chunk in (1, 30, 1 << 16):
        monkeypatch.setattr(labels, "CHUNK", chunk)
        draws.append(draw_labels(cumulative_probs(p), np.random.default_rng(5), 11))
        draws.append(draw_events(p[:, 1], np.random.default_rng(5), 11))
    for again in draws[2:]:
        assert any(np.array_equal(again, first) for first in draws[:2])
