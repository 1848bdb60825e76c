"""Tests of a difference of scores: labels redrawn from a model between two, and flipped signs."""

from itertools import product

import numpy as np
import pytest

from caltest import Predictions, compare_models
from caltest.comparison.pairs import flipped_sums, places_between, redrawn_pvalue, row_moments
from caltest.comparison.scores import SCORES


@pytest.mark.parametrize("key", SCORES)
@pytest.mark.parametrize("m", [2, 4])
def test_score_of_each_class_is_that_of_a_row_with_this_label(key, m):
    """The table and the scores of rows are two ways to the same."""
    probs = np.random.default_rng(m).dirichlet(np.ones(m), 9)
    table = SCORES[key].of_classes(probs)
    for k in range(m):
        labelled = Predictions(probs, np.full(9, k), classes=np.arange(m))
        assert table[:, k] == pytest.approx(SCORES[key].of_rows(labelled))


@pytest.mark.parametrize("key", SCORES)
def test_model_between_gives_both_the_same_expected_score(key):
    """In each row; the rows are probabilities, also where a model has a zero."""
    first, second = np.random.default_rng(0).dirichlet(np.ones(3), (2, 50))
    first[0], second[1] = [0.0, 0.5, 0.5], first[1]
    table = SCORES[key].of_classes(first) - SCORES[key].of_classes(second)
    t = places_between(row_moments(first, second, table), np.ones(50))[0]
    q = mixture(first, second, t)
    assert np.einsum("ij,ij->i", q, table) == pytest.approx(0.0, abs=1e-9)
    assert q.min() >= 0
    assert q.sum(axis=1) == pytest.approx(1.0)


def test_many_labels_need_one_model_between_alone():
    first, second = np.random.default_rng(0).dirichlet(np.ones(3), (2, 1000))
    table = SCORES["brier"].of_classes(first) - SCORES["brier"].of_classes(second)
    assert len(places_between(row_moments(first, second, table), np.ones(1000))) == 1
    assert len(places_between(row_moments(first[:20], second[:20], table[:20]), np.ones(20))) == 3


@pytest.mark.parametrize("key", SCORES)
def test_models_that_are_right_in_their_own_rows_have_the_same_score_on_the_whole(key):
    """All rows of one kind are with one model, and those of the other as near as the sum allows."""
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet(np.ones(3), (2, 20))
    weight = rng.uniform(0.5, 2.0, 20)
    table = SCORES[key].of_classes(first) - SCORES[key].of_classes(second)
    middle, *others = places_between(row_moments(first, second, table), weight)
    assert len(others) == 2
    for t in others:
        assert ((t >= 0) & (t <= 1)).all()
        means = np.einsum("ij,ij->i", mixture(first, second, t), table)
        assert weight @ means == pytest.approx(0.0, abs=1e-9)
        assert np.isclose(t, 0.0)[t < middle].all() or np.isclose(t, 1.0)[t > middle].all()


def mixture(first, second, t):
    """Return the probabilities at a place between two models."""
    return (1 - t)[:, None] * first + t[:, None] * second


def test_no_event_at_all_does_not_show_that_the_lower_model_is_better():
    """With two events expected in between, none has a probability of 13 %; the interval holds 0."""
    labels = np.zeros(100, int)
    models = {"low": np.full(100, 0.01), "high": np.full(100, 0.036)}
    [pair] = compare_models(models, labels, classes=[0, 1], test="brier", rng=1).pairs
    assert pair.pvalue > 0.05
    assert pair.low <= 0 <= pair.high


def test_redrawn_pvalue_does_not_depend_on_n_jobs():
    """Blocks of rows are summed in their order."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, 3000)
    models = [Predictions(p, labels) for p in rng.dirichlet(np.ones(3), (2, 3000))]
    d = SCORES["brier"].of_rows(models[0]) - SCORES["brier"].of_rows(models[1])
    options = {"n_resamples": 999, "seed": 2}
    one, two = (
        redrawn_pvalue(*models, SCORES["brier"], d, n_jobs=n_jobs, **options) for n_jobs in (1, 2)
    )
    assert one == two


# ---- flipped signs -------------------------------------------------------------------------------


def sums(values, count=200, seed=1, n_jobs=None):
    return flipped_sums(np.asarray(values, float), n_resamples=count, seed=seed, n_jobs=n_jobs)


@pytest.mark.loops
def test_sums_are_among_all_that_signs_allow():
    """Each draw is one of the 2^5 sums, and each of these occurs about as often."""
    values = np.array([[1.0], [2.0], [4.0], [8.0], [16.0]])
    every = {float(np.dot(signs, values[:, 0])) for signs in product([-1, 1], repeat=5)}
    found, counts = np.unique(sums(values, 6400), return_counts=True)
    assert set(found.tolist()) == every
    assert np.square((counts - 200) / np.sqrt(200)).sum() < 61.1  # chi^2 of 31 df, 99.9 %


@pytest.mark.loops
def test_draws_do_not_depend_on_n_jobs():
    """The batches have seeds of their own, the last one a part."""
    values = np.arange(12.0).reshape(6, 2)
    assert np.array_equal(sums(values, 150, n_jobs=2), sums(values, 150))
    assert not np.array_equal(sums(values, 150, seed=2), sums(values, 150))


@pytest.mark.full
def test_interval_covers_where_surprises_of_three_classes_were_not_seen():
    """Two models that are too sure, of 30 rows: symmetric ends covered .8, all of them too low."""

    def drawn(n, rng):
        q = np.square(rng.dirichlet([0.3] * 3, n) + 1e-4)
        q /= q.sum(axis=1, keepdims=True)
        sharper = q**1.5 / np.sum(q**1.5, axis=1, keepdims=True)
        return q, sharper

    q, sharper = drawn(200_000, np.random.default_rng(1))
    truth = float(np.sum(q * np.log(q / sharper)) / len(q))
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        q, sharper = drawn(30, rng)
        y = (q.cumsum(axis=1) < rng.random((30, 1))).sum(axis=1).clip(0, 2)
        models = {k: Predictions(p, y, classes=[0, 1, 2]) for k, p in (("q", q), ("s", sharper))}
        asked = {"test": "ece", "n_resamples": 99, "rng": seed}
        (pair,) = compare_models(models, reference="q", **asked).pairs
        pair = pair if pair.name == "s" else pair.reversed()
        covered += pair.low <= truth <= pair.high
    assert covered >= 90
