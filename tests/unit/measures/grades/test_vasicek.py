"""The test of a rating grade with correlated defaults."""

import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures.grades.grade import Binomial, Vasicek


def grade(pd, n, defaults):
    return Predictions(np.full(n, pd), (np.arange(n) < defaults).astype(int))


@pytest.mark.parametrize(
    ("asset_class", "pd", "expected"),
    [
        ("corporate", 0.01, 0.12 + 0.12 * np.exp(-0.5)),
        ("corporate", 0.0, 0.24),
        ("corporate", 1.0, 0.12),
        ("retail", 0.02, 0.03 + 0.13 * np.exp(-0.7)),
        ("mortgage", 0.3, 0.15),
        ("revolving", 0.3, 0.04),
    ],
)
def test_correlation_is_basels(asset_class, pd, expected):
    """Paragraphs 272 and 328 to 330, where exp(-50) is nothing."""
    assert Vasicek(correlation=asset_class).correlation_at(pd) == pytest.approx(expected, rel=1e-12)


def test_default_null_is_the_closed_form():
    """Redrawn labels are independent, so there is no exact null."""
    result = calibration_test(grade(0.02, 200, 8), test="vasicek")
    assert (result.null, result.n_resamples) == ("closed-form", None)
    assert result.parameters["asset class"] == "corporate"
    with pytest.raises(NotApplicable, match=r"'exact' has no meaning for .*'closed-form'"):
        calibration_test(grade(0.02, 200, 8), test="vasicek", null="exact")


def test_correlation_makes_many_defaults_likelier():
    """The p-value grows with the correlation, and without one is binomial."""
    data = grade(0.02, 500, 20)
    found = [Vasicek(correlation=c).closed_form(data).pvalue for c in (0, 0.01, 0.05, 0.2)]
    assert found == sorted(found)
    assert found[0] == Binomial().closed_form(data).pvalue


def test_closed_form_tends_to_the_limit():
    """At n = 100,000 they agree to three digits."""
    data = grade(0.02, 100_000, 4000)
    closed, limit = (
        calibration_test(data, test="vasicek", null=null, correlation=0.12).pvalue
        for null in ("closed-form", "asymptotic")
    )
    assert closed == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize("correlation", [-0.1, 1.0, "bank", True, None])
def test_correlation_must_be_a_number_or_an_asset_class(correlation):
    with pytest.raises(
        InvalidInput, match=r"correlation must lie in \[0, 1\) or be an asset class"
    ):
        Vasicek(correlation=correlation)


@pytest.mark.parametrize(("pd", "correlation"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0)])
def test_limit_needs_a_factor(pd, correlation):
    """Without one, or with a certain grade, the closed form answers."""
    with pytest.raises(NotApplicable, match=r"positive correlation, .* use null='closed-form'"):
        Vasicek(correlation=correlation).limit(grade(pd, 10, 0))
