"""The CME test: degenerate covariance matrices, its chi^2 limit, its notes and errors."""

import numpy as np
import pytest
from scipy.stats import chi2

import caltest as ct
from caltest.errors import NotApplicable
from caltest.kernels import Exponential
from caltest.measures import CME, cme, ucme

KERNEL = Exponential(0.5)


def test_cme_of_equal_deviations_is_cut_off():
    """No variance and a mean that is not 0: T^2 would be infinite."""
    value = cme(np.full(20, 0.3), np.ones(20, int), kernel=KERNEL)
    assert value == pytest.approx(19e10, rel=1e-6)


def test_cme_of_perfect_predictions_is_zero():
    assert cme(np.eye(2)[[0, 1] * 10], [0, 1] * 10, kernel=KERNEL) == 0.0


def test_exact_cme_counts_equal_deviations_as_ties():
    """One prediction of 0.5 throughout and three observations: p = P(all labels equal) = 1 / 4."""
    options = {"kernel": KERNEL, "n_resamples": 4000, "rng": 0}
    result = ct.test_calibration([0.5, 0.5, 0.5], [1, 1, 1], test="cme", **options)
    assert result.pvalue == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 4000))


@pytest.mark.parametrize("size", [2, 5])
def test_cme_of_repeated_locations_is_that_of_one(size):
    """Copies of a location add no dimension, so a pseudo-inverse ignores them."""
    predictions = ct.datasets.generative_model("M2", n=100, m=3, rng=0)
    points, classes = [[0.2, 0.3, 0.5]], [1]
    one = cme(predictions, locations=(points, classes))
    assert cme(predictions, locations=(points * size, classes * size)) == pytest.approx(one)


def test_limit_is_chi_squared_with_a_degree_of_freedom_for_each_location():
    """The p-value is the upper tail at T^2, the estimate the squared UCME."""
    predictions = ct.datasets.generative_model("M1", n=400, m=4, rng=0)
    limit = CME(locations=5).limit(predictions)
    assert limit.statistic == pytest.approx(cme(predictions, locations=5), rel=1e-12)
    assert limit.pvalue == pytest.approx(chi2.sf(limit.statistic, 5), rel=1e-12)
    assert limit.estimate == pytest.approx(ucme(predictions, locations=5), rel=1e-12)
    assert limit.null_text == "chi^2 limit with 5 degrees of freedom"


def test_limit_counts_the_dimensions_that_the_locations_span():
    """Two classes: locations (t, 0) and (t, 1) have opposite deviations."""
    predictions = ct.datasets.generative_model("M1", n=4000, m=2, rng=0)
    limit = CME(locations=([0.5, 0.5], [0, 1])).limit(predictions)
    assert limit.null_text == "chi^2 limit with 1 degree of freedom"
    assert limit.notes == ("the deviations at 2 test locations span 1 dimensions",)


@pytest.mark.parametrize(("n", "noted"), [(2999, True), (3000, False)])
def test_limit_is_noted_to_be_crude_where_n_is_not_large(n, noted):
    """Fewer than 1000 observations for each of three test locations."""
    predictions = ct.datasets.generative_model("M1", n=n, m=2, rng=0)
    result = ct.test_calibration(None, predictions, test="cme", null="asymptotic")
    assert (
        any("not much larger than the number of test loc" in note for note in result.notes) == noted
    )


def test_limit_needs_deviations_that_vary():
    with pytest.raises(NotApplicable, match=r"needs deviations that vary.*use null='exact'"):
        CME(kernel=KERNEL).limit(ct.Predictions(np.full(20, 0.3), np.ones(20, int)))


def test_cme_needs_more_observations_than_locations():
    """With n <= J the statistic would be the same for all labels."""
    with pytest.raises(NotApplicable, match="there are 3 for 3; take fewer locations"):
        cme([0.2, 0.5, 0.9], [0, 1, 1], locations=3)
    with pytest.raises(NotApplicable, match="there are 1 for 1"):
        cme([0.2], [0], kernel=KERNEL)


def test_cme_takes_no_weights():
    """Its covariance matrix has no agreed meaning with weights."""
    weighted = ct.Predictions([0.2, 0.5, 0.9], [0, 1, 1], sample_weight=[1, 2, 1])
    with pytest.raises(NotApplicable, match="takes no sample weights"):
        cme(weighted)


def test_cme_result_shows_statistic_and_estimate():
    """T^2 is judged, and the squared UCME is the calibration error it stands for."""
    predictions = ct.datasets.generative_model("M2", n=100, m=3, rng=0)
    for null in ("exact", "consistency", "asymptotic"):
        result = ct.test_calibration(
            None, predictions, test="cme", null=null, n_resamples=99, rng=0
        )
        assert (result.statistic_name, result.estimate_name) == ("T^2", "UCME^2")
        assert result.statistic == pytest.approx(cme(predictions), rel=1e-12)
        assert result.estimate == pytest.approx(ucme(predictions), rel=1e-12)


def test_exact_cme_does_not_depend_on_the_threads():
    """Redrawn statistics are the same for one thread and two."""
    predictions = ct.datasets.generative_model("M1", n=300, m=3, rng=0)
    one, two = (
        ct.test_calibration(None, predictions, test="cme", rng=0, n_jobs=jobs) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.null_distribution, two.null_distribution)
