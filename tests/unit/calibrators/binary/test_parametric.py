"""Platt scaling, beta calibration and quadratic scaling of log odds."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration

from caltest.calibrators import BetaCalibrator, PlattScaling, QuadraticScaling
from caltest.errors import DegenerateDataWarning


def sample(n=400, a=0.6, b=0.6, c=0.2, seed=0):
    """Predictions and labels of a beta map, overconfident by default, and integer weights."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    event = expit(a * np.log(p) - b * np.log1p(-p) + c)
    return p, (rng.random(n) < event).astype(int), rng.integers(0, 4, n)


def glm(y, design, weight, **options):
    """Maximum likelihood of statsmodels, with weights as counts."""
    model = sm.GLM(y, design, family=sm.families.Binomial(), freq_weights=weight, **options)
    return model.fit(tol=1e-14)


def test_platt_of_a_slope_that_is_given_is_an_intercept_with_an_offset():
    """That of statsmodels, with its standard error."""
    p, y, weight = sample()
    platt = PlattScaling(slope=1.0).fit(p, y, weight)
    peer = glm(y, np.ones(p.size), weight, offset=logit(p))
    assert (platt.slope_, platt.standard_errors_["slope"]) == (1.0, None)
    assert platt.intercept_ == pytest.approx(peer.params[0], rel=1e-9)
    assert platt.standard_errors_["intercept"] == pytest.approx(peer.bse[0], rel=1e-7)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_platt_of_smoothed_probabilities_agrees_with_scikit_learn():
    """Its sigmoid calibration, to the digits that its optimiser reaches."""
    p, y, weight = sample()
    platt = PlattScaling(scale="probability", smooth_targets=True).fit(p, y, weight)
    peer = _SigmoidCalibration().fit(p, y, weight.astype(float))
    assert [platt.slope_, platt.intercept_] == pytest.approx([-peer.a_, -peer.b_], rel=1e-4)


def test_platt_finds_the_parameters_of_a_large_sample():
    """Beyond the size from which a part of the rows gives the start."""
    p, y, _ = sample(300_000)
    platt = PlattScaling().fit(p, y)
    residual = expit(platt.slope_ * logit(p) + platt.intercept_) - y
    assert abs(residual.mean()) < 1e-13
    assert abs((residual * logit(p)).mean()) < 1e-13
    assert [platt.slope_, platt.intercept_] == pytest.approx([0.6, 0.2], abs=0.02)


def test_platt_of_equal_scores_is_the_share_of_events():
    """With the standard error of a share alone."""
    with pytest.warns(DegenerateDataWarning, match="all scores are equal"):
        platt = PlattScaling().fit([0.3] * 4, [0, 1, 0, 0])
    assert platt.slope_ == 0
    assert platt.predict_proba([0.9])[0, 1] == pytest.approx(0.25)
    assert platt.standard_errors_ == {"slope": None, "intercept": pytest.approx((3 / 4) ** -0.5)}


def test_platt_of_one_class_with_smoothed_targets_is_the_rule_of_succession():
    """(3 + 1) / (3 + 2)."""
    with pytest.warns(DegenerateDataWarning, match="every label"):
        platt = PlattScaling(smooth_targets=True).fit([0.2, 0.7, 0.5], [1, 1, 1])
    assert platt.predict_proba([0.1])[0, 1] == pytest.approx(0.8)


@pytest.mark.parametrize("far", [1e9, 1e154, 1e300])
def test_platt_is_not_led_astray_by_a_far_score(far):
    """On the right side it tells nothing of the slope; on the wrong one the slope vanishes."""
    p, y, _ = sample()
    score = np.append(logit(p), far)
    alone = PlattScaling(from_logits=True).fit(score[:-1], y)
    right = PlattScaling(from_logits=True).fit(score, np.append(y, 1))
    wrong = PlattScaling(from_logits=True).fit(score, np.append(y, 0))
    assert [right.slope_, right.intercept_] == pytest.approx(
        [alone.slope_, alone.intercept_], rel=1e-7
    )
    assert abs(wrong.slope_) < 1e-5
    assert expit(wrong.intercept_) == pytest.approx(y.mean(), abs=1e-3)


