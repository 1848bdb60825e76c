"""Maps of two classes for each class against the rest."""

import numpy as np
import pytest
from sklearn.preprocessing import normalize

from caltest.calibrators import (
    BinaryCalibrator,
    HistogramBinning,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from caltest.errors import DegenerateDataWarning

BINARY = [PlattScaling(), IsotonicCalibrator(), HistogramBinning(), TemperatureScaling()]


def data_of(m, n=150, seed=0):
    """Return predictions, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    return probs, (rng.random((n, 1)) > probs.cumsum(axis=1)[:, :-1]).sum(axis=1)


class Zero(BinaryCalibrator):
    """A map to 0 of every probability below a half."""

    def _fit_event(self, inputs, event, weight):
        pass

    def _event(self, inputs):
        return np.where(inputs.event < 0.5, 0.0, inputs.event)


@pytest.mark.parametrize("calibrator", BINARY, ids=repr)
def test_one_vs_rest_normalises_a_map_of_each_class(calibrator):
    """Each map is fitted to the probability of its class, as if there were two."""
    probs, y = data_of(4)
    maps = [
        calibrator.fit(probs[:, k], (y == k).astype(int)).predict_proba(probs[:, k])[:, 1]
        for k in range(4)
    ]
    whole = OneVsRest(calibrator).fit(probs, y)
    np.testing.assert_allclose(whole.maps(probs), np.column_stack(maps), rtol=1e-12)
    expected = normalize(np.column_stack(maps), norm="l1")
    np.testing.assert_allclose(whole.predict_proba(probs), expected, rtol=1e-12)


@pytest.mark.parametrize("calibrator", BINARY, ids=repr)
def test_one_vs_rest_of_two_classes_is_the_map_itself(calibrator):
    """To the last bit: one map, of the second class."""
    probs, y = data_of(2)
    whole = OneVsRest(calibrator).fit(probs, y)
    expected = calibrator.fit(probs, y).predict_proba(probs)
    assert len(whole.calibrators_) == 1
    np.testing.assert_array_equal(whole.predict_proba(probs), expected)
    assert whole.coefficients() == calibrator.coefficients()


def test_one_vs_rest_keeps_a_row_whose_maps_are_all_zero():
    """Its uncalibrated probabilities say more than equal ones."""
    probs = np.array([[0.4, 0.35, 0.25], [0.6, 0.3, 0.1]])
    calibrator = OneVsRest(Zero()).fit(probs[[0, 0, 0]], [0, 1, 2])
    np.testing.assert_array_equal(calibrator.maps(probs)[0], [0, 0, 0])
    np.testing.assert_array_equal(calibrator.predict_proba(probs)[0], probs[0])
    np.testing.assert_array_equal(calibrator.predict_proba(probs)[1], [1, 0, 0])


def test_one_vs_rest_of_one_class_changes_nothing():
    """A class whose rows all have weight 0 is one without labels."""
    probs, _ = data_of(3)
    with pytest.warns(DegenerateDataWarning, match=r"every label is 1"):
        calibrator = OneVsRest(PlattScaling()).fit(probs, np.ones(len(probs), int))
    np.testing.assert_allclose(calibrator.predict_proba(probs), probs, rtol=1e-15)
    probs, y = data_of(3)
    with pytest.warns(DegenerateDataWarning, match=r"no label is 2"):
        OneVsRest(PlattScaling()).fit(probs, y, sample_weight=(y < 2).astype(float))


def test_one_vs_rest_tells_saturated_logits_apart():
    """The odds against the rest come from the logits, not from rounded probabilities."""
    logits = np.array([[90.0, 0, -9], [60, 0, -9], [0, 70, 1], [0, 50, 1], [1, 0, 40], [2, 0, 80]])
    calibrator = OneVsRest(Identity(), from_logits=True).fit(logits, [0, 0, 1, 1, 2, 2])
    fitted = calibrator.calibrators_[0]
    odds = [np.logaddexp(0, -9) - 90, np.logaddexp(0, -9) - 60]
    assert fitted.from_logits
    probs = calibrator.predict_proba(logits[:2])
    np.testing.assert_allclose(np.log(probs[:, 1:].sum(axis=1)), odds, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_one_vs_rest_does_not_depend_on_n_jobs(n_jobs):
    probs, y = data_of(5)
    expected = OneVsRest(PlattScaling()).fit(probs, y).predict_proba(probs)
    calibrator = OneVsRest(PlattScaling(), n_jobs=n_jobs).fit(probs, y)
    np.testing.assert_array_equal(calibrator.predict_proba(probs), expected)


def test_one_vs_rest_names_the_parameters_by_class():
    """The summary shows those of all maps."""
    probs, y = data_of(3)
    calibrator = OneVsRest(PlattScaling()).fit(probs, np.array(["ant", "bee", "cat"])[y])
    names = [own.name for own in calibrator.coefficients()]
    inner = [own.name for own in calibrator.calibrators_[0].coefficients()]
    assert names == [f"{animal}: {name}" for animal in ("ant", "bee", "cat") for name in inner]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_vs_rest_warns_with_the_names_of_classes(n_jobs):
    """Once for all maps, at the line that calls fit, from threads too."""
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    names = np.array(["cat", "dog", "emu"])[np.where(probs[:, 0] > 0.5, 0, 1 + np.arange(60) % 2)]
    with pytest.warns(DegenerateDataWarning, match=r"map of 'cat': the scores separate") as caught:
        OneVsRest(PlattScaling(), n_jobs=n_jobs).fit(probs, names)
    assert [warning.filename for warning in caught] == [__file__]
