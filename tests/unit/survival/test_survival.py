"""Predicted risks by a horizon with right-censored times, beside brute force."""

import itertools
import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest import survival
from caltest.errors import InvalidInput, NotApplicable, SuspectInputWarning
from caltest.survival import estimates, predictions

HORIZON = 1.0


def simulated(n, seed, *, competing=False, ties=False, factor=1.0, **rows):
    """Draw risks by 1 and times, half of which are censored."""
    rng = np.random.default_rng(seed)
    hazard = 0.45 * np.exp(0.8 * rng.normal(size=n))
    first, lost = rng.exponential(1 / hazard), rng.exponential(1, n)
    event = np.where(first <= lost, 1 + (competing & (rng.random(n) < 0.4)), 0)
    time = np.minimum(first, lost)
    time = np.ceil(8 * time) / 8 if ties else time
    risk = np.minimum(-factor * np.expm1(-hazard), 0.99)
    return ct.SurvivalPredictions(risk, time, event, horizon=HORIZON, **rows)


def aalen_johansen(time, event, cause=1):
    """Add up the risk of the event, time by time."""
    risk, stays = 0.0, 1.0
    for t in np.unique(time[(event > 0) & (time <= HORIZON)]):
        at_risk, here = np.sum(time >= t), time == t
        risk += stays * np.sum(here & (event == cause)) / at_risk
        stays *= 1 - np.sum(here & (event > 0)) / at_risk
    return risk


def weights_one_by_one(time, event):
    """Return 1 / G(min(T, 1)-) of rows of known status; events come before censoring."""
    until, lost = np.minimum(time, HORIZON), (event == 0) & (time < HORIZON)
    weights = np.zeros(time.size)
    for i in np.flatnonzero(~lost):
        stays = 1.0
        for t in np.unique(until[lost & (until < until[i])]):
            gone = np.sum(lost & (until == t))
            stays *= 1 - gone / (np.sum(until > t) + gone)
        weights[i] = 1 / stays
    return weights


CASES = pytest.mark.parametrize(("competing", "ties"), [(False, True), (True, False), (True, True)])


@CASES
def test_weights_give_the_observed_risk(competing, ties):
    """The weighted share of events is the estimate of Kaplan-Meier or Aalen-Johansen."""
    rows = simulated(150, 1, competing=competing, ties=ties)
    weights = weights_one_by_one(rows.time, rows.event)
    np.testing.assert_allclose(rows.sample_weight, weights)
    risk = aalen_johansen(rows.time, rows.event)
    assert weights @ rows.labels / rows.n == pytest.approx(risk)
    assert ct.survival.cumulative_incidence(rows).value == pytest.approx(risk)


def test_the_error_of_the_observed_risk_is_greenwoods():
    """Of Kaplan-Meier the infinitesimal jackknife is the formula of Greenwood."""
    rows = simulated(150, 2, ties=True)
    time, stays, total = rows.time, 1.0, 0.0
    for t in np.unique(time[(rows.event == 1) & (time <= HORIZON)]):
        at_risk, events = np.sum(time >= t), np.sum((time == t) & (rows.event == 1))
        stays *= 1 - events / at_risk
        total += events / (at_risk * (at_risk - events))
    found, ratio = (
        f(rows) for f in (ct.survival.cumulative_incidence, ct.survival.observed_expected_ratio)
    )
    reach = 1.959964 * np.sqrt(total) / -np.log(stays)
    assert found.low == pytest.approx(1 - stays ** np.exp(-reach))
    assert found.high == pytest.approx(1 - stays ** np.exp(reach))
    reach = 1.959964 * stays * np.sqrt(total) / (1 - stays)
    expected = (1 - stays) / rows.probs[:, 1].mean()
    assert ratio == pytest.approx(expected * np.exp([0, -reach, reach]))
    surely = ct.SurvivalPredictions([0.5, 0.9], [0.2, 0.4], [1, 1], horizon=HORIZON)
    clopper_pearson = [1.0, 0.025**0.5, 1.0]
    assert list(ct.survival.cumulative_incidence(surely)) == pytest.approx(clopper_pearson)
    ratio = ct.survival.observed_expected_ratio(surely)
    assert list(ratio) == pytest.approx(np.divide(clopper_pearson, 0.7))


