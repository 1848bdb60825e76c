"""The CME test: degenerate covariance matrices, its chi^2 limit, its notes and errors."""

import numpy as np
import pytest
from scipy.stats import chi2

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.kernels import Exponential, Sum
from caltest.measures import CME, UCME, cme, ucme
from caltest.measures.kernel import cme as locations
from caltest.measures.kernel.cme import find_locations
from caltest.numerics.labels import resample_keys

KERNEL = Exponential(0.5)


def test_cme_of_equal_deviations_is_cut_off():
    """No variance and a mean that is not 0: T^2 would be infinite."""
    value = cme(np.full(20, 0.3), np.ones(20, int), kernel=KERNEL)
    assert value == pytest.approx(19e10, rel=1e-6)


def test_exact_cme_counts_equal_deviations_as_ties():
    """One prediction of 0.5 throughout and three observations: p = P(all labels equal) = 1 / 4."""
    options = {"kernel": KERNEL, "n_resamples": 4000, "rng": 0}
    result = ct.test_calibration([0.5, 0.5, 0.5], [1, 1, 1], test="cme", **options)
    assert result.pvalue == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 4000))


def test_limit_is_chi_squared_with_a_degree_of_freedom_for_each_location():
    """The p-value is the upper tail at T^2, the estimate the squared UCME."""
    predictions = ct.datasets.generative_model("M1", n=400, m=4, rng=0)
    limit = CME(locations=5).limit(predictions)
    assert limit.statistic == pytest.approx(cme(predictions, locations=5), rel=1e-12)
    assert limit.pvalue == pytest.approx(chi2.sf(limit.statistic, 5), rel=1e-12)
    assert limit.estimate == pytest.approx(ucme(predictions, locations=5), rel=1e-12)
    assert limit.null_text == "chi^2 limit with 5 degrees of freedom"


def test_limit_counts_the_dimensions_that_the_locations_span():
    """Two classes: (t, 0) and (t, 1) have opposite deviations; none that vary have no limit."""
    predictions = ct.datasets.generative_model("M1", n=4000, m=2, rng=0)
    limit = CME(locations=([0.5, 0.5], [0, 1])).limit(predictions)
    assert limit.null_text == "chi^2 limit with 1 degree of freedom"
    assert limit.notes == ("the deviations at 2 test locations span 1 dimension",)
    with pytest.raises(NotApplicable, match=r"needs deviations that vary.*use null='exact'"):
        CME(kernel=KERNEL).limit(ct.Predictions(np.full(20, 0.3), np.ones(20, int)))


@pytest.mark.parametrize(("n", "noted"), [(2999, True), (3000, False)])
def test_limit_is_noted_to_be_crude_where_n_is_not_large(n, noted):
    """Fewer than 1000 observations for each of three test locations."""
    predictions = ct.datasets.generative_model("M1", n=n, m=2, rng=0)
    result = ct.test_calibration(None, predictions, test="cme", null="asymptotic")
    assert (
        any("not much larger than the number of test loc" in note for note in result.notes) == noted
    )


def test_cme_needs_more_observations_than_locations():
    """With n <= J the statistic would be the same for all labels."""
    with pytest.raises(NotApplicable, match="there are 3 for 3; take fewer locations"):
        cme([0.2, 0.5, 0.9], [0, 1, 1], locations=3)
    with pytest.raises(NotApplicable, match="there are 1 for 1"):
        cme([0.2], [0], kernel=KERNEL)


# ---- test locations -----------------------------------------------------------------------------


@pytest.fixture
def predictions():
    """Uncalibrated predictions of three classes."""
    return ct.datasets.generative_model("M2", n=120, m=3, alpha=1.0, rng=0)


@pytest.mark.parametrize(
    ("n", "m", "size"), [(5, 3, 1), (45, 3, 4), (500, 2, 3), (500, 3, 6), (500, 10, 10)]
)
def test_default_number_of_locations_grows_with_n_and_m(n, m, size):
    """It is the least of 10, 3 (m - 1) and n / 10, at least 1; never more than there are rows."""
    data = ct.datasets.generative_model("M1", n=n, m=m, rng=0)
    assert len(find_locations(None, data.probs, data.classes)[1]) == size
    few = data.subset(slice(3))
    assert len(find_locations(10, few.probs, few.classes)[1]) == 3


def test_given_locations_are_seen_through_the_lens(predictions):
    """Under a lens with two classes a location has two."""
    assert ucme(predictions, lens="confidence", locations=([0.4, 0.8], [0, 1])) > 0
    with pytest.raises(InvalidInput, match="probs of locations must have 3 columns"):
        ucme(predictions, locations=([0.4, 0.8], [0, 1]))


@pytest.mark.parametrize("measure", [ucme, cme])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("ten", "locations must be a number or a pair"),
        (0, "locations must be an integer of at least 1"),
        (([0.5], [1], [1]), "locations must be a number or a pair"),
        (([[0.5, 0.2, 0.1]], [1]), "probs of locations must sum to 1"),
        (([[0.5, 0.3, 0.2]], [3]), "labels of locations"),
        (([[0.5, 0.3, 0.2]], [1, 2]), "labels of locations"),
    ],
)
def test_illegal_locations_are_refused(predictions, measure, value, message):
    """The message names the argument and its rule."""
    with pytest.raises(InvalidInput, match=message):
        measure(predictions, locations=value)


@pytest.mark.parametrize("measure", [UCME, CME])
def test_values_in_parts_equal_values_at_once(predictions, measure, monkeypatch):
    """Where kernel values are too many to keep they are computed again, some rows at a time."""
    kernel = Sum(Exponential(0.3), Exponential(0.8))
    whole = measure(kernel=kernel).bind(predictions)
    labels = whole.redraw(resample_keys(0, 20))
    monkeypatch.setattr(locations, "BUDGET", 500)
    parts = measure(kernel=kernel).bind(predictions)
    assert len(list(measure(kernel=kernel).located(predictions).parts())) > 2
    np.testing.assert_allclose(parts.values(labels), whole.values(labels), rtol=1e-9)
