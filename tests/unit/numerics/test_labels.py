"""Labels are drawn with the probabilities asked for, and never from an impossible class."""

import numpy as np
import pytest

from caltest.numerics import labels
from caltest.numerics.labels import (
    ALWAYS,
    cumulative_limits,
    draw_events,
    draw_labels,
    draw_uniforms,
    label_dtype,
    resample_keys,
    row_hashes,
)

pytestmark = pytest.mark.loops


def drawn(probs, seed=0, size=7):
    """Draw labels for rows numbered from 0."""
    rows = row_hashes(np.arange(len(probs)))
    return draw_labels(cumulative_limits(np.asarray(probs)), rows, resample_keys(seed, size))


@pytest.mark.parametrize(("m", "dtype"), [(2, "u1"), (256, "u1"), (257, "u2"), (65537, "u4")])
def test_label_dtype_holds_every_code(m, dtype):
    assert label_dtype(m) == np.dtype(dtype)


def test_hash_is_that_of_splitmix64():
    """Numbers of neighbours are uncorrelated."""
    row, key = row_hashes(np.array([0])), np.array([1234567], dtype=np.uint64)
    ((_, number),) = labels._in_parts(row, key)
    assert number[0, 0] == 6457827717110365317 >> 2
    keys = np.arange(200, dtype=np.uint64)
    z = draw_uniforms(row_hashes(np.arange(500)), keys) - 0.5
    products = (z[:, 1:] * z[:, :-1], z[1:] * z[:-1], z[1:, 1:] * z[:-1, :-1])
    assert all(abs(p.mean()) <= 5 / 12 / np.sqrt(p.size) for p in products)


def test_limits_end_at_the_last_possible_class():
    """From the last class of positive probability on they are above every uniform number."""
    limits = cumulative_limits(np.array([[0.25, 0.75, 0.0], [0.0, 0.0, 1.0]]))
    np.testing.assert_array_equal(limits, [[ALWAYS // 4, ALWAYS], [0, 0]])


@pytest.mark.parametrize("m", [3, 40])
def test_draw_labels_never_draws_an_impossible_class(m):
    """Neither at the ends, where the sum is rounded below 1, nor between."""
    probs = np.zeros((2000, m))
    probs[:, [1, m - 2]] = 0.1, 0.8999999999999999
    assert set(np.unique(drawn(probs))) == {1, m - 2}


@pytest.mark.full
def test_draw_labels_has_the_frequencies_of_the_probabilities():
    """Over 1e5 draws every frequency is within 5 standard errors, over resamples and over rows."""
    p, size = np.array([0.05, 0.0, 0.7, 0.25]), 100_000
    for found in (drawn(p[None], size=size), drawn(np.tile(p, (size, 1)), size=1)):
        frequency = np.bincount(found.ravel(), minlength=4) / size
        assert (np.abs(frequency - p) <= 5 * np.sqrt(p * (1 - p) / size)).all()


def test_events_are_those_of_the_class_of_their_interval():
    """The interval between the limits of a class holds the numbers that give its label."""
    probs = np.random.default_rng(0).dirichlet(np.ones(5), 60)
    limits, rows, keys = cumulative_limits(probs), row_hashes(np.arange(60)), resample_keys(1, 9)
    for k in range(5):
        ends = np.column_stack([np.zeros(60, np.int64), limits, np.full(60, ALWAYS)])
        found = draw_events(ends[:, k].copy(), ends[:, k + 1] - ends[:, k], rows, keys)
        np.testing.assert_array_equal(found, draw_labels(limits, rows, keys) == k)


@pytest.mark.parametrize("chunk", [1, 30, 1 << 16])
@pytest.mark.parametrize("compiled", [False, True])
def test_draws_do_not_depend_on_the_chunk_nor_on_compilation(chunk, compiled, monkeypatch):
    """A uniform number needs no other row and no other resample."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 10)
    expected = drawn(probs)
    monkeypatch.setattr(labels, "CHUNK", chunk)
    monkeypatch.setattr(labels, "compiles", lambda _: compiled)
    np.testing.assert_array_equal(drawn(probs), expected)
    np.testing.assert_array_equal(drawn(probs, size=3), expected[:3])