@CASES
def test_pseudo_observations_leave_each_row_out(competing, ties):
    """They are those of the estimate that is computed anew without each row."""
    rows = simulated(90, 3, competing=competing, ties=ties)
    whole, n = aalen_johansen(rows.time, rows.event), rows.n
    without = [aalen_johansen(np.delete(rows.time, i), np.delete(rows.event, i)) for i in range(n)]
    expected = n * whole - (n - 1) * np.array(without)
    np.testing.assert_allclose(ct.survival.pseudo_observations(rows), expected, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
def test_multipliers_are_derivatives_of_weighted_rows(ties):
    """They are what small changes of the masses of rows do to mass times weight."""
    rows, step = simulated(60, 4, ties=ties), 1e-6
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (3, rows.n))
    kind, given = type(rows.censoring), (np.minimum(rows.time, HORIZON), rows.is_lost)
    changed = [kind(*given, 1.0 + step * sign).weights for sign in signs]
    derivative = (np.array(changed) - rows.sample_weight) / step
    multipliers = rows.censoring.multipliers(signs)
    np.testing.assert_allclose(multipliers * rows.sample_weight, derivative, atol=1e-4)
    residuals = rows.sample_weight * (rows.labels - rows.probs[:, 1])
    influences = rows.censoring.influences(residuals)
    np.testing.assert_allclose(multipliers @ residuals, signs @ influences, atol=1e-10)


@pytest.mark.parametrize("test", ["ks", "kuiper", "ece", "skce", "cramer-von-mises"])
def test_tests_flip_signs_of_all_rows(test):
    """Risks that are right are not rejected, those that are too high are."""
    options = {"test": test, "n_resamples": 99, "rng": 1}
    right, high = simulated(500, 6), simulated(500, 6, factor=1.6)
    result = ct.test_calibration(right, **options)
    assert result.null == "cluster"
    assert result.pvalue > 0.05 > ct.test_calibration(high, **options).pvalue
    assert "censored:  1" in str(result) or "censored:  2" in str(result)


def test_the_verdict_has_direction_and_size():
    """The observed share is the estimate of Kaplan-Meier."""
    rows = simulated(600, 7, factor=1.5)
    answer = ct.verdict(rows, n_resamples=99, rng=1)
    assert answer.answer == "strong evidence"
    assert "P(event by 1) too high" in answer.headline
    assert answer.size.observed == pytest.approx(aalen_johansen(rows.time, rows.event))
    assert answer.size.is_clear


def test_the_interval_of_the_gap_is_that_of_influences():
    """Without differences of risk it is as narrow as that of Kaplan-Meier."""
    drawn = simulated(2000, 8)
    risk = np.full(drawn.n, 0.4)
    rows = ct.SurvivalPredictions(risk, drawn.time, drawn.event, horizon=HORIZON)
    size = ct.test_calibration(rows, test="ks", n_resamples=99, rng=1).size
    found = ct.survival.cumulative_incidence(rows)
    assert size.high - size.low == pytest.approx(found.high - found.low, rel=0.02)


def test_groups_have_weights_of_their_own():
    """The observed share of a group is the estimate of Kaplan-Meier of its rows."""
    groups = np.repeat(["a", "b"], [200, 300])
    rows = simulated(500, 9, groups=groups)
    table = ct.test_calibration(rows, test="ks", by=True, n_resamples=99, rng=1)
    for row, name in zip(table.rows, ("a", "b"), strict=True):
        some = groups == name
        assert row.size.observed == pytest.approx(aalen_johansen(rows.time[some], rows.event[some]))
    time = np.where((groups == "a") & rows.is_lost, 9.0, rows.time)
    given = {"horizon": HORIZON, "groups": groups}
    followed = ct.SurvivalPredictions(rows.probs[:, 1], time, rows.event, **given).by_group()["a"]
    assert (followed.sample_weight == 1).all()  # those that were lost are of the other group
    assert "have weights" not in str(
        ct.test_calibration(followed, test="ks", n_resamples=19, rng=1)
    )


@pytest.mark.parametrize("seed", [13, 34])
def test_few_weights_of_a_group_are_no_difference(seed):
    """Sixty rows of which ten count are compared by redrawn events too: p = 0.08 and 0.04 else."""
    rng, groups = np.random.default_rng(seed), np.arange(120) % 2
    hazard = 0.45 * np.exp(0.8 * rng.normal(size=120))
    first, lost = rng.exponential(1 / hazard), np.where(groups == 0, 9, rng.exponential(0.5, 120))
    given = np.minimum(first, lost), first <= lost
    rows = ct.SurvivalPredictions(-np.expm1(-hazard), *given, horizon=HORIZON, groups=groups)
    table = ct.test_calibration(rows, test="ks", by=True, n_resamples=99, rng=1)
    assert table.difference.pvalue > 0.1
    assert "labels redrawn from one curve" in table.difference.null_text


