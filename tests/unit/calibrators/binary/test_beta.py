import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from caltest.calibrators import BetaCalibrator, PlattScaling
from caltest.errors import DegenerateDataWarning


def sample(n=400, a=0.8, b=0.5, c=0.2, seed=0):
    """Predictions and labels of a beta map, and integer weights."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    event = expit(a * np.log(p) - b * np.log1p(-p) + c)
    return p, (rng.random(n) < event).astype(int), rng.integers(0, 4, n)


def glm(y, features, weight):
    """Unconstrained maximum likelihood."""
    model = sm.GLM(y, features, family=sm.families.Binomial(), freq_weights=weight)
    return model.fit(tol=1e-14)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_agrees_with_statsmodels(parameters):
    """Estimates and standard errors, with weights as counts."""
    p, y, weight = sample()
    u, v, ones = np.log(p), -np.log1p(-p), np.ones(len(p))
    columns = {"abm": [u, v, ones], "am": [u + v, ones], "ab": [u + np.log(2), v - np.log(2)]}
    peer = glm(y, np.column_stack(columns[parameters]), weight)
    beta = BetaCalibrator(parameters=parameters).fit(p, y, weight)
    names = {"abm": "abc", "am": "ac", "ab": "ab"}[parameters]
    assert [getattr(beta, f"{name}_") for name in names] == pytest.approx(peer.params, rel=1e-8)
    errors = [beta.standard_errors_[name] for name in names]
    assert errors == pytest.approx(peer.bse, rel=1e-6)


def test_beta_am_is_platt_scaling_of_the_log_odds():
    p, y, weight = sample()
    beta, platt = (
        BetaCalibrator(parameters="am").fit(p, y, weight),
        PlattScaling().fit(p, y, weight),
    )
    assert [beta.a_, beta.b_] == pytest.approx([platt.slope_] * 2, rel=1e-12)
    assert beta.c_ == pytest.approx(platt.intercept_, rel=1e-12)


def test_beta_with_a_and_b_1_is_the_identity():
    p, y, _ = sample()
    beta = BetaCalibrator().fit(p, y)
    beta.a_, beta.b_, beta.c_ = 1.0, 1.0, 0.0
    assert beta.predict_proba(p)[:, 1] == pytest.approx(p, rel=1e-14)


def test_beta_ab_keeps_one_half():
    """By c = (a - b) ln 2."""
    p, y, _ = sample()
    beta = BetaCalibrator(parameters="ab").fit(p, y)
    assert beta.m_ == 0.5
    assert beta.predict_proba([0.5])[0, 1] == pytest.approx(0.5, abs=1e-15)


def test_beta_of_order_turned_around_is_the_share_of_events():
    """No increasing map is better than a constant one."""
    p, y, _ = sample(500, -1, -1, 0)
    beta = BetaCalibrator().fit(p, y)
    assert (beta.a_, beta.b_) == (0, 0)
    assert beta.predict_proba([0.3])[0, 1] == pytest.approx(y.mean())
    assert beta.standard_errors_["a"] is None


def test_beta_without_constraint_may_have_no_m():
    """A map that goes down and up again is 1/2 at two places or none."""
    p, y, _ = sample(4000, 2.0, -0.5, 1.0)
    assert BetaCalibrator(constrained=False).fit(p, y).m_ is None


@pytest.mark.parametrize(("label", "m"), [(0, 1.0), (1, 0.0)])
def test_beta_of_one_class_is_sure(label, m):
    """The end m is that beyond which the map would be 1/2."""
    with pytest.warns(DegenerateDataWarning, match="every label"):
        beta = BetaCalibrator().fit([0.2, 0.7], [label, label])
    assert beta.predict_proba([0.5])[0, 1] == pytest.approx(label, abs=1e-15)
    assert beta.m_ == m


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_bounds_separable_data(parameters):
    """Predictions near the labels, and no standard errors."""
    p, y = np.array([0.1, 0.2, 0.3, 0.6, 0.7]), [0, 0, 0, 1, 1]
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        beta = BetaCalibrator(parameters=parameters).fit(p, y)
    assert np.abs(beta.predict_proba(p)[:, 1] - y).max() < 1e-4
    assert set(beta.standard_errors_.values()) == {None}


def test_beta_without_constraint_is_bounded_where_an_interval_separates():
    """The constrained map has a maximum all the same."""
    p, y = np.array([0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 0.9]), [0, 0, 1, 1, 1, 0, 0]
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        free = BetaCalibrator(constrained=False).fit(p, y)
    assert np.abs(free.predict_proba(p)[:, 1] - y).max() < 1e-3
    bound = BetaCalibrator().fit(p, y)
    assert min(bound.a_, bound.b_) == 0


def test_beta_of_two_distinct_predictions_has_a_equal_to_b():
    """Three parameters cannot be told apart; the map gives both shares."""
    p, y = [0.3, 0.3, 0.3, 0.6, 0.6, 0.6], [0, 0, 1, 0, 1, 1]
    with pytest.warns(DegenerateDataWarning, match="too few values"):
        beta = BetaCalibrator().fit(p, y)
    assert beta.a_ == beta.b_
    assert beta.predict_proba([0.3, 0.6])[:, 1] == pytest.approx([1 / 3, 2 / 3])


def test_beta_ab_of_equal_predictions_gives_their_share():
    """Below 1/2 it can: a = b is enough."""
    with pytest.warns(DegenerateDataWarning, match="too few values"):
        beta = BetaCalibrator(parameters="ab").fit([0.3] * 4, [0, 0, 1, 0])
    assert beta.a_ == beta.b_ > 0
    assert beta.predict_proba([0.3])[0, 1] == pytest.approx(0.25)


@pytest.mark.parametrize(("parameters", "p", "event"), [("abm", 0.3, 0.75), ("ab", 0.5, 0.5)])
def test_beta_of_equal_predictions_is_constant(parameters, p, event):
    """The share of events, or for "ab" what it is at 1/2 whatever the parameters."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        beta = BetaCalibrator(parameters=parameters).fit([p] * 4, [1, 0, 1, 1])
    assert beta.predict_proba([0.1, 0.9])[:, 1] == pytest.approx([event] * 2)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("far", [-1e300, 1e12, 1e154])
def test_beta_is_not_led_astray_by_a_far_logit(parameters, far):
    """On the right side it tells nothing of the parameters."""
    rng = np.random.default_rng(3)
    score = rng.normal(0, 2, 400)
    y = (rng.random(400) < expit(0.6 * score + 0.2)).astype(int)
    alone = BetaCalibrator(parameters=parameters, from_logits=True).fit(score, y)
    more = BetaCalibrator(parameters=parameters, from_logits=True)
    more.fit(np.append(score, far), np.append(y, int(far > 0)))
    expected = alone.predict_proba(score)
    assert more.predict_proba(score) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", [8, 1077, 2986])
def test_beta_of_weights_of_all_sizes_is_finite(seed):
    """Neither steps nor standard errors overflow; the seeds are those where they did."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1, 12) * 10.0 ** rng.integers(0, 9)
    y, weight = rng.integers(0, 2, 12), 10.0 ** rng.integers(-300, 300, 12)
    beta = BetaCalibrator(from_logits=True).fit(score, y, weight)
    assert np.isfinite(beta.predict_proba([*score, -1e300, 1e300])).all()
