"""Matrix scaling maps logits, and of probabilities it is Dirichlet calibration."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from caltest.calibrators import DirichletCalibrator, MatrixScaling

FEW = settings.get_profile("few")


@st.composite
def calibration_sets(draw):
    """Logits that are no log probabilities, with labels."""
    m = draw(st.sampled_from([2, 3, 10]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logits = 1 + 2 * rng.normal(size=(30 * m, m))
    return logits, (logits / 2 + rng.gumbel(size=logits.shape)).argmax(axis=1)


def with_every_class(logits, y):
    m = logits.shape[1]
    return np.vstack([logits, np.zeros((m, m))]), np.append(y, np.arange(m))


@FEW
@given(calibration_sets())
def test_probabilities_are_mapped_as_by_dirichlet_calibration(data):
    logits, y = with_every_class(*data)
    probs = softmax(logits, axis=1)
    expected = DirichletCalibrator().fit(probs, y).predict_proba(probs)
    assert (MatrixScaling().fit(probs, y).predict_proba(probs) == expected).all()


@FEW
@given(calibration_sets(), st.sampled_from(["odir", "l2"]))
def test_gradient_vanishes_at_the_fit(data, reg):
    """Of the mean log loss and the penalty, written out, relative to that of the softmax."""
    logits, y = with_every_class(*data)
    n, m = logits.shape
    fitted = MatrixScaling(reg=reg, lam=0.3, mu=0.2, from_logits=True).fit(logits, y)
    X = np.column_stack([logits, np.ones(n)])
    off = np.ones((m, m)) if reg == "l2" else (1 - np.eye(m)) / (m * (m - 1))
    penalty = 2 * np.column_stack([0.3 * off, np.full(m, 0.2 if reg == "l2" else 0.2 / m)])
    norms = []
    for theta in (np.eye(m, m + 1), np.column_stack(fitted.linear_)):
        residual = softmax(X @ theta.T, axis=1) - np.eye(m)[y]
        norms.append(np.linalg.norm(residual.T @ X / n + penalty * theta))
    assert norms[1] < 1e-8 * norms[0]


@FEW
@given(calibration_sets(), st.floats(0.01, 100))
def test_unit_of_the_logits_does_not_matter_without_penalty(data, unit):
    """Logits in other units, with the weights in the inverse ones."""
    logits, y = with_every_class(*data)
    plain = MatrixScaling(lam=0, from_logits=True).fit(logits, y)
    scaled = MatrixScaling(lam=0, from_logits=True).fit(unit * logits, y)
    expected = plain.predict_proba(logits)
    assert scaled.predict_proba(unit * logits) == pytest.approx(expected, abs=1e-5)


@FEW
@given(calibration_sets())
def test_constant_in_a_row_of_logits_matters(data):
    """Unlike in Dirichlet calibration, which sees probabilities only."""
    logits, y = with_every_class(*data)
    fitted = DirichletCalibrator(from_logits=True).fit(logits, y)
    expected = fitted.predict_proba(logits)
    assert fitted.predict_proba(logits + 5) == pytest.approx(expected, abs=1e-12)
    shifted = log_softmax(logits, axis=1)
    assert fitted.predict_proba(shifted) == pytest.approx(expected, abs=1e-12)