def test_clusters_have_one_sign():
    """Rows of a cluster that are alike make p-values larger."""
    few = simulated(150, 10, factor=1.3)
    columns = [np.repeat(a, 4) for a in (few.probs[:, 1], few.time, few.event)]
    given = {"horizon": HORIZON, "clusters": np.repeat(np.arange(150), 4)}
    options = {"test": "ks", "n_resamples": 199, "rng": 1}
    fourfold = ct.test_calibration(ct.SurvivalPredictions(*columns, **given), **options)
    assert fourfold.pvalue == pytest.approx(ct.test_calibration(few, **options).pvalue, abs=0.03)
    assert fourfold.parameters["clusters"] == "150 of 4 rows"
    rows = ct.SurvivalPredictions(*columns, **given)
    given["clusters"] = np.arange(150)
    alone = ct.SurvivalPredictions(few.probs[:, 1], few.time, few.event, **given)
    for estimate in (survival.cumulative_incidence, survival.observed_expected_ratio):
        assert list(estimate(rows)) == pytest.approx(list(estimate(alone)))
    once, slope = (survival.calibration_slope(each)[1] for each in (alone, rows))
    assert slope.high - slope.low == pytest.approx(once.high - once.low, rel=0.03)


def test_what_no_event_by_the_horizon_tells():
    """The interval of the risk is that of a share of 0, and no curve can be fitted."""
    early = {"time": [1.0, 2.0, 3.0, 4.0], "event": [0, 0, 0, 1], "horizon": 0.5}
    rows = ct.SurvivalPredictions([0.1, 0.2, 0.3, 0.4], **early)
    found = survival.cumulative_incidence(rows)
    assert list(found) == pytest.approx([0.0, 0.0, 1 - 0.025**0.25])
    with pytest.raises(NotApplicable, match="all rows or none have the event by the horizon"):
        survival.calibration_slope(rows)
    with pytest.raises(NotApplicable, match="Cox model of the risk does not converge"):
        survival.smooth_calibration(rows)
    with pytest.warns(ct.SuspectInputWarning, match="no row has the event"):
        none = ct.SurvivalPredictions(rows.probs[:, 1], rows.time, 0 * rows.event, horizon=4.0)
    with pytest.raises(NotApplicable, match="no event happened"):
        survival.smooth_calibration(none)


