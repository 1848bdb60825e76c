"""Temperature and vector scaling of neural networks as published, and of other packages."""

import csv

import numpy as np
import pytest
from scipy.special import softmax

from caltest.calibrators import TemperatureScaling, VectorScaling
from caltest.measures import brier_score, classwise_ece, ece, log_loss, mce

# measures.json: minima of the log loss on the validation part.
TEMPERATURES = {
    "c10_resnet110": 2.39501,
    "c10_densenet40": 2.88257,
    "c10_convnet": 3.14147,
    "c100_convnet": 2.75821,
}


@pytest.fixture(params=TEMPERATURES)
def network(request, data_dir):
    """Name, and logits and labels of the validation and the test part."""
    stored = np.load(data_dir / "logits" / f"kull_{request.param}.npz")
    logits = [stored[f"logits_{part}"].astype(float) for part in ("val", "test")]
    return request.param, logits, [stored[f"y_{part}"] for part in ("val", "test")]


@pytest.fixture
def published(reference_dir):
    """Kull et al. (2019), tables 3 and 4 to six digits, by network."""
    with (reference_dir / "kull2019_dnn_measures.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["Method"] == "TempS"]
    with (reference_dir / "kull2019_dnn_logloss_all_methods.csv").open() as file:
        vector = {row["Name"]: float(row["VecS"]) for row in csv.DictReader(file)}
    return {row["Name"]: row for row in rows}, vector


@pytest.fixture(scope="module")
def four_classes():
    """The set multi200x4 of peers.json, by its generator."""
    r = np.random.RandomState(7)
    z = r.normal(0, 1.5, (200, 4))
    z[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    smooth = softmax(0.7 * z, axis=1)
    y = (smooth.cumsum(1) < r.uniform(size=(200, 1))).sum(1).clip(0, 3)
    return softmax(z, axis=1), y


def test_temperatures_of_networks_are_the_minima_of_the_log_loss(network):
    """To six digits, but for 2.88257: there the slope is zero at 2.8825607 (in long double)."""
    name, (logits, _), (labels, _) = network
    calibrator = TemperatureScaling(from_logits=True).fit(logits, labels)
    assert calibrator.temperature_ == pytest.approx(TEMPERATURES[name], abs=1e-5)
    centred = (logits - logits.max(axis=1, keepdims=True)).astype(np.longdouble)
    probs = np.exp(centred / calibrator.temperature_)
    probs /= probs.sum(axis=1, keepdims=True)
    slopes = (probs * centred).sum(axis=1) - centred[np.arange(len(labels)), labels]
    assert abs(slopes.mean()) < 1e-14


def test_errors_of_networks_after_temperature_scaling_are_as_published(network, published):
    """To six digits, up to the last; classwise ECE is a sum over classes, Brier a mean."""
    name, (logits, held_out), (labels, y) = network
    probs = TemperatureScaling(from_logits=True).fit(logits, labels).predict_proba(held_out)
    row = published[0][name]
    m = probs.shape[1]
    assert log_loss(probs, y) == pytest.approx(float(row["Loss"]), abs=1.1e-6)
    assert 100 * np.mean(probs.argmax(axis=1) != y) == pytest.approx(float(row["Error"]), abs=1e-9)
    assert brier_score(probs, y) / m == pytest.approx(float(row["Brier"]), abs=1.1e-6)
    assert ece(probs, y, lens="confidence") == pytest.approx(float(row["ECE"]), abs=1.1e-6)
    assert mce(probs, y, lens="confidence") == pytest.approx(float(row["MCE"]), abs=2e-5)
    assert m * classwise_ece(probs, y, bins=14) == pytest.approx(float(row["ECE_CW"]), abs=2e-5)


def test_log_loss_of_networks_after_vector_scaling_is_near_the_published_one(network, published):
    """Theirs (Keras, stopped early) is not at the minimum of the validation loss: 0.4 per cent."""
    name, (logits, held_out), (labels, y) = network
    probs = VectorScaling(from_logits=True).fit(logits, labels).predict_proba(held_out)
    assert log_loss(probs, y) == pytest.approx(published[1][name], rel=4e-3)


def test_temperature_of_two_classes_is_that_of_peers(others):
    """Log odds over T: to the digits to which each of them converged."""
    data = others["beta40"]
    calibrator = TemperatureScaling().fit(data["p"], data["y"])
    probs = calibrator.predict_proba(data["p"])[:5, 1]
    for peer, digits in {"probcal": 1e-9, "sklearn": 3e-9, "netcal": 3e-6}.items():
        np.testing.assert_allclose(probs, data["values"][f"temp_pred5|{peer}"], rtol=0, atol=digits)


def test_temperature_of_four_classes_is_that_of_peers(others, four_classes):
    """To the digits to which each of them converged; dirichletcal's weights are differences."""
    values = others["multi200x4"]["values"]
    calibrator = TemperatureScaling().fit(*four_classes)
    probs = calibrator.predict_proba(four_classes[0])[:2]
    digits = {
        "peer_sklearn_temp_mc[:2]": 3e-9,
        "peer_probmetrics_temp_mc[:2]": 5e-9,
        "temp pred2|dirichletcal": 1e-9,
        "peer_netcal_temp_mc[:2]": 1e-7,
    }
    for key, atol in digits.items():
        np.testing.assert_allclose(probs, values[key], rtol=0, atol=atol)
    weights = np.array(values["temp weights|dirichletcal"])
    assert 1 / calibrator.temperature_ == pytest.approx(weights[0, 0], abs=1e-9)


def test_vector_scaling_of_four_classes_is_that_of_peers(others, four_classes):
    """The former subtracts the last row; netcal's diagonal logistic map is the same to 2e-5."""
    values = others["multi200x4"]["values"]
    calibrator = VectorScaling().fit(*four_classes)
    W, b = calibrator.linear_
    differences = np.column_stack([W - W[-1], b - b[-1]])
    probs = calibrator.predict_proba(four_classes[0])[:2]
    for key in ("vector", "diag"):
        weights = values[f"{key} weights|dirichletcal"]
        np.testing.assert_allclose(differences, weights, rtol=0, atol=1e-7)
        np.testing.assert_allclose(probs, values[f"{key} pred2|dirichletcal"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(probs, values["peer_netcal_logistic_mc[:2]"], rtol=0, atol=2e-5)
