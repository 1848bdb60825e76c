"""Log losses that CalArena (probkit/CalArena, results/*.csv) gives for two networks."""

import csv

import numpy as np
import pytest
from scipy.special import softmax

from caltest.calibrators import REGISTRY, OneVsRest

KEYS = {"SVS": "structured-vector", "SMS": "structured-matrix"}


def data_of(data_dir, network):
    """Return probabilities and labels, of the validation and the test part."""
    file = np.load(data_dir / "logits" / f"kull_c10_{network}.npz")
    for part in ("val", "test"):
        yield softmax(file[f"logits_{part}"].astype(float), axis=1), file[f"y_{part}"]


def log_loss(calibrator, data_dir, network):
    """Return the log loss on the test part, fitted to the validation part."""
    fit, (probs, labels) = data_of(data_dir, network)
    p = calibrator.fit(*fit).predict_proba(probs)
    return -np.log(p[np.arange(len(labels)), labels]).mean()


@pytest.mark.full
@pytest.mark.parametrize("network", ["densenet40", "resnet110"])
def test_log_loss_is_that_of_calarena(network, data_dir, reference_dir):
    """To 2e-5, since theirs are of single precision; bounds help the centered map."""
    with (reference_dir / "calarena.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["network"] == network]
    theirs = {
        row["map"]: float(row["log_loss"])
        for row in rows
        if row["benchmark"] == "cv-multiclass" and row["log_loss"]
    }
    for name, key in KEYS.items():
        assert log_loss(REGISTRY[key](), data_dir, network) == pytest.approx(theirs[name], abs=2e-5)
    centered = OneVsRest(REGISTRY["centered-isotonic"](bound="auto"))
    assert log_loss(centered, data_dir, network) < theirs["CIR"]
    assert log_loss(REGISTRY["auto"](), data_dir, network) < theirs["SMS"]  # their best


@pytest.mark.full
def test_log_loss_of_the_kernel_of_calarena(data_dir):
    """Their bandwidth is 5000^(-2 / 13), and they raise probabilities to 1e-10."""
    kernel = REGISTRY["kernel"](bandwidth=5000 ** (-2 / 13), prior=0, clip=1e-10)
    assert log_loss(kernel, data_dir, "densenet40") == pytest.approx(0.391223, abs=2e-6)