def test_smooth_curve_is_of_numbers_or_not_applicable():
    """Splines that tell the rows apart have coefficients without end; no warning but that."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        risk, time, event = rng.random(10), rng.exponential(3.0, 10), rng.integers(0, 2, 10)
        rows = ct.SurvivalPredictions(risk, time, event, horizon=float(np.sort(time)[5]))
        with suppress(NotApplicable):
            assert np.isfinite(survival.smooth_calibration(rows, knots=5).ici)


STEP = {  # the one event by 1 has the largest risk
    "time": [0.25, 1.25, 1.75, 0.5, 1.0, 1.5, 1.25, 1.25],
    "event": [0, 1, 1, 1, 0, 1, 0, 0],
    "risk": [0.5, 0.2, 0.1, 0.8, 0.3, 0.7, 0.7, 0.8],
}


@pytest.mark.parametrize(
    ("function", "change", "match"),
    [
        (survival.calibration_slope, STEP, "does not converge"),
        (survival.observed_expected_ratio, {"risk": np.zeros(300)}, "all predicted risks are 0"),
        (survival.calibration_slope, {"risk": np.full(300, 0.3)}, "too few distinct ones"),
        (survival.cumulative_incidence, {"clusters": np.zeros(300)}, "all rows are of one cluster"),
    ],
)
def test_what_rows_do_not_tell_is_no_estimate(function, change, match):
    """A slope without end, a ratio to 0, the slope of one risk, and one cluster do not tell."""
    rows = simulated(300, 0)
    given = {"risk": rows.probs[:, 1], "time": rows.time, "event": rows.event} | change
    with pytest.raises(NotApplicable, match=match):
        function(ct.SurvivalPredictions(**given, horizon=HORIZON))


def test_observed_risk_of_one_is_no_number_below_it():
    """The last row has the event, so that the weighted sum is 1 but for rounding."""
    rows = {"time": [1, 2, 3, 4, 4.5], "event": [0, 1, 0, 0, 1], "horizon": 5}
    found = survival.cumulative_incidence(ct.SurvivalPredictions([0.3] * 5, **rows))
    assert found.value == found.high == 1.0
    assert found.low < 0.5


def test_weights_count_rows_as_often():
    """A weight of 2 is a second row like it, for the observed risk."""
    rows = simulated(120, 11, ties=True)
    twice = np.arange(120) % 3 == 0
    columns = [np.append(a, a[twice]) for a in (rows.probs[:, 1], rows.time, rows.event)]
    both = ct.SurvivalPredictions(*columns, horizon=HORIZON)
    weighted = simulated(120, 11, ties=True, sample_weight=1.0 + twice)
    observed = ct.survival.cumulative_incidence(weighted).value
    huge = simulated(120, 11, ties=True, sample_weight=8e307 * (1.0 + twice))
    np.testing.assert_allclose(huge.mass, weighted.mass)
    assert observed == pytest.approx(ct.survival.cumulative_incidence(both).value)


def test_slope_is_that_of_estimating_equations():
    """It equals that of statsmodels' GEE on the pseudo-observations."""
    import statsmodels.api as sm

    rows = simulated(200, 12)
    x, n = np.log(-np.log1p(-rows.probs[:, 1])), rows.n
    theta = ct.survival.pseudo_observations(rows)
    family = sm.families.Gaussian(link=sm.families.links.CLogLog(), check_link=False)
    with pytest.warns(match="CLogLog"):
        gee = sm.GEE(theta, sm.add_constant(x), groups=np.arange(n), family=family)
    slope = ct.survival.calibration_slope(rows)[1]
    expected = gee.fit(start_params=[0.0, 1.0])
    assert slope == pytest.approx([expected.params[1], *expected.conf_int()[1]], rel=1e-4)


@pytest.mark.full
def test_smooth_calibration_finds_the_true_curve():
    """Of risks that are a power of the true survival, by both kinds of fit."""
    for competing, far in ((False, 0.05), (True, 0.08)):
        rows = simulated(4000, 13, competing=competing)
        truth = rows.probs[:, 1]
        given = 1 - (1 - truth) ** 1.5
        wrong = ct.SurvivalPredictions(given, rows.time, rows.event, horizon=HORIZON)
        found = ct.survival.smooth_calibration(wrong)
        if not competing:
            assert np.abs(found.observed - truth).max() < far
        assert found.ici == pytest.approx(np.abs(found.observed - given).mean())
        assert found.e50 <= found.e90 <= found.emax


def test_splines_are_those_of_harrell():
    """Cubic between knots, with two derivatives at each, and straight beyond the outer ones."""
    x = np.linspace(0.0, 1.0, 2001)
    for knots in (3, 4, 5):
        basis = estimates._splines(x, knots)
        assert basis.shape == (2001, knots - 1)
        t = np.quantile(x, estimates.KNOTS[knots])
        bend, third = np.diff(basis, 2, axis=0) * 2000**2, np.diff(basis, 3, axis=0) * 2000**3
        outside = (x[:-2] > t[-1]) | (x[2:] < t[0])
        assert np.abs(bend[outside]).max() < 1e-4
        assert np.abs(np.diff(bend, axis=0)).max() < 0.1  # no jump of a second derivative
        first = (x[:-3] > t[0]) & (x[3:] < t[1])
        np.testing.assert_allclose(third[first, 1], 6 / (t[-1] - t[0]) ** 2, rtol=1e-4)
        assert basis[-1, 1] > 0.2


def test_d_calibration_is_the_formula_of_haider():
    """Censored rows are spread over their bin and those below, one by one."""
    rng = np.random.default_rng(14)
    first, lost = rng.random((2, 300))  # the probabilities of surviving longer than both
    s, event = np.maximum(first, lost), first > lost
    s[:2], event[:2] = 1.0, False
    counts = np.zeros(10)
    for value, happened in zip(s, event, strict=True):
        at = min(int(value * 10), 9)
        if happened:
            counts[at] += 1
        else:
            counts[at] += (value - at / 10) / value
            counts[:at] += 0.1 / value
    result = ct.survival.d_calibration(s, event)
    assert counts.sum() == pytest.approx(300)
    assert result.statistic == pytest.approx(np.square(counts - 30).sum() / 30)
    assert ct.survival.d_calibration(s**2, event).pvalue < 1e-6 < result.pvalue


