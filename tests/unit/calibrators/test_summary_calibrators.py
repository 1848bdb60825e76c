"""What the summary of a calibrator says."""

import re

import numpy as np
import pytest

from caltest import Predictions, SuspectInputWarning, datasets
from caltest.calibrators import (
    BetaCalibrator,
    DirichletCalibrator,
    HistogramBinning,
    Identity,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from caltest.measures import log_loss
from caltest.render import number

pytestmark = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")

DATA = datasets.generative_model("M2", n=300, m=2, alpha=1.0, rng=1)


@pytest.mark.parametrize("kind", [Identity, PlattScaling])
def test_summary_of_one_observation_has_all_lines(kind):
    """Log loss, ECE, and the p-value of its few label vectors."""
    text = str(kind().fit([[0.3, 0.7]], [1]).summary([[0.3, 0.7]], [1]))
    assert "log loss:" in text
    assert "ECE (confidence):" in text
    assert "test:              combined, lens: strong, exact" in text


def test_summary_of_the_calibration_set_says_that_it_flatters():
    """A p-value on the data of the fit is not one of a test; the print says so."""
    for kind in (TemperatureScaling, Identity):  # which no label has shaped
        calibrator = kind().fit([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]], [1, 0, 1])
        text = " ".join(str(calibrator.summary(n_resamples=19, rng=0)).split())
        learns = kind is TemperatureScaling
        assert ("too small on the rows of the fit, which give no p-value" in text) == learns
        assert ("before, " in text.partition("p-value:")[2].partition("note:")[0]) != learns


@pytest.mark.parametrize("held_out", [False, True])
def test_summary_knows_the_weights_and_clusters_of_predictions(held_out):
    """Held out or of the fit."""
    clusters, weights = np.arange(300) // 5, np.arange(300) % 3
    data = Predictions(DATA.probs, DATA.labels, sample_weight=weights, clusters=clusters)
    text = str(Identity().fit(data).summary(*[data] * held_out, n_resamples=19, rng=0))
    assert f"log loss:          {number(log_loss(data))} before" in text
    assert "lens: strong, cluster, B = 19" in text


def test_summary_suspects_what_is_given_and_not_what_the_map_makes_of_it():
    """A map to 0 and 1 has no classes predicted instead of probabilities."""
    probs, y = np.tile([[0.1, 0.9], [0.6, 0.4]], (30, 1)), [1, 0] * 30
    calibrator = TemperatureScaling().fit(probs, y)
    with pytest.warns(SuspectInputWarning, match="is right in all 60 rows") as told:
        calibrator.summary(n_resamples=19, rng=0)
    assert len(told) == 1


def row_of(name, calibrator):
    """Return the cells of a parameter by the column under which they print."""
    sheet = calibrator.summary()._sheet()
    cells = next(row for row in sheet.rows if row[0] == name)
    return dict(zip(sheet.header, cells, strict=True))


@pytest.mark.parametrize(
    ("calibrator", "name", "neutral"),
    [
        (TemperatureScaling(), "temperature", "1"),
        (VectorScaling(), "w[0]", "1"),
        (VectorScaling(), "b[0]", "0"),
        (PlattScaling(), "slope", "1"),
        (PlattScaling(), "intercept", "0"),
        (BetaCalibrator(), "a", "1"),
        (BetaCalibrator(), "c", "0"),
        (OneVsRest(PlattScaling()), "slope", "1"),
        (MatrixScaling(lam=0, mu=0), "W[0, 0]", "1"),
        (MatrixScaling(lam=0, mu=0), "W[0, 1]", "0"),
        (DirichletCalibrator(lam=0, mu=0), "b[1]", "0"),
    ],
)
def test_summary_tests_that_the_map_changes_nothing(calibrator, name, neutral):
    """Z is the distance from the neutral value, which prints; a temperature is never 0."""
    calibrator.fit(DATA.probs, DATA.labels)
    row = row_of(name, calibrator)
    assert row["H0"] == neutral
    z = (float(row["coef"]) - float(neutral)) / float(row["std err"])
    assert float(row["z"]) == pytest.approx(z, rel=0.01, abs=0.01)
    covered = float(row["[0.025"]) <= float(neutral) <= float(row["0.975]"])
    assert covered == (abs(z) < 1.96)


@pytest.mark.parametrize(
    ("calibrator", "name"),
    [
        (PlattScaling(scale="probability"), "slope"),
        (MatrixScaling(lam=0, mu=0, reference_class=True), "W[0, 0]"),
    ],
)
def test_parameter_without_a_neutral_value_is_not_tested(calibrator, name):
    row = row_of(name, calibrator.fit(DATA.probs, DATA.labels))
    assert "z" not in row
    assert float(row["[0.025"]) < float(row["coef"]) < float(row["0.975]"])


def test_error_of_a_map_to_the_shares_of_its_rows_is_zero():
    """Not what the rounding of its sums leaves."""
    rng = np.random.default_rng(1)
    p = rng.random(300)
    text = str(HistogramBinning().fit(p, rng.random(300) < p**2).summary(n_resamples=19, rng=1))
    assert re.search(r"ECE \(confidence\): .* before, 0 after\n", text)
