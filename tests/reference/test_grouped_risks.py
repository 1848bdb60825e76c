"""Hosmer-Lemeshow, Pigeon-Heyse, le Cessie-van Houwelingen and loess errors of R."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import e90, emax, ici

CLOSE = {"rel": 1e-11}


def limit(data, test, **options):
    return calibration_test(None, data, test=test, null="asymptotic", **options)


# ---- R: measures.json, R 4.2.2 ------------------------------------------------------------------


def example(reference_dir):
    """Read the example of ResourceSelection::hoslem.test, a glm of one feature and its labels."""
    labels, event = np.loadtxt(
        reference_dir / "hoslem_doc_example.csv", delimiter=",", skiprows=1
    ).T
    return Predictions(event, labels.astype(int))


def test_hosmer_lemeshow_of_r_on_its_example(reference_dir):
    result = limit(example(reference_dir), "hosmer-lemeshow", internal=True)
    assert result.statistic == pytest.approx(4.52271872904907, **CLOSE)
    assert result.parameters["df"] == 8
    assert result.pvalue == pytest.approx(0.807155888854591, **CLOSE)


def test_hosmer_lemeshow_of_r_on_intensive_care_patients(icu):
    """SAPS II of 1,000 patients: hoslem.test, and its p-value for external data."""
    external = limit(icu, "hosmer-lemeshow")
    assert external.statistic == pytest.approx(56.6218647763724, **CLOSE)
    assert external.pvalue == pytest.approx(1.56960477948331e-08, rel=1e-9)
    internal = limit(icu, "hosmer-lemeshow", internal=True)
    assert internal.pvalue == pytest.approx(2.13404793836247e-09, rel=1e-9)


def test_le_cessie_van_houwelingen_of_rms(reference_dir):
    """residuals(lrm(y ~ x), "gof"); the log odds span what the one feature does. Ten digits."""
    data = example(reference_dir)
    result = limit(data, "le-cessie-van-houwelingen", internal=True)
    numbers = [result.parameters[name] for name in ("SSE", "E", "SD")]
    assert numbers == pytest.approx([114.8364771599, 114.9808071738, 0.14649951], rel=2e-9)
    assert result.statistic == pytest.approx(-0.9851911034, rel=1e-9)
    assert result.pvalue == pytest.approx(0.3245302098, rel=1e-9)


def test_loess_errors_of_rms(reference_dir):
    """rms::val.prob: Emax, E90 and Eavg of lowess(p, y, iter = 0)."""
    path = reference_dir / "valprob_doc_example.csv"
    event, labels = np.loadtxt(path, delimiter=",", skiprows=1).T
    data = Predictions(event, labels.astype(int))
    assert emax(data) == pytest.approx(0.0999208009612275, **CLOSE)
    assert e90(data) == pytest.approx(0.0532408501112841, **CLOSE)
    assert ici(data) == pytest.approx(0.0258382180056449, **CLOSE)
