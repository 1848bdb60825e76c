"""All fits with one observation more, against the formula of isotonic regression."""

import numpy as np
import pytest

from caltest.calibrators.binary.isotonic import added_event, added_other

pytestmark = pytest.mark.loops


def max_min(mass, events, j):
    """Isotonic regression at j: the largest over starts of the smallest mean over ends."""
    cumulated, happened = np.append(0, np.cumsum(mass)), np.append(0, np.cumsum(events))
    rise = happened[None, j + 1 :] - happened[: j + 1, None]
    run = cumulated[None, j + 1 :] - cumulated[: j + 1, None]
    return (rise / run).min(axis=1).max()


@pytest.mark.parametrize("weighted", [False, True])
def test_added_observations_are_those_of_the_formula(weighted):
    rng = np.random.default_rng(7)
    mass = rng.exponential(size=400) if weighted else rng.integers(1, 4, 400).astype(float)
    events = np.floor(mass * rng.random(400)) if not weighted else mass * rng.random(400)
    one = np.eye(400)
    with_event = [max_min(mass + one[j], events + one[j], j) for j in range(400)]
    with_other = [max_min(mass + one[j], events, j) for j in range(400)]
    assert added_event(mass, events) == pytest.approx(with_event, abs=1e-12)
    assert added_other(mass, events) == pytest.approx(with_other, abs=1e-12)


def test_added_observations_pool_with_everything_that_is_worse():
    """An event below a long run of none, and the other way round."""
    assert added_event(np.array([1.0, 9.0]), np.array([1.0, 0.0])).tolist() == [2 / 11] * 2
    assert added_other(np.array([9.0, 1.0]), np.array([9.0, 0.0])).tolist() == [9 / 11] * 2
