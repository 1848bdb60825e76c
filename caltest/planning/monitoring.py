"""`plan_monitoring`: levels for a rate of false alarms, and how soon which drift is found."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.monitoring import DriftDelay, Monitor, MonitoringPlan
from caltest.planning import truths
from caltest.predictions import ModelData, options

DAYS = 365.25
STEP = 500  # rows between looks; the alarm knows its row
MOST_BEFORE, MOST_AFTER = 5000, 50_000
LEAST_LEVEL = 1e-12


def plan_monitoring(
    model: object,
    data: object = None,
    *,
    rows_per_day: float,
    false_alarms_per_year: float = 1.0,
    models: int = 1,
    checks_per_day: float = 0.0,
    n_streams: int = 50,
    rng: object = None,
    **study: Unpack[options.PlannedData],
) -> MonitoringPlan:
    """Plan how models are watched: levels for a rate of false alarms, and delays until an alarm.

    The budget of false alarms is shared equally by all models, and by the monitor and the checks
    of each where there are both. Streams of predictions are drawn that are calibrated for a while
    and wrong after it; a monitor with `restart=True` watches them at its level.

    Parameters
    ----------
    model, data : object
        Where the predictions come from, as for `caltest.power`.
    rows_per_day : float
        Rows of each model.
    false_alarms_per_year : float
        Of all together, on average.
    models : int
        Number of models.
    checks_per_day : float
        Tests of a fixed number of rows that each model has a day, by pytest or a job.
    n_streams : int
        Streams for each drift.
    rng : optional
        Seed of the simulation.
    **study
        Drifts, a number or several: `temperature`, `slope`, `intercept`, `ratio`, `noise`, and of
        forecasts of numbers `spread` and `shift`, as the truth of `caltest.power`; by default
        temperatures, or spreads, of 1.1, 1.2, 1.5 and 2. Data options, `label`, `features`,
        `probs`, `sample_weight`, `classes`, `ordinal`, `from_logits` and `renormalize`, as for
        `caltest.power`.

    Returns
    -------
    MonitoringPlan
        Its print has the levels and the delays.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.

    References
    ----------
    Shin, Ramdas, Rinaldo (2023), E-detectors: a nonparametric framework for sequential change
    detection, New England Journal of Statistics in Data Science 2.

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy.stats import beta
    >>> plan = ct.plan_monitoring(
    ...     beta(2, 5), rows_per_day=1000, temperature=[1.5, 3], n_streams=10, rng=1
    ... )
    >>> f"{plan.monitor_level:.1e}", plan.rows[1].rows < plan.rows[0].rows
    ('2.7e-06', True)
    """
    options.check_names(study, options.PlannedData, plan_monitoring)
    columns, stated, _ = options.parted(study, options.WeightedOptions, options.Truth)
    checks.check_unused("on drifts, which are numbers", truth=stated.pop("truth", None))
    per_day = checks.check_positive(rows_per_day, "rows_per_day")
    alarms = checks.check_positive(false_alarms_per_year, "false_alarms_per_year")
    count = checks.check_integer(models, "models", 1)
    daily = checks.check_finite(checks_per_day, "checks_per_day")
    if daily < 0:
        raise invalid("checks_per_day must not be negative", shown(daily), "pass 0 for none")
    streams = checks.check_integer(n_streams, "n_streams", 2)
    seed = checks.check_seed(rng)
    given = ModelData(model, data, **columns)
    distribution = truths.forecasts_of(given) or truths.as_distribution(given)
    share = alarms / (count * DAYS * (2.0 if daily else 1.0))
    level = _check_budget(share / per_day)
    rows = []
    named = {name: values for name, values in stated.items() if values is not None}
    drifts = []
    for name, values in (named or distribution.drifts).items():
        some = np.atleast_1d(checks.as_numbers(values, name)).tolist()
        drifts += [distribution.truth_of(**{name: x}) for x in checks.check_not_empty(some, name)]
    for place, truth in enumerate(drifts):
        each = (np.random.default_rng([seed, place, stream]) for stream in range(streams))
        after = [_delay(distribution, truth, level, generator) for generator in each]
        middle, most = (float(np.quantile(after, q, method="higher")) for q in (0.5, 0.9))
        error = distribution.effect(truth, np.random.default_rng(seed)).error
        days = {"days": middle / per_day, "days_90": most / per_day}
        drift = truth.text.removesuffix(" as predicted")  # that it fits into a column
        rows.append(DriftDelay(drift=drift, error=error, rows=middle, rows_90=most, **days))
    return MonitoringPlan(
        library=distribution.template.library,
        rows=tuple(rows),
        false_alarms_per_year=alarms,
        monitor_level=level,
        check_level=_check_budget(share / daily) if daily else None,
        rows_per_day=per_day,
        checks_per_day=daily,
        models=count,
        predictions=distribution.name,
        n_streams=streams,
        seed=seed,
    )


def _delay(
    distribution: truths.PredictionDistribution | truths.ForecastDistribution,
    truth: truths.LabelDistribution,
    level: float,
    rng: np.random.Generator,
) -> float:
    """Return the rows from the change to the alarm of one stream, infinite if there was none.

    After a false alarm before the change another monitor is begun.
    """
    watch, calibrated = Monitor(restart=True, level=level), distribution.truth_of()
    for done in range(-MOST_BEFORE, MOST_AFTER, STEP):
        if done <= 0 and watch.alarm():
            watch = Monitor(restart=True, level=level)
        before = watch.n
        watch.update(distribution.sample(rng, STEP, truth if done >= 0 else calibrated))
        if done >= 0 and watch.alarm_after is not None:
            return float(done + watch.alarm_after - before)
    return float("inf")


def _check_budget(level: float) -> float:
    if not LEAST_LEVEL <= level <= 0.5:
        rule = f"the budget of false alarms must give a level from {LEAST_LEVEL:g} to 0.5"
        raise invalid(rule, f"{level:.3g}", "allow more or fewer false alarms a year")
    return level
