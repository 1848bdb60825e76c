"""GP calibration beside the authors' software, pycalib 0.1 on GPflow 1 (peers.json).

pycalib's model differs in three ways: classes do not covary (our covariance="diagonal"), S is
diagonal, and 1e-6 is added to k(Z, Z). It ends after at most 1000 iterations of L-BFGS, and its
probabilities are means over 100 draws.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from caltest.calibrators import GPCalibrator
from caltest.calibrators.gp.elbo import GPScores, bound
from caltest.calibrators.gp.fit import line_kmeans
from caltest.calibrators.gp.process import LatentPosterior

pytestmark = pytest.mark.filterwarnings("ignore:the latent mean falls:UserWarning")


@pytest.fixture(scope="module")
def data():
    """The 200 x 4 set of peers.json, by its generator."""
    r = np.random.RandomState(7)
    logits = r.normal(0, 1.5, (200, 4))
    logits[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    probs, truth = softmax(logits, axis=1), softmax(0.7 * logits, axis=1)
    return probs, (truth.cumsum(1) < r.uniform(size=(200, 1))).sum(1).clip(0, 3)


@pytest.fixture(scope="module")
def peer(others):
    """Predictions of the first three rows: by the latent mean, and by 100 draws."""
    values = others["multi200x4"]["values"]
    names = ("GP pred3 mean_approx (seed1,10 inducing)|JW", "GP pred3 full|JW")
    return [np.array(values[name]) for name in names]


def peer_bound(q, probs, codes):
    """Pycalib's bound, dense: variances alone, and 1e-6 on the diagonal of k(Z, Z)."""
    inner = q.variance * np.exp(-0.5 * ((q.Z[:, None] - q.Z) / q.scale) ** 2)
    L = np.linalg.cholesky(inner + (q.noise + 1e-6) * np.eye(q.Z.size))
    cross = q.variance * np.exp(-0.5 * ((q.Z[:, None] - probs.ravel()) / q.scale) ** 2)
    A, S = np.linalg.solve(L, cross), np.diag(q.C) ** 2
    mean = np.log(probs) + (q.m @ A).reshape(probs.shape)
    explained = np.sum(A**2 * (S - 1)[:, None], axis=0).reshape(probs.shape)
    variance = q.variance + q.noise + explained
    sigma = softmax(mean, axis=1)
    expected = np.log(sigma[np.arange(len(codes)), codes])
    expected = expected + 0.5 * np.sum((sigma - 1) * sigma * variance, axis=1)
    return expected.sum() - 0.5 * np.sum(S + q.m**2 - 1 - np.log(S)), sigma


@pytest.fixture(scope="module")
def peer_fit(data):
    """Its largest bound with a diagonal S, from where it starts; the gradient is ours."""
    probs, codes = data
    scores = GPScores(
        probs, np.log(probs), codes, np.ones(200), probs.min(), probs.max(), full=False
    )

    def unpacked(x):
        m, s, Z, kernel = np.split(x, [10, 20, 30])
        return LatentPosterior(m, np.diag(np.exp(s)), Z, *np.exp(kernel))

    def loss(x):
        q = unpacked(x)
        found = bound(scores, q)
        by_root = np.diag(found.by_root * q.C)
        parts = found.by_mean, by_root, found.by_inputs, found.by_kernel
        return -found.value, -np.concatenate(parts)

    Z = line_kmeans(probs.ravel(), np.ones(probs.size), 10)
    start = np.concatenate([np.zeros(20), Z, np.log([1.0, 0.5, 0.01])])
    box = [(None, None)] * 20 + [(probs.min(), probs.max())] * 10
    box += [(-9, np.log(5)), (np.log(0.01), np.log(10)), (np.log(1e-5), None)]
    options = {"maxiter": 1000, "ftol": 1e-9}
    end = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=box, options=options)
    value, sigma = peer_bound(unpacked(end.x), probs, codes)
    assert value == pytest.approx(-end.fun, abs=0.05)  # what 1e-6 more noise costs
    return value, sigma


def test_peer_predictions_are_those_of_its_bound(peer, peer_fit):
    """So that its bound is the one in this file."""
    assert peer_fit[1][:3] == pytest.approx(peer[0], abs=0.005)


@pytest.mark.full
def test_our_bound_is_higher_than_the_peers(data, peer_fit):
    """Of the same model, with a full S; and higher again with the covariances within rows."""
    diagonal = GPCalibrator(covariance="diagonal").fit(*data)
    assert diagonal.bound_ > peer_fit[0]
    assert GPCalibrator().fit(*data).bound_ > diagonal.bound_


def test_our_predictions_are_near_the_peers(data, peer):
    """By the latent mean within 0.005; by draws within 3 errors of a mean of 100."""
    calibrator = GPCalibrator(covariance="diagonal", inference="mean").fit(*data)
    assert calibrator.predict_proba(data[0][:3]) == pytest.approx(peer[0], abs=0.005)
    calibrator.set_params(inference="monte-carlo", n_samples=2000)
    assert calibrator.predict_proba(data[0][:3]) == pytest.approx(peer[1], abs=0.015)
