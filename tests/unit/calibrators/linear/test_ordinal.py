"""Ordinal scaling beside SciPy and statsmodels."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

import caltest as ct
from caltest.calibrators import OrdinalScaling, PlattScaling


def labels_of(p, rng):
    return (p.cumsum(axis=1)[:, :-1] < rng.random((len(p), 1))).sum(axis=1)


def probs_of(log_odds):
    return np.diff(expit(log_odds), axis=1, prepend=0, append=1)


@pytest.fixture
def data():
    """Predictions of any kind, labels of a timid version of them, and weights."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(4, 1.5), 300)
    q = p**0.6
    return p, labels_of(q / q.sum(axis=1, keepdims=True), rng), rng.random(300)


def test_fit_is_the_maximum_of_the_likelihood(data):
    """Of the model as it is written, by another method: no gradient, other parameters."""
    p, y, weight = data
    upto = p.cumsum(axis=1)[:, :-1]
    log_odds = np.log(upto / (1 - upto))

    def loss(theta):
        gaps = np.cumsum(np.exp(theta[2:]) * np.diff(log_odds, axis=1), axis=1)
        u = np.column_stack([np.zeros(len(p)), gaps])
        u += (theta[0] + theta[1] * log_odds.mean(axis=1) - u.mean(axis=1))[:, None]
        return -weight @ np.log(probs_of(u)[np.arange(len(p)), y]) / weight.sum()

    found = OrdinalScaling().fit(p, y, sample_weight=weight)
    theta = np.concatenate([[found.level_, found.slope_], np.log(found.spacings_)])
    best = minimize(loss, [0, 1, 0, 0], options={"gtol": 1e-9})
    assert loss(theta) <= best.fun + 1e-12
    np.testing.assert_allclose(theta, best.x, atol=1e-5)
    step = 1e-5
    slopes = [(loss(theta + step * e) - loss(theta - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(slopes, 0, atol=1e-8)


def test_proportional_odds_have_the_map_of_statsmodels():
    ordinal_model = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 1))
    p = probs_of(np.array([-1.0, 0.5, 1.5]) - x)
    y = labels_of(probs_of(np.array([-1.2, 0.1, 1.9]) - 0.6 * x), rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at the maximum its line search finds nothing better
        fitted = ordinal_model.OrderedModel(y, x, distr="logit").fit(
            method="bfgs", disp=False, gtol=1e-9
        )
    found = OrdinalScaling().fit(p, y)
    np.testing.assert_allclose(found.predict_proba(p), fitted.predict(x), atol=1e-6)
    # The slope of the log odds less that of x, whose sign statsmodels turns.
    assert found.stderr_[1] == pytest.approx(fitted.bse[0], rel=1e-3)


def test_two_classes_have_platt_scaling_of_the_log_odds():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 200)
    y = (rng.random(200) < expit(0.5 + 0.7 * np.log(p / (1 - p)))).astype(int)
    found = OrdinalScaling().fit(p, y).predict_proba(p)[:, 1]
    expected = PlattScaling().fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("y", "message"),
    [([0, 0, 3, 3, 0, 3], "no label is 1 and 2|no label is 1, 2"),
     ([0, 1, 1, 2, 2, 3], "in the order of the predictions")],
)  # fmt: skip
def test_without_a_maximum_the_map_is_drawn_to_the_identity(y, message):
    p = probs_of(np.array([-1.0, 0.0, 1.0]) - np.arange(-3.0, 3.0)[:, None])
    with pytest.warns(ct.DegenerateDataWarning, match=message):
        found = OrdinalScaling(classes=[0, 1, 2, 3]).fit(p, y)
    assert found.stderr_ is None
    assert np.isfinite(found.predict_proba(p)).all()


@pytest.mark.full
def test_logits_may_be_so_large_that_a_gap_is_zero():
    """exp(-1000) is no number above 0, and its square divided by itself is none at all."""
    rng = np.random.default_rng(0)
    z = 1000 * rng.normal(size=(50, 3))
    with pytest.warns(ct.DegenerateDataWarning, match="no single maximum"):
        calibrator = OrdinalScaling(from_logits=True).fit(z, np.arange(50) % 3)
    assert calibrator.predict_proba(z).sum(axis=1) == pytest.approx(np.ones(50))


def test_verdict_names_the_map_where_classes_are_ordered():
    rng = np.random.default_rng(4)
    log_odds = np.array([-1.0, 0.5, 1.5]) - 1.5 * rng.normal(size=(300, 1))
    y = labels_of(probs_of(0.6 * log_odds - 0.5), rng)
    data = ct.Predictions(probs_of(log_odds), y, ordinal=True)
    assert "OrdinalScaling()" in str(ct.verdict(data, rng=1, n_resamples=99))


def test_memory_grows_with_rows_times_classes():
    """Not with the square of the classes: of 1000 rows and 60 classes that would be 29 MB."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(60), 1000)
    y = labels_of(p, rng)
    calibrator = OrdinalScaling(classes=range(60))
    tracemalloc.start()
    calibrator.fit(p, y).predict_proba(p)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * p.nbytes


@pytest.mark.filterwarnings("ignore:the likelihood has no single maximum")
def test_gaps_of_size_zero_leave_a_minimum_at_which_the_level_has_no_slope():
    """Beside logits of thousands most gaps underflow; their logarithms are constants."""
    rng = np.random.default_rng(0)
    z, y = 1e4 * rng.normal(size=(200, 4)), rng.integers(4, size=200)
    probs = OrdinalScaling(from_logits=True).fit(z, y).predict_proba(z)
    upto, rows = np.pad(probs.cumsum(axis=1), ((0, 0), (1, 0))), np.arange(200)
    assert abs(np.mean(1 - upto[rows, y + 1] - upto[rows, y])) < 1e-6
