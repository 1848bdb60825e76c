"""The Hosmer-Lemeshow test: degrees of freedom of both samples, notes, and the exact null."""

import numpy as np
import pytest
from scipy.stats import chi2

from caltest import NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow
from caltest.units import RowUnits


def run(data, **options):
    return calibration_test(None, data, test="hosmer-lemeshow", **options)


@pytest.mark.parametrize(("m", "groups"), [(2, 10), (2, 6), (4, 10)])
@pytest.mark.parametrize("internal", [False, True])
def test_degrees_of_freedom_are_printed_and_used(m, groups, internal):
    """They are g (m - 1) for external data, (g - 2)(m - 1) for the development sample."""
    data = generative_model("M1", n=800, m=m, rng=0)
    result = run(data, null="asymptotic", groups=groups, internal=internal)
    df = (groups - 2 * internal) * (m - 1)
    assert result.pvalue == pytest.approx(chi2.sf(result.statistic, df), rel=1e-9)
    assert (result.parameters["groups"], result.parameters["df"]) == (groups, df)
    text = " ".join(str(result).split())
    assert f"groups = {groups}, df = {df}" in text.replace(", reference = 0", "")
    assert f"internal={not internal}" in text


def test_sparse_groups_are_noted():
    """Expected counts below 5 and below 1."""
    data = Predictions(np.linspace(0.001, 0.02, 500), np.arange(500) % 100 == 0)
    notes = run(data, null="asymptotic").notes
    assert any("10 of 20 expected counts are below 5, and 10 below 1" in note for note in notes)


def test_groups_without_degrees_of_freedom_are_refused():
    data = generative_model("M1", n=100, m=2, rng=0)
    with pytest.raises(NotApplicable, match="no degrees of freedom with 2 groups; use more"):
        run(data, null="asymptotic", groups=2, internal=True)


def test_certain_groups_have_no_degree_of_freedom():
    """A group whose predictions are all 0 cannot vary."""
    p = np.append(np.zeros(30), np.linspace(0.2, 0.8, 70))
    bound = HosmerLemeshow().risk_groups(RowUnits(Predictions(p, np.arange(100) >= 60)))
    certain = int((bound.expected[:, 1] == 0).sum())
    assert certain > 0
    assert bound.freedom == bound.count - certain


def test_flipped_signs_are_those_of_the_residuals_of_clusters():
    """Groups and variances stay, and each flip gives the sum of its squared deviations."""
    rng = np.random.default_rng(2)
    p, clusters = np.sort(rng.random(40)), np.arange(40) % 8
    data = Predictions(p, rng.random(40) < p, clusters=clusters)
    result = calibration_test(
        None, data, test="hosmer-lemeshow", groups=4, null="cluster", n_resamples=255, rng=0
    )
    own = []
    for signs in np.where(np.arange(1, 256)[:, None] >> np.arange(8) & 1, -1.0, 1.0):
        flipped = (signs[clusters] * (data.labels - p)).reshape(4, 10).sum(axis=1)
        mean = p.reshape(4, 10).mean(axis=1)
        own.append((flipped**2 / (10 * mean * (1 - mean))).sum())
    np.testing.assert_allclose(np.sort(result.null_distribution), np.sort(own), rtol=1e-10)


def test_development_sample_has_no_test_of_clusters():
    """Residuals of a fitted model are no more symmetric."""
    data = Predictions([0.2, 0.4, 0.5, 0.7], [0, 1, 0, 1], clusters=[0, 0, 1, 1])
    with pytest.raises(NotApplicable, match="development sample has no test for rows that depend"):
        calibration_test(None, data, test="hosmer-lemeshow", internal=True, null="cluster")
