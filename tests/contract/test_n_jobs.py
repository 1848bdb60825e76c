"""A seed gives one p-value for any number of jobs, for every test and null there is."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import REGISTRY
from caltest.nulls import REGISTRY as NULLS

CASES = [(test, null) for test in REGISTRY for null in REGISTRY[test].nulls]


@pytest.fixture(scope="module")
def predictions():
    """Return data that are neither clearly calibrated nor clearly not."""
    return generative_model("M2", n=70, m=3, pi=0.1, alpha=1.0, rng=3)


def run(predictions, test, null, **options):
    """Test under a lens with two classes, which every test takes."""
    return calibration_test(
        None, predictions, test=test, null=null, lens="confidence", n_resamples=150, **options
    )


def same(first, second):
    """Tell whether two results agree to the last bit, resamples too."""
    distributions = [result.null_distribution for result in (first, second)]
    return first == second and (distributions[0] is None or np.array_equal(*distributions))


@pytest.mark.parametrize(("test", "null"), CASES)
def test_pvalue_does_not_depend_on_n_jobs(test, null, predictions):
    """None, 1, 2 and -1 jobs, and joblib's configuration, give the same result."""
    result = run(predictions, test, null, rng=5)
    for n_jobs in (1, 2, -1):
        assert same(run(predictions, test, null, rng=5, n_jobs=n_jobs), result)
    with joblib.parallel_config(n_jobs=2):
        assert same(run(predictions, test, null, rng=5), result)


@pytest.mark.parametrize("n", [250, 1300])
@pytest.mark.parametrize("null", ["exact", "bootstrap"])
def test_pvalue_of_several_classes_does_not_depend_on_n_jobs(n, null):
    """Nor where the sums over pairs themselves are spread over threads."""
    predictions = generative_model("M1", n=n, m=10, rng=0)
    options = {"null": null, "n_resamples": 99, "rng": 5}
    one, two = (calibration_test(None, predictions, n_jobs=k, **options) for k in (1, 2))
    assert same(one, two)


@pytest.mark.parametrize(("test", "null"), CASES)
def test_seed_gives_the_pvalue(test, null, predictions):
    """An integer and the generator's own draw of it repeat; another seed gives other resamples."""
    first, again = (run(predictions, test, null, rng=np.random.default_rng(1)) for _ in range(2))
    assert same(first, again)
    if NULLS[null].resamples:
        assert same(run(predictions, test, null, rng=first.seed), first)
        assert not same(run(predictions, test, null, rng=first.seed + 1), first)


@pytest.mark.parametrize(("test", "null"), CASES)
def test_global_random_state_is_left_alone(test, null, predictions):
    """NumPy's global generator is neither used nor moved."""
    before = np.random.get_state()[1].copy()  # noqa: NPY002, it is what must not change
    run(predictions, test, null, rng=5)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002, see above


@pytest.mark.parametrize(("test", "null"), CASES)
def test_input_is_left_alone(test, null, predictions):
    """Arrays of the caller are neither changed nor locked."""
    probs, labels = predictions.probs.copy(), predictions.labels.copy()
    calibration_test(probs, labels, test=test, null=null, lens="confidence", n_resamples=9, rng=0)
    np.testing.assert_array_equal(probs, predictions.probs)
    np.testing.assert_array_equal(labels, predictions.labels)
    assert probs.flags.writeable
    assert labels.flags.writeable
