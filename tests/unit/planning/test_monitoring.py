"""`plan_monitoring`: levels from a budget of false alarms, delays of drifts, bad input."""

import json

import numpy as np
import pytest
from scipy.stats import beta

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.monitoring import MonitoringPlan

RISKS = beta(2, 5)


@pytest.mark.full
def test_levels_share_the_budget():
    """Two alarms a year of four models, half of them by monitors and half by two checks a day."""
    plan = ct.plan_monitoring(
        RISKS,
        rows_per_day=500,
        false_alarms_per_year=2,
        models=4,
        checks_per_day=2,
        temperature=3,
        n_streams=2,
        rng=1,
    )
    assert 4 * 365.25 * (500 * plan.monitor_level + 2 * plan.check_level) == pytest.approx(2.0)
    assert plan.monitor_level * 500 == pytest.approx(plan.check_level * 2)
    alone = ct.plan_monitoring(RISKS, rows_per_day=500, temperature=3, n_streams=2, rng=1)
    assert alone.check_level is None
    assert alone.monitor_level * 500 * 365.25 == pytest.approx(1.0)


@pytest.mark.full
def test_larger_drifts_are_found_sooner():
    """Of each kind; the delays are those of a monitor that is fed the same streams."""
    plan = ct.plan_monitoring(
        RISKS, rows_per_day=100, temperature=[1.5, 3], intercept=[0.5, 1.5], n_streams=10, rng=1
    )
    assert [row.drift.partition(",")[0] for row in plan] == [
        "softmax(log p / T)",
        "softmax(log p / T)",
        "log odds a + b logit(p)",
        "log odds a + b logit(p)",
    ]
    assert plan[0].rows > plan[1].rows > 0
    assert plan[2].rows > plan[3].rows > 0
    assert all(row.rows <= row.rows_90 and row.days == row.rows / 100 for row in plan)


def test_a_delay_is_that_of_a_monitor():
    """5000 calibrated rows, then a temperature of 2: the same alarm as one update with all rows."""
    plan = ct.plan_monitoring(RISKS, rows_per_day=100, temperature=2, n_streams=2, rng=3)
    delays = []
    for stream in range(2):
        rng = np.random.default_rng([3, 0, stream])
        probs, labels = [], []
        for step in range(20):
            p = RISKS.rvs(500, random_state=rng)
            odds = np.log(p / (1 - p)) / (1.0 if step < 10 else 2.0)
            labels.append((rng.random(500) > 1 / (1 + np.exp(odds))).astype(int))
            probs.append(p)
        watch = ct.monitor(restart=True, level=plan.monitor_level)
        delays.append(watch.update(np.concatenate(probs), np.concatenate(labels)).alarm_after)
    assert sorted(delays)[1] - 5000 == plan[0].rows


def test_a_false_alarm_before_the_change_finds_nothing():
    """At a row a day there are several before it; another monitor begins, and sees a change."""
    plan = ct.plan_monitoring(RISKS, rows_per_day=1, temperature=[1.2, 5], n_streams=10, rng=1)
    assert plan[0].rows > plan[1].rows > 0
    with pytest.raises(InvalidInput, match=r"budget .* to 0\.5"):
        ct.plan_monitoring(RISKS, rows_per_day=1, false_alarms_per_year=300)


def test_plan_goes_through_json():
    pool = np.random.default_rng(1).dirichlet(np.ones(3), 50)
    plan = ct.plan_monitoring(pool, rows_per_day=0.5, temperature=2, n_streams=2, rng=1)
    assert "0.5 a day" in str(plan)
    values = json.loads(plan.to_json())
    assert MonitoringPlan.from_dict(values) == plan
    values["rows"][0]["rows_90"] = values["rows"][0]["days_90"] = "inf"
    text = str(MonitoringPlan.from_dict(values))
    assert "more" in text
    assert "Plan of monitoring" in text


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"rows_per_day": 0}, "rows_per_day"),
        ({"rows_per_day": 10, "models": 0}, "models"),
        ({"rows_per_day": 10, "checks_per_day": -1}, "checks_per_day"),
        ({"rows_per_day": 10, "false_alarms_per_year": 1e9}, "budget of false alarms"),
        ({"rows_per_day": 10, "temperature": 0}, "temperature"),
        ({"rows_per_day": 10, "slope": ["a"]}, "slope"),
        ({"rows_per_day": 10, "slope": []}, "slope must name at least one"),
        ({"rows_per_day": 10, "truth": np.sqrt}, "truth has no effect on drifts"),
        ({"rows_per_day": 10, "n_streams": 1}, "n_streams"),
    ],
)
def test_bad_input_is_an_error(options, rule):
    with pytest.raises(InvalidInput, match=rule):
        ct.plan_monitoring(RISKS, **options)


def test_levels_are_those_of_who_raises_alarms(tmp_path):
    """The monitor of a plan has its level; the plan goes through a file."""
    plan = ct.plan_monitoring(
        RISKS, rows_per_day=500, checks_per_day=1, temperature=3, n_streams=2, rng=1
    )
    watch = plan.monitor(groups=["a", "b"], memory=100)
    assert (watch.level, watch.restart) == (plan.monitor_level, True)
    assert (watch.groups, watch.memory) == (("a", "b"), 100)
    assert plan.level_of_checks() == plan.check_level
    (tmp_path / "plan.json").write_text(plan.to_json())
    assert MonitoringPlan.read(tmp_path / "plan.json") == plan
    with pytest.raises(InvalidInput, match="plan must be a file"):
        MonitoringPlan.read(tmp_path / "none.json")
    without = ct.plan_monitoring(RISKS, rows_per_day=500, temperature=3, n_streams=2, rng=1)
    with pytest.raises(NotApplicable, match="checks_per_day"):
        without.level_of_checks()