def test_a_calibration_compares_events_with_those_of_rows_at_risk():
    """Intervals with equal expected numbers, one row and one interval at a time."""
    rng = np.random.default_rng(15)
    first, lost = rng.exponential(size=(2, 120))
    time, event = np.minimum(first, lost), first <= lost
    result = ct.survival.a_calibration(np.exp(-time), event, bins=4)
    grid = np.sort(np.append(np.linspace(0, time.max(), 4001), time))
    expected = np.array([np.minimum(time, x).sum() for x in grid])
    ends = [0.0, *np.interp(expected[-1] * np.arange(1, 4) / 4, expected, grid), np.inf]
    seen = [np.sum(event & (time > a) & (time <= b)) for a, b in itertools.pairwise(ends)]
    each = time.sum() / 4
    assert result.statistic == pytest.approx(np.square(np.array(seen) - each).sum() / each)
    assert result.estimate == pytest.approx(event.sum() / time.sum())
    assert ct.survival.a_calibration(np.exp(-2 * time), event).pvalue < 1e-3 < result.pvalue
    assert ct.survival.a_calibration(np.ones(3), [1, 0, 0]).pvalue < 1e-9
    one = ct.survival.a_calibration(np.full(50, np.exp(-1e-4)), np.arange(50) == 0)
    assert one.pvalue == pytest.approx(2 * -np.expm1(-0.005))  # the chance of one event or more
    few = ct.survival.a_calibration(np.full(50, np.exp(-0.12)), np.arange(50) == 0)
    assert few.pvalue == pytest.approx(2 * 7 * np.exp(-6))
    with pytest.warns(ct.SuspectInputWarning, match="survival is 0 in 1 of 2 rows"):
        assert ct.survival.a_calibration([0.0, 0.5], [1, 1]).pvalue < 1e-9


def test_redrawn_events_have_the_risk_that_known_rows_have():
    """Their weighted residuals are 0 on average for each risk; with no row lost they are p."""
    rng = np.random.default_rng(16)
    risk = np.repeat([0.2, 0.6], 500)
    first, lost = rng.exponential(-1 / np.log1p(-risk)), rng.exponential(0.8, 1000)
    for end in (lost, np.full(1000, 9.0)):
        event = (first <= end).astype(int)
        data = ct.SurvivalPredictions(risk, np.minimum(first, end), event, horizon=1.0)
        own = data.sample_weight * (data.labels - risk)
        factors = np.vstack([*data.censoring.redrawn(risk, data.labels == 1, 2000, 0)])
        found = (factors * own).reshape(2000, 2, 500)
        error = found.std() / np.sqrt(found[:, 0].size)
        assert (np.abs(found.mean(axis=(0, 2))) < 5 * error).all()
        none, one = (data.sample_weight[some].mean() for some in (own < 0, own > 0))
        odds = risk / (1 - risk) * none / one
        share = (found > 0).reshape(2000, -1)[:, own != 0].mean(axis=0)
        expected = (odds / (1 + odds))[own != 0]
        assert np.abs(share - expected).max() < 5 / np.sqrt(4 * 2000)
    values = found[:, 0][:, own[:500] != 0]
    assert np.unique(values.round(9)).tolist() == [-0.2, 0.8]


def test_events_of_many_rows_are_redrawn_some_resamples_at_a_time(monkeypatch):
    """No block is larger than what is drawn at a time, and all resamples are there."""
    monkeypatch.setattr(predictions, "AT_A_TIME", 700)
    risk = np.full(200, 0.3)
    data = ct.SurvivalPredictions(risk, np.ones(200), np.arange(200) % 3 == 0, horizon=1.0)
    blocks = [*data.censoring.redrawn(risk, data.labels == 1, 20, 0)]
    assert [len(block) for block in blocks] == [3, 3, 3, 3, 3, 3, 2]


