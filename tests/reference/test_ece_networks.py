"""ECE of neural networks as published, on their stored predictions."""

import numpy as np
import pytest
from scipy.special import softmax

import caltest as ct
from caltest.measures import classwise_ece, ece, mce

# Widmann et al. (2019), CIFAR-10 (devmotion/CalibrationPaper): total variation with 10 bins for
# each class, and with median-variance bins of at least 100.
CIFAR10 = {
    "densenet121": (0.06607267260685921, 0.029532869835646354),
    "googlenet": (0.0701184185770028, 0.02272709769525614),
    "resnet_orig": (0.09817285190958805, 0.04414388945292799),
    "vgg19_bn": (0.06025929364237089, 0.03345951015859006),
}
# Kull et al. (2019), uncalibrated networks: confidence-ECE and MCE with 15 bins (the same to six
# digits in markus93/NN_calibration), and their classwise ECE, a sum over classes with 14 bins.
KULL = {
    "c10_resnet110": (0.047503, 0.295799, 0.098456),
    "c10_densenet40": (0.055003, 0.333955, 0.114303),
    "c10_convnet": (0.047603, 0.591731, 0.103751),
    "c100_convnet": (0.176137, 0.363908, 0.424139),
}


@pytest.mark.parametrize("name", CIFAR10)
def test_ece_of_cifar10_networks_is_as_published(name, data_dir):
    """Over the simplex of ten classes; rows as stored, in float32, with sums off by up to 4e-7."""
    stored = np.load(data_dir / "logits" / "widmann_cifar10_14nets_probs.npz")
    data = ct.Predictions(stored[name], stored["y"])
    rows = stored[name].astype(float)
    as_stored = ct.Predictions.trusted(rows, data.labels, data.classes, like=data)
    dynamic = {"binning": "median-variance", "min_size": 100}
    for predictions, tolerance in ((as_stored, 1e-9), (data, 6e-8)):
        values = [ece(predictions, bins=10), ece(predictions, **dynamic)]
        np.testing.assert_allclose(values, CIFAR10[name], rtol=0, atol=tolerance)


@pytest.fixture(params=KULL)
def network(request, data_dir):
    """Predictions of a network, and its published errors."""
    stored = np.load(data_dir / "logits" / f"kull_{request.param}.npz")
    probs = softmax(stored["logits_test"].astype(float), axis=1)
    return ct.Predictions(probs, stored["y_test"]), KULL[request.param]


def test_confidence_errors_of_kull_networks_are_as_published(network):
    """To six digits, up to the last: logits are stored as float32."""
    data, (expected, largest, _) = network
    assert ece(data, lens="confidence") == pytest.approx(expected, abs=1.1e-6)
    assert mce(data, lens="confidence") == pytest.approx(largest, abs=2e-6)


def test_classwise_ece_of_kull_networks_is_as_published(network):
    """They print m times the mean over classes, with 14 bins."""
    data, (_, _, expected) = network
    assert data.m * classwise_ece(data, bins=14) == pytest.approx(expected, abs=1.1e-6)


def test_classwise_ece_of_kull_networks_is_that_of_their_code(network):
    """Bins by numpy.digitize(p, numpy.linspace(0, 1, 15)): left-closed, and one for p = 1."""
    data, (_, _, expected) = network
    total = 0.0
    for k, p in enumerate(data.probs.T):
        cells = np.digitize(p, np.linspace(0, 1, 15))
        gaps = np.bincount(cells, (data.labels == k) - p, 16)
        total += np.abs(gaps).sum() / data.n
    assert total == pytest.approx(expected, abs=1.1e-6)
    assert data.m * classwise_ece(data, bins=14) == pytest.approx(total, abs=1e-5)