def test_platt_takes_scores_of_any_unit():
    """Those of a support vector machine may be huge or tiny."""
    p, y, _ = sample()
    expected = PlattScaling().fit(p, y).predict_proba(p)
    for unit in (1e-120, 1e9, 1e90):
        platt = PlattScaling(from_logits=True).fit(logit(p) * unit, y)
        assert platt.predict_proba(logit(p) * unit) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_agrees_with_statsmodels(parameters):
    """Estimates and standard errors, with weights as counts."""
    p, y, weight = sample(a=0.8, b=0.5)
    u, v, ones = np.log(p), -np.log1p(-p), np.ones(len(p))
    columns = {"abm": [u, v, ones], "am": [u + v, ones], "ab": [u + np.log(2), v - np.log(2)]}
    peer = glm(y, np.column_stack(columns[parameters]), weight)
    beta = BetaCalibrator(parameters=parameters).fit(p, y, weight)
    names = {"abm": "abc", "am": "ac", "ab": "ab"}[parameters]
    assert [getattr(beta, f"{name}_") for name in names] == pytest.approx(peer.params, rel=1e-8)
    errors = [beta.standard_errors_[name] for name in names]
    assert errors == pytest.approx(peer.bse, rel=1e-6)


def test_beta_with_a_and_b_1_is_the_identity():
    """Without constraint a map may go down and up again, 1/2 at two places or none."""
    p, y, _ = sample(a=0.8, b=0.5)
    beta = BetaCalibrator().fit(p, y)
    beta.a_, beta.b_, beta.c_ = 1.0, 1.0, 0.0
    assert beta.predict_proba(p)[:, 1] == pytest.approx(p, rel=1e-14)
    p, y, _ = sample(4000, 2.0, -0.5, 1.0)
    assert BetaCalibrator(constrained=False).fit(p, y).m_ is None


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


def test_beta_of_too_few_values_has_a_equal_to_b():
    """Three parameters cannot be told apart; the map gives the shares."""
    p, y = [0.3, 0.3, 0.3, 0.6, 0.6, 0.6], [0, 0, 1, 0, 1, 1]
    with pytest.warns(DegenerateDataWarning, match="too few values"):
        beta = BetaCalibrator().fit(p, y)
    assert beta.a_ == beta.b_
    assert beta.predict_proba([0.3, 0.6])[:, 1] == pytest.approx([1 / 3, 2 / 3])
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


@pytest.mark.parametrize(
    ("kind", "seed"),
    [(PlattScaling, 2036), (BetaCalibrator, 8), (BetaCalibrator, 1077), (BetaCalibrator, 2986)],
)
def test_fit_to_weights_of_all_sizes_is_finite(kind, seed):
    """Neither steps nor standard errors overflow; the seeds are those where they did."""
    rng = np.random.default_rng(seed)
    score = rng.normal(0, 1, 12) * 10.0 ** rng.integers(0, 9)
    y, weight = rng.integers(0, 2, 12), 10.0 ** rng.integers(-300, 300, 12)
    calibrator = kind(from_logits=True).fit(score, y, weight)
    assert np.isfinite(calibrator.predict_proba([*score, -1e300, 1e300])).all()


def test_quadratic_scaling_is_logistic_regression_on_log_odds_and_square():
    rng = np.random.default_rng(1)
    s = rng.normal(0.5, 2, 800)
    y = rng.random(800) < expit(0.2 + 0.6 * s + 0.1 * s**2)
    weight = np.arange(800) % 3
    quadratic = QuadraticScaling(from_logits=True).fit(s, y, sample_weight=weight)
    design = np.column_stack([np.ones(800), s, s**2])
    model = glm(y, design, weight)
    got = quadratic.coefficients()
    assert [c.name for c in got] == ["intercept", "slope", "quadratic"]
    np.testing.assert_allclose([c.value for c in got], model.params, atol=1e-8)
    found = expit(design @ [c.value for c in got])
    assert abs(design.T @ (weight * (found - y)) / weight.sum()).max() < 1e-8
    np.testing.assert_allclose([c.stderr for c in got], model.bse, rtol=1e-6)
    expected = expit(design @ model.params)
    np.testing.assert_allclose(quadratic.predict_proba(s)[:, 1], expected, atol=1e-9)


def test_quadratic_scaling_of_two_values_and_of_an_interval():
    """Two values leave the quadratic at 0; no line separates events in the middle."""
    with pytest.warns(DegenerateDataWarning, match="too few values: the quadratic is set to 0"):
        quadratic = QuadraticScaling().fit([0.2, 0.2, 0.2, 0.6, 0.6], [0, 0, 1, 1, 0])
    assert quadratic.quadratic_ == 0
    np.testing.assert_allclose(quadratic.predict_proba([0.2, 0.6])[:, 1], [1 / 3, 1 / 2])
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        quadratic = QuadraticScaling().fit([0.1, 0.4, 0.5, 0.6, 0.9], [0, 1, 1, 1, 0])
    event = quadratic.predict_proba([0.1, 0.5, 0.9])[:, 1]
    np.testing.assert_allclose(event, [0, 1, 0], atol=1e-3)