def test_rows_stay_survival_predictions():
    """Copies, lenses, calibrators and rows of known status keep times and weights."""
    rows = simulated(200, 15)
    copy = pickle.loads(pickle.dumps(rows))  # noqa: S301, its own
    np.testing.assert_array_equal(copy.sample_weight, rows.sample_weight)
    np.testing.assert_array_equal(copy.time, rows.time)
    known = rows.subset(~rows.is_lost)
    np.testing.assert_array_equal(known.sample_weight, rows.sample_weight[~rows.is_lost])
    half = ct.test_calibration(lambda probs: 0.5 * probs[:, 1], rows, test="ks", rng=1)
    assert half.null == "cluster"
    both = ct.compare_models({"one": rows, "same": rows}, test="ks", n_resamples=19, rng=1)
    assert f"note: censored: {rows.is_lost.sum()} of 200 rows before the horizon 1" in str(both)
    assert half.size.predicted == pytest.approx(
        0.5 * np.average(rows.probs[:, 1], weights=rows.sample_weight)
    )


GOOD = {"risk": [0.2, 0.4, 0.3], "time": [1.0, 3.0, 2.0], "event": [1, 0, 0], "horizon": 2.5}


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"risk": [0.2, 1.4, 0.3]}, r"risk must lie in \[0, 1\].*1.4 at row 1"),
        ({"risk": [[0.2, 0.8]] * 3}, "risk must have one dimension"),
        ({"time": [1.0, -3.0, 2.0]}, "time must be finite and above 0; got -3 at row 1"),
        ({"time": [0.0, 3.0, 2.0]}, "time must be finite and above 0; got 0 at row 0"),
        ({"time": [1.0, 3.0, np.nan]}, "time must .*row 2"),
        ({"time": [1.0, np.inf, 2.0]}, "time must be finite and above 0; got inf at row 1"),
        (
            {"time": pd.Series([[1, 2]] * 3)},
            r"time must have one entry per row; got shape \(3, 2\)",
        ),
        ({"event": pd.Series([[1, 0]] * 3)}, r"event must have one entry .* got shape \(3, 2\)"),
        ({"time": [1.0, 3.0]}, "time must have one entry per row"),
        ({"event": [1, 0]}, "event must have one entry per row"),
        ({"event": [1, 0.5, 0]}, "event must be 0 where a row is censored.*0.5 at row 1"),
        ({"event": ["dead", "alive", "alive"]}, "event must be 0 .*'dead' at row 0"),
        ({"event": [None, 1, 0]}, "event must be 0 .*None at row 0"),
        ({"time": np.array([1, 3, 2], "m8[ns]")}, r"time must be numbers; got dtype timedelta64"),
        ({"event": [-1, 1, 0]}, "event must be 0 .*-1 at row 0"),
        ({"event": [1e19, 1, 0]}, r"event must be 0 .*1e\+19 at row 0"),
        ({"horizon": 9.0}, "horizon must be at most the last time that was observed, 3; got 9"),
        ({"sample_weight": [1, 0, 1]}, "horizon must be at most .*, 2; got 2.5; beyond it"),
        ({"sample_weight": [0, 0, 1]}, "all rows are censored before"),
        ({"horizon": 0}, "horizon must be a positive number"),
        ({"time": [9.0, 3.0, 2.0], "horizon": 9.5, "event": [0, 1, 0]}, "horizon must be at most"),
    ],
)
def test_bad_rows_are_named(change, match):
    """Each message names the argument, the value and the row."""
    given = GOOD | change
    with pytest.raises(InvalidInput, match=match):
        ct.SurvivalPredictions(given.pop("risk"), given.pop("time"), given.pop("event"), **given)


def test_rows_without_any_event_are_tested():
    """All censored, after the horizon or before: fewer events than predicted, which is told."""
    rng = np.random.default_rng(1)
    time, none = rng.uniform(1.0, 9.0, 200), np.zeros(200)
    with pytest.warns(
        SuspectInputWarning, match="no row has the event, whose code is 1: .* only 0"
    ):
        given = ct.SurvivalPredictions(rng.uniform(0.05, 0.2, 200), time, none, horizon=5)
    assert ct.test_calibration(given, n_resamples=199, rng=1).pvalue < 0.05
    for test in (survival.a_calibration, survival.d_calibration):
        with pytest.warns(SuspectInputWarning, match="no row has the event"):
            assert test(np.full(200, 0.9), none).pvalue < 0.05
    with (
        pytest.warns(SuspectInputWarning),
        pytest.raises(NotApplicable, match="survival is 1 in all rows and no event happened"),
    ):
        survival.a_calibration(np.ones(200), none)


