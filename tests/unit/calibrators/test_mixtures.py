"""Mixtures of maps: the minimum of their formula."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.model_selection import KFold

from caltest.calibrators import (
    AutoCalibrator,
    DirichletCalibrator,
    EnsembleCalibrator,
    EnsembleTemperatureScaling,
    Identity,
    KernelCalibrator,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from caltest.calibrators.mixtures import mixed_maps


@pytest.fixture(scope="module")
def data():
    """Overconfident predictions of three classes, labels and weights."""
    rng = np.random.default_rng(8)
    z = rng.normal(0, 2, (120, 3))
    labels = (z / 2 + [0.5, 0, 0] + rng.gumbel(size=z.shape)).argmax(axis=1)
    return softmax(z, axis=1), labels, rng.uniform(0.5, 2, 120)


def held_out(maps, folds, probs, y, weight):
    """Return what each map predicts of the labels of held-out rows."""
    seen = np.empty((len(y), len(maps)))
    for train, test in folds:
        for j, one in enumerate(maps):
            fitted = clone(one).fit(probs[train], y[train], weight[train])
            seen[test, j] = fitted.predict_proba(probs[test])[np.arange(len(test)), y[test]]
    return seen


def test_weights_minimise_the_held_out_log_loss(data):
    """With 0.3 of a row for each map; a map of two classes is put into `OneVsRest`."""
    probs, y, weight = data
    folds = list(KFold(4).split(probs))
    maps = [Identity(), TemperatureScaling(), PlattScaling(), DirichletCalibrator()]
    calibrator = AutoCalibrator(calibrators=maps, cv=folds).fit(probs, y, weight)
    maps[2] = OneVsRest(PlattScaling())
    seen = held_out(maps, folds, probs, y, weight)

    def loss(w):
        return -weight @ np.log(seen @ w) - 0.3 * np.log(w).sum()

    one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    start, within = np.full(4, 0.25), [(1e-9, 1)] * 4
    found = minimize(loss, start, bounds=within, constraints=one, options={"ftol": 1e-13}).x
    np.testing.assert_allclose(calibrator.weights_, found, atol=1e-5)
    assert loss(calibrator.weights_) <= loss(found / found.sum()) + 1e-9
    parts = [clone(one).fit(*data).predict_proba(probs) for one in maps]
    mixture = np.tensordot(calibrator.weights_, parts, 1)
    np.testing.assert_allclose(calibrator.predict_proba(probs), mixture, rtol=1e-12)


@pytest.mark.parametrize(("bent", "free"), [(0.0, False), (0.8, True)])
def test_free_maps_are_mixed_where_their_gain_is_clear(bent, free):
    """By one standard error of what held-out rows gain with them."""
    rng = np.random.default_rng(1)
    z, weight = rng.normal(0, 1.5, (400, 3)), rng.uniform(0.5, 2, 400)
    y = (z / 2 - bent * z**2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    probs, folds = softmax(z, axis=1), list(KFold(4).split(z))
    auto = AutoCalibrator(cv=folds).fit(probs, y, weight)
    maps = [*auto.calibrators_[:-1], KernelCalibrator(bandwidth=auto.calibrators_[-1].bandwidth_)]
    mixed = [AutoCalibrator(calibrators=k, cv=folds) for k in (maps, maps[:4])]
    every, few = (one.fit(probs, y, weight).weights_ for one in mixed)
    seen = held_out(maps, folds, probs, y, weight)
    gain = np.log(seen @ every) - np.log(seen[:, :4] @ few)
    mean = np.average(gain, weights=weight)
    error = np.sqrt((weight**2 * (gain - mean) ** 2).sum()) / weight.sum()
    assert (mean > error) == free
    expected = every if free else [*few, 0, 0]
    np.testing.assert_allclose(auto.weights_, expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize(("m", "kernel"), [(2, True), (3, True), (50, False)])
def test_default_maps_depend_on_the_classes(m, kernel):
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(m), 120)
    calibrator = AutoCalibrator(cv=2).fit(probs, np.arange(120) % m)
    keys = [getattr(one, "calibrator", one).key for one in calibrator.calibrators_]
    assert ("kernel" in keys, "platt" in keys) == (kernel, m == 2)
    assert calibrator.weights_.sum() == pytest.approx(1)
    assert ("venn-abers" in mixed_maps(19_999, m), "kernel" in mixed_maps(20_000, m)) == (
        m == 2,
        False,
    )
    assert "venn-abers" in mixed_maps(20_000, m)


def test_maps_of_two_classes_are_wrapped_whatever_they_are_in():
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.ones(3), 60)
    maps = [EnsembleCalibrator(PlattScaling(), cv=2), TemperatureScaling()]
    labels = (probs.cumsum(axis=1) > rng.random((60, 1))).argmax(axis=1)
    found = AutoCalibrator(calibrators=maps, cv=2).fit(probs, labels).calibrators_
    assert [one.key for one in found] == ["one-vs-rest", "temperature"]


def drawn(seed, scale, noise):
    """Logits that are `scale` times too large, and labels of which some are pure noise."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, (400, 5))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    return scale * z, np.where(rng.random(400) < noise, rng.integers(0, 5, 400), y)


@pytest.mark.parametrize(
    ("case", "zeros"), [((0, 1.0, 0.3), 1), ((1, 3.0, 0.0), 2), ((1, 0.4, 0.0), 2), ((2, 3, 1), 1)]
)
def test_ensemble_temperature_has_the_weights_of_the_least_log_loss(case, zeros):
    """Each part with a weight has the slope -1 and no other a lower one: none are better."""
    z, y = drawn(*case)
    weight = np.arange(400) % 4
    calibrator = EnsembleTemperatureScaling(from_logits=True).fit(z, y, weight)
    first = TemperatureScaling(from_logits=True).fit(z, y, weight)
    parts = np.stack([first.predict_proba(z), softmax(z, axis=1), np.full(z.shape, 0.2)])
    own = parts[:, np.arange(400), y]
    w = calibrator.weights_
    slope = -np.average(own / (w @ own), axis=1, weights=weight)
    assert abs(slope[w > 0] + 1).max() < 1e-8
    assert slope.min() > -1 - 1e-8
    assert (w == 0).sum() == zeros
    np.testing.assert_allclose(calibrator.predict_proba(z), np.tensordot(w, parts, 1), rtol=1e-12)


def test_ensemble_temperature_keeps_the_order_of_classes():
    z, y = drawn(0, 2.0, 0.2)
    p = EnsembleTemperatureScaling(from_logits=True).fit(z, y).predict_proba(z)
    np.testing.assert_array_equal(p.argsort(axis=1), z.argsort(axis=1))
