import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration

from caltest.calibrators import PlattScaling
from caltest.errors import DegenerateDataWarning


def sample(n=400, seed=0):
    """Overconfident predictions, labels and integer weights."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    return p, (rng.random(n) < expit(0.6 * logit(p) + 0.2)).astype(int), rng.integers(0, 4, n)


def test_platt_agrees_with_statsmodels():
    """Estimates and standard errors, with weights as counts."""
    p, y, weight = sample()
    platt = PlattScaling().fit(p, y, weight)
    design = sm.add_constant(logit(p))
    glm = sm.GLM(y, design, family=sm.families.Binomial(), freq_weights=weight).fit(tol=1e-14)
    assert [platt.intercept_, platt.slope_] == pytest.approx(glm.params, rel=1e-9)
    slope, intercept = platt.coefficients()
    assert [intercept.stderr, slope.stderr] == pytest.approx(glm.bse, rel=1e-7)


def test_platt_of_a_slope_that_is_given_is_an_intercept_with_an_offset():
    """That of statsmodels, with its standard error."""
    p, y, weight = sample()
    platt = PlattScaling(slope=1.0).fit(p, y, weight)
    counted = {"freq_weights": weight, "offset": logit(p)}
    glm = sm.GLM(y, np.ones(p.size), family=sm.families.Binomial(), **counted).fit(tol=1e-14)
    assert (platt.slope_, platt.standard_errors_["slope"]) == (1.0, None)
    assert platt.intercept_ == pytest.approx(glm.params[0], rel=1e-9)
    assert platt.standard_errors_["intercept"] == pytest.approx(glm.bse[0], rel=1e-7)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_platt_of_smoothed_probabilities_agrees_with_scikit_learn():
    """Its sigmoid calibration, to the digits that its optimiser reaches."""
    p, y, weight = sample()
    platt = PlattScaling(scale="probability", smooth_targets=True).fit(p, y, weight)
    peer = _SigmoidCalibration().fit(p, y, weight.astype(float))
    assert [platt.slope_, platt.intercept_] == pytest.approx([-peer.a_, -peer.b_], rel=1e-4)


def test_platt_of_scores_takes_them_as_log_odds():
    """As those of a support vector machine."""
    p, y, _ = sample()
    score = 3 * logit(p) + 1
    platt = PlattScaling(from_logits=True).fit(score, y)
    direct = PlattScaling().fit(p, y)
    assert platt.slope_ == pytest.approx(direct.slope_ / 3, rel=1e-10)
    assert platt.predict_proba(score) == pytest.approx(direct.predict_proba(p), rel=1e-10)


def test_platt_finds_the_parameters_of_a_large_sample():
    """Beyond the size from which a part of the rows gives the start."""
    p, y, _ = sample(300_000)
    platt = PlattScaling().fit(p, y)
    residual = expit(platt.slope_ * logit(p) + platt.intercept_) - y
    assert abs(residual.mean()) < 1e-13
    assert abs((residual * logit(p)).mean()) < 1e-13
    assert [platt.slope_, platt.intercept_] == pytest.approx([0.6, 0.2], abs=0.02)


@pytest.mark.parametrize("turn", [False, True])
def test_platt_bounds_the_slope_of_separable_data(turn):
    """The penalty leaves predictions near the labels, and the error undefined."""
    p, y = np.array([0.1, 0.2, 0.3, 0.6, 0.7]), np.array([0, 0, 0, 1, 1])
    y = 1 - y if turn else y
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        platt = PlattScaling().fit(p, y)
    assert abs(platt.slope_) * logit(p).std() < 1.2e4
    assert np.abs(platt.predict_proba(p)[:, 1] - y).max() < 1e-4
    assert [c.stderr for c in platt.coefficients()] == [None, None]


def test_platt_of_data_that_a_tie_separates_keeps_its_share():
    """At the threshold both classes occur: there the map is their share."""
    p, y = [0.1, 0.4, 0.4, 0.8], [0, 0, 1, 1]
    with pytest.warns(DegenerateDataWarning, match="separate the classes"):
        platt = PlattScaling().fit(p, y)
    assert platt.predict_proba(p)[:, 1] == pytest.approx([0, 0.5, 0.5, 1], abs=1e-4)


def test_platt_of_equal_scores_is_the_share_of_events():
    """With the standard error of a share alone."""
    with pytest.warns(DegenerateDataWarning, match="all scores are equal"):
        platt = PlattScaling().fit([0.3] * 4, [0, 1, 0, 0])
    assert platt.slope_ == 0
    assert platt.predict_proba([0.9])[0, 1] == pytest.approx(0.25)
    assert platt.standard_errors_ == {"slope": None, "intercept": pytest.approx((3 / 4) ** -0.5)}


@pytest.mark.parametrize(("label", "event"), [(0, 2**-52), (1, 1 - 2**-52)])
def test_platt_of_one_class_is_sure(label, event):
    with pytest.warns(DegenerateDataWarning, match="every label"):
        platt = PlattScaling().fit([0.2, 0.7], [label, label])
    assert platt.predict_proba([0.1])[0, 1] == pytest.approx(event, rel=1e-12)


def test_platt_of_one_class_with_smoothed_targets_is_the_rule_of_succession():
    """(3 + 1) / (3 + 2)."""
    with pytest.warns(DegenerateDataWarning, match="every label"):
        platt = PlattScaling(smooth_targets=True).fit([0.2, 0.7, 0.5], [1, 1, 1])
    assert platt.predict_proba([0.1])[0, 1] == pytest.approx(0.8)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_platt_does_not_depend_on_the_scale_of_weights(scale):
    p, y, weight = sample(50)
    platt = PlattScaling().fit(p, y, scale * weight)
    plain = PlattScaling().fit(p, y, weight)
    assert platt.slope_ == pytest.approx(plain.slope_, rel=1e-12)


def test_platt_warns_at_the_line_that_calls_fit():
    """The warning shows the user's own file."""
    with pytest.warns(DegenerateDataWarning, match="separate") as record:
        PlattScaling().fit([0.1, 0.9], [0, 1])
    assert [warning.filename for warning in record] == [__file__]


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


def test_platt_of_the_smallest_weights_has_no_standard_errors():
    """The information of weights near 0 is none, without an overflow."""
    p, y, _ = sample()
    platt = PlattScaling().fit(p, y, np.full(len(y), 5e-324))
    assert platt.slope_ == pytest.approx(PlattScaling().fit(p, y).slope_, rel=1e-9)
    assert platt.standard_errors_ == {"slope": None, "intercept": None}


def test_platt_of_weights_of_all_sizes_is_finite():
    """No step overflows; the seed is one where it did."""
    rng = np.random.default_rng(2036)
    score = rng.normal(0, 1, 12) * 10.0 ** rng.integers(0, 9)
    y, weight = rng.integers(0, 2, 12), 10.0 ** rng.integers(-300, 300, 12)
    platt = PlattScaling(from_logits=True).fit(score, y, weight)
    assert np.isfinite(platt.predict_proba([*score, -1e300, 1e300])).all()