def test_result_without_predictions_names_what_has_them():
    """A test of curves keeps numbers only: to run test_calibration again is no advice."""
    found = survival.d_calibration([0.2, 0.4, 0.9], [1, 0, 1])
    for question in (found.confidence_interval, found.witness, found.plot):
        with pytest.raises(NotApplicable, match="'d-calibration' holds numbers only; ask a result"):
            question()


def test_messages_name_what_the_caller_passed():
    """Curves have no probs and no logits; estimates are of rows that are censored."""
    for test in (survival.a_calibration, survival.d_calibration):
        with pytest.raises(InvalidInput, match=r"survival .*got 1.4 at row 1; (?!.*logits)"):
            test([0.2, 1.4], [1, 0])
        with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1; got 5"):
            test([0.2, 0.4], [1, 0], level=5)
        few = "Poisson with mean 2.526", "0.2 are expected in each bin"
        assert few[test is survival.d_calibration] in str(test([0.2, 0.4], [1, 0]))
        uniform = (np.arange(50) + 0.5) / 50  # 5 in each of ten bins are enough, and 4.9 are few
        assert "are expected" not in str(test(uniform, np.ones(50)))
        with pytest.raises(InvalidInput, match=r"event must have one entry per row; got 1 for 2"):
            test([0.2, 0.4], [1])
        with pytest.raises(InvalidInput, match="survival must have one dimension"):
            test([[0.2, 0.4]] * 2, [1, 0])
    assert "4.9 are expected in each bin" in str(survival.d_calibration(uniform[1:], np.ones(49)))
    for estimate in (survival.cumulative_incidence, survival.calibration_slope):
        with pytest.raises(InvalidInput, match="survival must be a SurvivalPredictions"):
            estimate(ct.Predictions([0.2, 0.4], [1, 0]))


def test_likely_mistakes_are_told():
    """Codes of R, 1 for censored rows, and columns of one table in two orders."""
    with pytest.warns(ct.SuspectInputWarning, match="event has no 0"):
        ct.SurvivalPredictions(**GOOD | {"event": [2, 1, 1]})
    risk, time = (pd.Series(GOOD[name]) for name in ("risk", "time"))
    with pytest.warns(ct.SuspectInputWarning, match="risk and time have the same index"):
        ct.SurvivalPredictions(risk[::-1], time, [1, 0, 0], horizon=2.5)


def test_calls_that_redraw_labels_say_so():
    """A label of a censored row is not known, so that none is redrawn."""
    rows = simulated(100, 16, groups=np.repeat(["a", "b"], 50))
    with pytest.raises(NotApplicable, match="null 'exact' does not know which rows are censored"):
        ct.test_calibration(rows, null="exact")
    for test in ("hosmer-lemeshow", "ici", "calibration-belt"):
        with pytest.raises(NotApplicable, match="takes no censored rows; use"):
            ct.test_calibration(rows, test=test)
    with pytest.raises(NotApplicable, match="a tolerance takes no censored rows; leave out tol"):
        ct.test_calibration(rows, test="ks", tolerance=0.1)
    with pytest.raises(NotApplicable, match="a monitor takes no censored rows"):
        ct.Monitor().update(rows)
    with pytest.raises(NotApplicable, match="segments redraw labels"):
        ct.test_calibration(rows, segments={"a": rows.groups == "a"})
    with pytest.raises(NotApplicable, match="simulate times"):
        rows.simulate(1)
    early = np.where(rows.groups == "a", np.minimum(rows.time, 0.5), rows.time)
    event = np.where(early < rows.time, 0, rows.event)
    short = ct.SurvivalPredictions(
        rows.probs[:, 1], early, event, horizon=HORIZON, groups=rows.groups
    )
    with pytest.raises(InvalidInput, match=r"in group 'a', 0\.5"):
        ct.test_calibration(short, by=True)


def test_diagram_counts_the_rows_of_which_it_is_known_what_happened():
    """A row that was lost is no row without the event."""
    rows = simulated(100, 16)
    event = int(rows.labels.sum())
    none = rows.n - event - int(rows.is_lost.sum())
    ax = ct.plots.reliability_diagram(rows)
    texts = [text.get_text() for text in ax.figure.findobj(lambda one: hasattr(one, "get_text"))]
    assert f"no event by 1: {none} rows" in texts
    assert f"event by 1: {event} rows" in texts
