"""The named SKCE tests: a key stands for a measure with some options fixed."""

import pytest

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import SKCE, skce


@pytest.fixture(scope="module")
def predictions():
    """Return a small data set of M2."""
    return generative_model("M2", n=40, m=3, rng=0)


@pytest.mark.parametrize(
    ("key", "options", "estimator"),
    [
        ("skce", {}, {"estimator": "unbiased"}),
        ("skce", {"estimator": "biased"}, {"estimator": "biased"}),
        ("skce-linear", {}, {"estimator": "linear"}),
        ("skce-block", {}, {"estimator": "block", "block_size": 2}),
        ("skce-block", {"block_size": 5}, {"estimator": "block", "block_size": 5}),
    ],
)
def test_key_stands_for_an_estimator(key, options, estimator, predictions):
    """The estimate is that of the measure with the options of the key and of the call."""
    result = calibration_test(None, predictions, test=key, n_resamples=19, rng=0, **options)
    assert result.test == key
    assert result.estimate == pytest.approx(skce(predictions, **estimator), rel=1e-12)


def test_key_and_measure_are_the_same_test(predictions):
    """A measure object with the same options gives the same p-value from the same seed."""
    options = {"n_resamples": 99, "rng": 1}
    by_key = calibration_test(None, predictions, test="skce-linear", **options)
    by_object = calibration_test(None, predictions, test=SKCE(estimator="linear"), **options)
    assert by_key.pvalue == by_object.pvalue
    assert by_key.parameters == by_object.parameters
