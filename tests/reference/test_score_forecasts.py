"""Scores of real forecasts as R computes them (shared/reference/measures.json, R 4.2.2)."""

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from caltest import Predictions
from caltest.measures import (
    brier_score,
    log_loss,
    score_decomposition,
    spiegelhalter_z,
)
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ

UNC = 0.244210775047259
# reliabilitydiag: score, miscalibration, discrimination; rms::val.prob: Spiegelhalter's z.
NIAMEY = {
    "Logistic": (0.205746171886388, 0.01707605735815, 0.0555406605190209, -0.770661193426536),
    "EMOS": (0.232025179368199, 0.0182829433433546, 0.0304685390224143, -0.371224217388115),
    "ENS": (0.266167674298945, 0.0660722282795861, 0.0441153290278999, 9.15507144015618),
    "EPC": (0.234281755412804, 0.0223497473810512, 0.0322787670155067, -0.776028121151194),
}


@pytest.fixture(scope="module")
def niamey(data_dir):
    """92 days of rain in Niamey with four forecasts."""
    return pl.read_csv(data_dir / "forecasts" / "niamey_precip_2016.csv.gz")


@pytest.mark.parametrize("name", NIAMEY)
def test_corp_decomposition_of_niamey_forecasts(name, niamey):
    """Dimitriadis, Gneiting, Jordan (2021), figure 2; `summary(reliabilitydiag(...))`."""
    score, miscalibration, discrimination, _ = NIAMEY[name]
    parts = score_decomposition(niamey[name].to_numpy(), niamey["obs"].to_numpy())
    values = [parts.score, parts.miscalibration, parts.discrimination, parts.uncertainty]
    np.testing.assert_allclose(values, [score, miscalibration, discrimination, UNC], rtol=1e-11)


@pytest.mark.parametrize("name", NIAMEY)
def test_spiegelhalter_z_of_niamey_forecasts(name, niamey):
    """`val.prob(p, y)["S:z"]`; the ensemble has forecasts of 0 and 1."""
    z = spiegelhalter_z(niamey[name].to_numpy(), niamey["obs"].to_numpy())
    assert z == pytest.approx(NIAMEY[name][-1], rel=1e-11)


def test_spiegelhalter_and_brier_of_icu_patients(icu):
    """`val.prob` of rms."""
    limit = SpiegelhalterZ().limit(icu)
    assert limit.statistic == pytest.approx(2.81257701469017, rel=1e-12)
    assert limit.pvalue == pytest.approx(0.00491462529203829, rel=1e-11)
    assert brier_score(icu) == pytest.approx(0.148806891621937, rel=1e-12)


def test_spiegelhalter_and_brier_of_the_example_of_val_prob(reference_dir):
    """The example in the documentation of `rms::val.prob`, printed to the digits given."""
    table = pl.read_csv(reference_dir / "valprob_doc_example.csv")
    data = Predictions(table["p"].to_numpy(), table["y"].to_numpy())
    limit = SpiegelhalterZ().limit(data)
    assert limit.statistic == pytest.approx(0.1440099386034789, rel=1e-9)
    assert limit.pvalue == pytest.approx(0.8854926215758322, rel=1e-9)
    assert brier_score(data) == pytest.approx(0.2318963463175497, rel=1e-10)


# Log loss and Brier score over m, as published (shared/reference/kull2019_dnn_measures.csv).
SCORES = {
    "c10_resnet110": (0.358274, 0.011019),
    "c10_densenet40": (0.428207, 0.012738),
    "c10_convnet": (0.390977, 0.010899),
    "c100_convnet": (1.641199, 0.004247),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_networks_are_as_published(name, data_dir):
    """Kull et al. clip probabilities at 1e-15 and divide the Brier score by m."""
    stored = np.load(data_dir / "logits" / f"kull_{name}.npz")
    data = Predictions(softmax(stored["logits_test"].astype(float), axis=1), stored["y_test"])
    loss, brier = SCORES[name]
    assert log_loss(data, eps=1e-15) == pytest.approx(loss, abs=2e-6)
    assert brier_score(data) / data.m == pytest.approx(brier, abs=1e-6)
