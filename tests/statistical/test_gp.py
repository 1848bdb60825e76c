"""What GP calibration is for: severe underconfidence; and calibrated inputs, which it leaves."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.tree import DecisionTreeClassifier

import caltest as ct
from caltest.calibrators import GPCalibrator
from caltest.calibrators.inputs import SMALLEST_PROBABILITY

pytestmark = pytest.mark.filterwarnings("ignore:the latent mean falls")

EPS = np.finfo(np.float64).eps


def ece_1(probs, codes):
    """ECE_1 of the paper: confidence, 100 bins."""
    return float(ct.measures.ece(probs, codes, lens="confidence", bins=100))


def temperature_scaled(probs, codes, new):
    def loss(slope):
        logs = log_softmax(slope * np.log(probs), axis=1)
        return -logs[np.arange(len(codes)), codes].mean()

    slope = minimize_scalar(loss, bounds=(0.01, 2000), method="bounded").x
    return softmax(slope * np.log(new), axis=1)


def samme_r(X, y, new, *, rounds=100, K=10):
    """AdaBoost of stumps by SAMME.R, which scikit-learn had when the paper was written."""
    weight, total = np.full(len(y), 1 / len(y)), 0.0
    code = np.where(np.arange(K) == y[:, None], 1, -1 / (K - 1))
    for seed in range(rounds):
        tree = DecisionTreeClassifier(max_depth=1, random_state=seed).fit(X, y, weight)
        logs, others = (np.log(np.maximum(tree.predict_proba(rows), EPS)) for rows in (X, new))
        weight *= np.exp(-(K - 1) / K * np.sum(code * logs, axis=1))
        weight /= weight.sum()
        total = total + others - others.mean(axis=1, keepdims=True)
    return softmax(total / rounds, axis=1)


def pooled(images):
    """Mean of 2 x 2 pixels."""
    return images.reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(images), -1)


@pytest.mark.slow
def test_boosted_stumps_on_mnist_are_calibrated(data_dir):
    """The paper's MNIST AdaBoost: .612 uncalibrated, .157 with a temperature, .041 with a GP.

    Here 30,000 images of 14 x 14 pixels: .601, .145, .033.
    """
    mnist = np.load(data_dir / "uci" / "mnist.npz")
    X, y = pooled(mnist["X_train"][:30_000]), mnist["y_train"][:30_000].astype(int)
    probs = samme_r(X, y, pooled(mnist["X_test"]))
    codes = mnist["y_test"].astype(int)
    order = np.random.default_rng(0).permutation(10_000)
    cal, test = order[:1000], order[1000:]
    calibrated = GPCalibrator().fit(probs[cal], codes[cal]).predict_proba(probs[test])
    scaled = temperature_scaled(probs[cal], codes[cal], probs[test])
    assert ece_1(probs[test], codes[test]) > 0.55
    assert ece_1(scaled, codes[test]) > 0.1
    assert ece_1(calibrated, codes[test]) < 0.06


def test_squeezed_probabilities_are_calibrated():
    """In short: near-uniform probabilities of cubed logits, which no temperature straightens."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (6000, 10))
    truth = softmax(logits, axis=1).cumsum(axis=1)
    codes = (truth < rng.random((6000, 1))).sum(axis=1).clip(0, 9)
    probs = softmax(0.002 * logits**3, axis=1)
    cal, test = slice(0, 1000), slice(1000, None)
    calibrated = GPCalibrator().fit(probs[cal], codes[cal]).predict_proba(probs[test])
    scaled = temperature_scaled(probs[cal], codes[cal], probs[test])
    errors = [ece_1(values, codes[test]) for values in (probs[test], scaled, calibrated)]
    assert errors[0] > 0.5
    assert errors[2] < 0.75 * errors[1]


@pytest.mark.slow
@pytest.mark.parametrize(("m", "alpha", "n"), [(2, 1.0, 200), (3, 1.0, 200), (10, 0.1, 400)])
def test_calibrated_inputs_stay_within_the_band_of_the_identity(m, alpha, n):
    """M1: over 20 data sets, at least 80 % of 25 places have log z in their 95 % band.

    Pointwise bands over places that go together: the share of 95 % is one of data sets, 19 of 20,
    of which the binomial band allows 16. The kernel is fitted, which the band does not know.
    """
    inside = []
    for seed in range(20):
        data = ct.datasets.generative_model("M1", n, m, alpha=alpha, rng=seed)
        z = np.quantile(data.probs, np.linspace(0.02, 0.98, 25))
        _, lower, upper = GPCalibrator().fit(data).latent(z)
        identity = np.log(np.maximum(z, SMALLEST_PROBABILITY))
        inside.append(np.mean((lower <= identity) & (identity <= upper)))
    assert np.mean(inside) >= 16 / 20
