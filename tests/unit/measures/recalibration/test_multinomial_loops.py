"""Recalibration of several classes beside statsmodels and a linear program."""

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.special import logsumexp
from statsmodels.base.model import GenericLikelihoodModel

from caltest.measures.recalibration.multinomial_loops import class_sums, fit, hessian, make_task

pytestmark = pytest.mark.loops


def data(n=200, m=4, seed=0):
    """Return probabilities with labels of a recalibration of them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.7), n)
    probs = np.maximum(probs, 1e-6)
    probs /= probs.sum(axis=1, keepdims=True)
    changed = probs**0.7 * np.linspace(0.5, 1.5, m)
    changed /= changed.sum(axis=1, keepdims=True)
    labels = (changed.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return probs, labels.astype(np.uint8)


def log_likelihood(probs, labels, alpha, slope, reference):
    """Return the log likelihood of the labels, by the formula; slopes (m,) or one."""
    z = np.log(probs)
    feature = z if reference < 0 else z - z[:, [reference]]
    eta = alpha + z + (slope - 1) * feature
    eta -= logsumexp(eta, axis=1, keepdims=True)
    return float(eta[np.arange(len(z)), labels].sum())


class Recalibrated(GenericLikelihoodModel):
    """The likelihood in free parameters, for statsmodels to maximise by itself."""

    def loglike(self, params):
        """Unpack m - 1 intercepts and one slope, or m - 1 slopes, of classes 1, 2, ..."""
        m = self.exog.shape[1]
        slope = params[m - 1] if params.size == m else np.concatenate([[1.0], params[m - 1 :]])
        reference = -1 if params.size == m else 0
        alpha = np.concatenate([[0.0], params[: m - 1]])
        return log_likelihood(self.exog, self.endog.astype(int), alpha, slope, reference)


@pytest.mark.filterwarnings("ignore:df_")  # it asks for one parameter per column
@pytest.mark.parametrize("reference", [-1, 0], ids=["common", "reference"])
def test_gain_is_that_of_statsmodels(reference):
    """Its own maximisation of the likelihood as it is written."""
    probs, labels = data()
    m = probs.shape[1]
    task = make_task(probs, np.ones(len(probs)), reference)
    theta, gain = fit(task, class_sums(labels[None], task.features, task.weight)[0])
    alpha, beta = np.split(theta, 2)
    slopes = 1 if reference < 0 else m - 1
    start = np.concatenate([np.zeros(m - 1), np.ones(slopes)])
    theirs = Recalibrated(labels, probs).fit(start, method="newton", disp=0, maxiter=100)
    before = log_likelihood(probs, labels, 0.0, 1.0, -1)
    assert gain == pytest.approx(theirs.llf - before, rel=1e-8)
    np.testing.assert_allclose(alpha[1:] - alpha[0], theirs.params[: m - 1], rtol=1e-4)
    np.testing.assert_allclose(1 + beta[-slopes:], theirs.params[m - 1 :], rtol=1e-4)


def test_curvature_of_nearly_certain_predictions_is_no_rounding_error():
    """Differences of q and q^2 would be: here 1 - q is 1e-15."""
    m = 3
    probs = np.full((5, m), 1e-15)
    probs[:, 0] = 1 - 2e-15
    H = hessian(np.log(probs), np.ones(5), np.zeros(2 * m))
    np.testing.assert_allclose(np.diag(H)[:m], [1e-14, 5e-15, 5e-15], rtol=1e-6)


@pytest.mark.parametrize("reference", [-1, 0, 2], ids=["common", "first", "third"])
def test_class_without_a_label_is_left_out(reference):
    """The gain is that of very small intercepts of that class, and below all that is possible."""
    probs, labels = data()
    labels = np.where(labels == 2, 1, labels).astype(np.uint8)
    task = make_task(probs, np.ones(len(probs)), reference)
    theta, gain = fit(task, class_sums(labels[None], task.features, task.weight)[0])
    alpha, beta = np.split(theta, 2)
    alpha[2] = -40.0
    reached = log_likelihood(probs, labels, alpha, 1 + beta, reference)
    before = log_likelihood(probs, labels, 0.0, 1.0, -1)
    assert gain == pytest.approx(reached - before, rel=1e-9)


def margin(task, labels):
    """Return the widest margin of the labels over the other classes, by a linear program."""
    n, m = task.probs.shape
    present = np.unique(labels)
    axes = np.hstack([np.eye(2 * m)[:, :m], np.repeat([0.0, 1.0], m)[:, None]])
    moved = axes[:m] + task.features[:, :, None] * axes[m:] / task.largest
    rows = [
        np.append(moved[i, j] - moved[i, labels[i]], 1.0)
        for i in range(n)
        for j in present
        if j != labels[i]
    ]
    bounds = [(-1, 1)] * (m + 1) + [(None, None)]
    return -linprog(np.append(np.zeros(m + 1), -1.0), rows, np.zeros(len(rows)), bounds=bounds).fun


def test_gain_is_the_whole_loss_where_a_linear_program_separates_the_labels():
    """However rare the labels are: the curvature at the start says nothing of them."""
    rng = np.random.default_rng(0)
    separated = 0
    for _ in range(80):
        probs = np.exp(-36 * rng.random((3, 4)) * rng.integers(0, 2, (3, 4)))
        probs /= probs.sum(axis=1, keepdims=True)
        labels = np.array([1, *rng.integers(0, 4, 2)], dtype=np.uint8)
        task = make_task(probs, np.ones(3), -1)
        if np.unique(labels).size == 1 or margin(task, labels) < 1e-3:
            continue
        separated += 1
        _, gain = fit(task, class_sums(labels[None], task.features, task.weight)[0])
        loss = -log_likelihood(probs, labels, 0.0, 1.0, -1)
        assert gain == pytest.approx(loss, rel=1e-8, abs=1e-8)
    assert separated > 30
