"""Platt scaling has the maximum of its likelihood, whatever the ties, weights and targets."""

import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from caltest.calibrators import PlattScaling
from caltest.errors import DegenerateDataWarning
from caltest.testing import strategies

SETS = strategies.predictions((2, 30), 2, weighted=(1.0, 0.5, 3.0, 0.0)).map(
    lambda data: (data.probs[:, 1], data.labels, data.sample_weight)
)

PROBS = st.one_of(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), st.floats(0, 1))


def fitted(p, y, weight, **options):
    """Fit without the warnings about degenerate data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return PlattScaling(classes=[0, 1], **options).fit(p, y, weight)


def log_odds(p):
    """Clipped at 2.2e-16."""
    p, q = np.maximum(p, 2**-52), np.maximum(1 - p, 2**-52)
    return np.log(p) - np.log(q)


def has_maximum(f, y):
    """Two classes, and each has a score beyond one of the other."""
    zero, one = f[y == 0], f[y == 1]
    return 0 < len(one) < len(y) and zero.max() > one.min() and one.max() > zero.min()


@given(SETS, st.booleans())
def test_gradient_vanishes_at_the_estimate(data, smooth):
    """Of the mean loss, where it has a minimum: smoothed targets always do."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    f, t = log_odds(p), y.astype(float)
    counted = w > 0
    if smooth:
        one, zero = w[y == 1].sum(), w[y == 0].sum()
        t = np.where(y == 1, (one + 1) / (one + 2), 1 / (zero + 2))
    elif not has_maximum(f[counted], y[counted]):
        return
    platt = fitted(p, y, weight, smooth_targets=smooth)
    residual = w * (expit(platt.slope_ * f + platt.intercept_) - t) / w.sum()
    assert abs(residual.sum()) < 1e-12
    assert abs(residual @ f) < 1e-12 * max(1, np.abs(f).max())


@given(SETS)
@settings.get_profile("some")
def test_no_other_parameters_have_a_smaller_loss(data):
    """Not those that scipy finds from two starts."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    f = log_odds(p) / 10

    def loss(x):
        eta = x[0] * f + x[1]
        return w @ (np.logaddexp(0, eta) - y * eta) / w.sum()

    platt = fitted(p, y, weight)
    ours = loss([10 * platt.slope_, platt.intercept_])
    for start in ([0, 0], [1, 0]):
        other = minimize(loss, start, method="BFGS", options={"maxiter": 100})
        penalty = 0.0
        if not has_maximum(f[w > 0], y[w > 0]):
            # Separable data have a penalty, and then that of the other's slope is a bound.
            variance = np.cov(f, aweights=w, ddof=0) if (w > 0).sum() > 1 else 0.0
            penalty = 1e-8 / 2 * other.x[0] ** 2 * variance
        assert ours <= other.fun + penalty + 1e-10


@given(SETS, st.lists(PROBS, min_size=2, max_size=10))
def test_order_is_kept_or_turned_around(data, new):
    platt = fitted(*data)
    out = platt.predict_proba(np.sort(new))[:, 1] * (-1 if platt.slope_ < 0 else 1)
    assert (np.diff(out) >= 0).all()
    assert np.isfinite(out).all()
