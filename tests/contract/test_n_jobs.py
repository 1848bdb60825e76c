"""A seed gives one p-value for any number of jobs, for every test and null there is."""

import joblib
import numpy as np
import pytest

import caltest as ct
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY as EVERY_TEST
from caltest.nulls import REGISTRY as NULLS

REGISTRY = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

# The quick tier tries the default null of each test.
CASES = [
    pytest.param(key, null, marks=() if null == test.default_null else pytest.mark.full)
    for key, test in REGISTRY.items()
    for null in test.nulls
]
every_test_and_null = pytest.mark.parametrize(("test", "null"), CASES)


@pytest.fixture(scope="module")
def predictions():
    """Return data that are neither clearly calibrated nor clearly not."""
    return generative_model("M2", n=70, m=3, pi=0.1, alpha=1.0, rng=3)


def run(predictions, test, null, **options):
    """Test under a lens with two classes, which every test takes, unless told otherwise."""
    options = {"lens": "confidence", "n_resamples": 150} | options
    return calibration_test(None, predictions, test=test, null=null, **options)


def same(first, second):
    """Tell whether two results agree to the last bit, resamples too."""
    distributions = [result.null_distribution for result in (first, second)]
    return first == second and (distributions[0] is None or np.array_equal(*distributions))


@pytest.mark.cases(2, full=10)
@every_test_and_null
def test_pvalue_does_not_depend_on_n_jobs(test, null, predictions):
    """None, 1, 2 and -1 jobs, and joblib's configuration, give the same result."""
    result = run(predictions, test, null, rng=5)
    for n_jobs in (1, 2, -1):
        assert same(run(predictions, test, null, rng=5, n_jobs=n_jobs), result)
    with joblib.parallel_config(n_jobs=2):
        assert same(run(predictions, test, null, rng=5), result)


@pytest.mark.full
@pytest.mark.cases(1, full=10)
@every_test_and_null
def test_pvalue_of_all_classes_does_not_depend_on_n_jobs(test, null, predictions):
    """Nor does what a test of all classes at once spreads over threads, but for rounding."""
    try:
        one, two = (
            run(predictions, test, null, lens="strong", n_resamples=49, rng=7, n_jobs=jobs)
            for jobs in (1, 2)
        )
    except NotApplicable:
        return
    assert one.pvalue == two.pvalue
    assert one.statistic == pytest.approx(two.statistic, rel=1e-12)
    if NULLS[null].resamples:
        assert (one.seed, one.n_resamples) == (7, 49)
        np.testing.assert_allclose(one.null_distribution, two.null_distribution, rtol=1e-12)


@pytest.mark.parametrize("n", [250, 1300])
@pytest.mark.parametrize("null", ["exact", "bootstrap"])
def test_pvalue_of_several_classes_does_not_depend_on_n_jobs(n, null):
    """Nor where the sums over pairs themselves are spread over threads."""
    predictions = generative_model("M1", n=n, m=10, rng=0)
    options = {"null": null, "n_resamples": 99, "rng": 5}
    one, two = (calibration_test(None, predictions, n_jobs=k, **options) for k in (1, 2))
    assert same(one, two)


@pytest.mark.cases(2, full=10)
@every_test_and_null
def test_seed_gives_the_pvalue(test, null, predictions):
    """An integer and the generator's own draw of it repeat; another seed gives other resamples.

    NumPy's global generator is neither used nor moved.
    """
    before = np.random.get_state()[1].copy()  # noqa: NPY002, it is what must not change
    first, again = (run(predictions, test, null, rng=np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002, see above
    assert same(first, again)
    other = run(predictions, test, null, rng=(first.seed or 0) + 1)
    assert other.statistic == first.statistic
    if NULLS[null].resamples:
        assert same(run(predictions, test, null, rng=first.seed), first)
        assert (other.null_distribution != first.null_distribution).any()
    else:
        assert other.pvalue == first.pvalue


@pytest.mark.parametrize("function", [ct.verdict, ct.report, calibration_test])
def test_a_number_of_threads_that_is_none_is_told_before_rows_are_read(function):
    """Not after an hour of reading them."""
    with pytest.raises(ct.InvalidInput, match="n_jobs must be None or an integer"):
        function("no file of this name.parquet", label="y", n_jobs=0)
