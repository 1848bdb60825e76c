"""Beta calibration has the maximum of its likelihood among the maps that are admissible."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from caltest.calibrators import BetaCalibrator
from caltest.errors import DegenerateDataWarning

PROBS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.floats(0.001, 0.999))
PARAMETERS = st.sampled_from(["abm", "am", "ab"])


@st.composite
def data(draw, fewest=2):
    """Probabilities, labels and weights or none; some are separable or of one class."""
    n = draw(st.integers(fewest, 30))
    p = draw(st.lists(PROBS, min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1, 3]), min_size=n, max_size=n))
    if weight is not None and not any(weight):
        weight[0] = 1.0
    return np.array(p), np.array(y), None if weight is None else np.array(weight)


def fitted(p, y, weight, **options):
    """Fit without the warnings about degenerate data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return BetaCalibrator(classes=[0, 1], **options).fit(p, y, weight)


def features(p, parameters):
    """Columns of a, b and c; those of "am" are of a = b, those of "ab" have ln 2 in them."""
    u, v = np.log(np.maximum(p, 2**-52)), -np.log(np.maximum(1 - p, 2**-52))
    if parameters == "am":
        return np.stack([u + v, np.ones(len(p))])
    if parameters == "ab":
        return np.stack([u + np.log(2), v - np.log(2)])
    return np.stack([u, v, np.ones(len(p))])


def values(beta):
    """Return the parameters in that order."""
    return {
        "abm": [beta.a_, beta.b_, beta.c_],
        "am": [beta.a_, beta.c_],
        "ab": [beta.a_, beta.b_],
    }[beta.parameters]


def has_maximum(p, y, parameters):
    """Whether no increasing map separates the classes, and the features tell parameters apart."""
    zero, one = p[y == 0], p[y == 1]
    if parameters == "ab":
        separated = (zero <= 0.5).all() and (one >= 0.5).all()
    else:
        separated = len(zero) == 0 or len(one) == 0 or zero.max() <= one.min()
    X = features(p, parameters)
    return not separated and np.linalg.matrix_rank(X, tol=1e-4) == len(X)


@given(data(), PARAMETERS)
def test_beta_fulfils_the_kkt_conditions(data, parameters):
    """The gradient vanishes, or points into the constraint where a or b is 0."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    if not has_maximum(p[w > 0], y[w > 0], parameters):
        return
    beta = fitted(p, y, weight, parameters=parameters)
    X, x = features(p, parameters), np.array(values(beta))
    gradient = X @ (w * (expit(x @ X) - y)) / w.sum()
    slopes = 1 if parameters == "am" else 2
    scale = np.abs(X).max(axis=1)
    bound = (x == 0) & (np.arange(len(x)) < slopes)
    assert (x[:slopes] >= 0).all()
    assert (np.abs(gradient[~bound]) <= 1e-11 * scale[~bound]).all()
    assert (gradient[bound] >= -1e-11 * scale[bound]).all()


@given(data(), PARAMETERS)
@settings.get_profile("some")
def test_beta_has_no_greater_loss_than_what_scipy_finds(data, parameters):
    """Under the same bounds, from two starts; separable and undetermined data too."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    X = features(p, parameters)
    slopes = 1 if parameters == "am" else 2
    bounds = [(0, None)] * slopes + [(None, None)] * (len(X) - slopes)

    def loss(x):
        eta = x @ X
        return w @ (np.logaddexp(0, eta) - y * eta) / w.sum()

    def slope(x):
        return X @ (w * (expit(x @ X) - y)) / w.sum()

    beta = fitted(p, y, weight, parameters=parameters)
    mean = 0 if parameters == "ab" else X @ w / w.sum()
    variance = ((X.T - mean) ** 2).T @ w / w.sum()
    for start in (np.zeros(len(X)), np.ones(len(X))):
        other = minimize(
            loss, start, jac=slope, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}
        )
        penalty = 0.0
        if not has_maximum(p[w > 0], y[w > 0], parameters):
            # Separable data have a penalty, and then that of the other's slopes is a bound.
            penalty = 1e-8 / 2 * (other.x**2 @ variance)
        assert loss(np.array(values(beta))) <= other.fun + penalty + 1e-10


@given(data(), PARAMETERS, st.lists(PROBS, min_size=2, max_size=10))
def test_beta_keeps_the_order(data, parameters, new):
    """It is never decreasing, unless it is not constrained."""
    out = fitted(*data, parameters=parameters).predict_proba(np.sort(new))[:, 1]
    assert (np.diff(out) >= -1e-15).all()
    assert np.isfinite(out).all()


@given(data(), PARAMETERS)
def test_beta_is_one_half_at_m(data, parameters):
    """Where m lies within the unit interval."""
    beta = fitted(*data, parameters=parameters)
    if 1e-9 < beta.m_ < 1 - 1e-9:
        # Steep maps turn the last bit of m into more.
        slope = (beta.a_ / beta.m_ + beta.b_ / (1 - beta.m_)) / 4
        assert beta.predict_proba([beta.m_])[0, 1] == pytest.approx(0.5, abs=1e-14 * (9 + slope))


@given(data(), PARAMETERS)
def test_beta_of_the_other_class_is_the_mirror_image(data, parameters):
    """The roles of a and b change."""
    p, y, weight = data
    one = fitted(p, y, weight, parameters=parameters).predict_proba(p)[:, 1]
    other = fitted(1 - p, 1 - y, weight, parameters=parameters).predict_proba(1 - p)[:, 0]
    assert one == pytest.approx(other, abs=1e-5)
