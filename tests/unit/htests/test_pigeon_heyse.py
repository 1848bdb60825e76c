"""The Pigeon-Heyse test: degrees of freedom of both samples."""

import pytest
from scipy.stats import chi2

from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model


@pytest.mark.parametrize("internal", [False, True])
def test_degrees_of_freedom_are_those_of_the_paper(internal):
    """They are g for external data, g - 1 for the development sample."""
    data = generative_model("M1", n=500, m=2, rng=0)
    options = {"test": "pigeon-heyse", "null": "asymptotic", "internal": internal}
    result = calibration_test(None, data, **options)
    assert result.parameters["df"] == 10 - internal
    assert result.pvalue == pytest.approx(chi2.sf(result.statistic, 10 - internal), rel=1e-9)
