"""Forecasts of numbers that are watched."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

import caltest as ct
from caltest.cli.app import app
from caltest.monitoring import numbers


def forecasts(n, seed=0, factor=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    return ct.Forecasts(mean + shift + factor * rng.normal(size=n), mean=mean, scale=1.0)


def poisson(n, seed=0):
    law = stats.poisson(np.full(n, 0.7))
    return ct.Forecasts(law.rvs(n, random_state=np.random.default_rng(seed)), distribution=law)


def test_e_value_is_the_average_of_products_of_likelihood_ratios():
    """Written out with densities of scipy, row by row."""
    rows = forecasts(150, factor=1.2)
    watch = ct.monitor().update(rows)
    z = rows.outcomes - rows.mean
    logs = {part: np.zeros(size) for part, size in zip(numbers.PARTS, numbers.SIZES, strict=True)}
    counts = np.zeros(numbers.BINS)
    for t in range(rows.n):
        past = rows.mean[: t + 1]
        place = np.clip((rows.mean[t] - past.mean()) / past.std(), -2, 2) if t else 0.0
        for part, (location, scale, along) in numbers.GRIDS.items():
            law = stats.norm(location + along * place, scale)
            logs[part] += law.logpdf(z[t]) - stats.norm.logpdf(z[t])
        u = stats.norm.cdf(z[t])
        k = int(numbers.BINS * u)
        share = (counts[k] + 1) / (t + numbers.BINS) * numbers.BINS
        heavy = 0.9 + 0.1 / (2 * math.sqrt(2 * min(u, 1 - u)))
        logs["shape"] += np.log([heavy, 0.001 + 0.999 * share])
        counts[k] += 1
    parts = {part: np.exp(own).mean() for part, own in logs.items()}
    assert watch.evalue == pytest.approx(np.mean(list(parts.values())), rel=1e-9)
    assert np.exp(watch.log_parts["slope"]) == pytest.approx(parts["slope"], rel=1e-9)


def test_each_bet_is_fair():
    """Its mean over a uniform number is 1, whatever was learned."""
    u = (np.arange(200_000) + 0.5) / 200_000
    columns = np.column_stack([u, u, stats.norm.ppf(u), u, np.full(u.size, 3.0)])
    total, counts = np.zeros(sum(numbers.SIZES)), np.arange(10.0)
    for i in range(0, u.size, 100):
        wins = np.zeros(total.size)
        learned = [np.array([5.0, 1.0, 4.0]), counts.copy()]
        numbers.bet_on_number(columns, i + 50, numbers.GRID, *learned, 1.0, wins)
        total += wins
    moderate = np.append(numbers.GRID[1] < 1.5, [True, True])  # wins of others are far in the tails
    assert (total / 2000)[moderate] == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("make", [forecasts, poisson])
def test_batches_and_json_do_not_matter(restart, make):
    """Rows one by one, and a state in between, lead to the same e-value."""
    rows = make(130)
    whole = ct.monitor(restart=restart).update(rows)
    parts = ct.monitor(restart=restart)
    for t in range(rows.n):
        parts = ct.Monitor.from_json(parts.update(rows.subset([t])).to_json())
    assert parts.log_evalue == pytest.approx(whole.log_evalue, abs=1e-9)
    assert parts.classes == ()


@pytest.mark.full
@pytest.mark.parametrize("make", [forecasts, poisson])
def test_false_alarms_are_rare(make):
    """Some 300 streams, with the level 20 %."""
    alarms = sum(ct.monitor(level=0.2).update(make(200, seed)).alarm() for seed in range(300))
    assert alarms <= stats.binom.isf(1e-3, 300, 0.2)


@pytest.mark.full
def test_rows_one_by_one_have_uniform_numbers_where_the_law_has_steps():
    rows = poisson(1000)
    u = [numbers.rows_of(rows.subset([t]), t)[0][0, 3] for t in range(rows.n)]
    assert stats.kstest(u, "uniform").pvalue > 0.01


def test_coverage_of_tied_ensembles_is_that_of_a_verdict():
    """Of an outcome that equals members it is how much of its ranks is inside."""
    values = np.maximum(0, np.random.default_rng(3).normal(size=(200, 21))).round(1)
    rows = ct.Forecasts(values[:, 0], members=values[:, 1:])
    low, high = (
        (values[:, 1:] < values[:, :1]).sum(1),
        (values[:, 1:] <= values[:, :1]).sum(1) + 1,
    )
    inside = np.maximum(np.minimum(high, 20) - np.maximum(low, 1), 0) / (high - low)
    monitor = ct.monitor()
    monitor.update(rows)
    tested = ct.test_calibration(rows, test="ks", lens="interval[0.9]", n_resamples=19, rng=1)
    for size in (monitor.size(), tested.size):
        assert size.observed == pytest.approx(inside.mean())


@pytest.mark.parametrize(
    ("changed", "part", "words"),
    [
        ({"factor": 1.4}, "spread", "too sure: outcomes scatter 1.4 times as widely"),
        ({"shift": 0.5}, "location", "too low by 0.49 of their standard deviations"),
        ({"factor": 1.7, "shift": 1.0}, "location-and-spread", "deviations; too sure"),
    ],
)
def test_alarm_says_what_is_wrong(changed, part, words):
    watch = ct.monitor().update(forecasts(600, **changed))
    assert watch.alarm()
    told = [name for name, *_ in watch.findings()]
    assert told[0] == part
    assert ("location-and-spread" in told) == (part == "location-and-spread")
    assert words in " ".join(str(watch).split())
    assert watch.size().kind == "interval"
    low, high = watch.confidence_sequence()
    assert low < watch.size().gap < high


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (stats.t(1.5, scale=0.8), "heavier tails: more outcomes are far out than predicted"),
        (stats.uniform(-1.7, 3.4), "another shape: 13.4 % of the outcomes so far are between"),
    ],
)
def test_shape_that_was_bet_on_is_told(errors, words):
    z = errors.rvs(3000, random_state=np.random.default_rng(1))
    found = ct.monitor().update(ct.Forecasts(z, mean=0.0, scale=1.0)).findings()
    assert words in {part: text for part, *_, text in found}["shape"]


def test_outcomes_that_rise_less_steeply_are_found():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=800)
    watch = ct.monitor().update(ct.Forecasts(0.7 * mean + rng.normal(size=800), mean=mean, scale=1))
    assert watch.findings()[0][3] == "outcomes rise less steeply than forecasts"


def test_outcome_outside_of_the_support_is_an_alarm():
    """One far in a tail is not, though its distribution function is 1 in floating point."""
    with pytest.warns(ct.SuspectInputWarning, match="first in row 1"):
        uniform = ct.Forecasts([0.5, 1.5], distribution=stats.uniform(np.zeros(2), 1.0))
    assert ct.monitor().update(uniform).impossible_row == 1
    far = ct.Forecasts([0.0, 9.0], mean=0.0, scale=1.0)
    assert ct.monitor().update(far).impossible_row is None
    assert not far.has_impossible


def test_groups_of_forecasts_are_watched():
    rows = forecasts(800, factor=1.0)
    groups = np.repeat(["a", "b"], 400)
    outcomes = np.where(groups == "b", rows.mean + 1.6 * (rows.outcomes - rows.mean), rows.outcomes)
    rows = ct.Forecasts(outcomes, mean=rows.mean, scale=1.0, groups=groups)
    found = ct.monitor(groups=["a", "b"]).update(rows).group_evalues
    assert found["b"] > 100 > found["a"]


def test_what_has_no_meaning_is_refused():
    watch = ct.monitor().update(forecasts(50))
    with pytest.raises(ct.InvalidInput, match="got 2 columns; pass rows of forecasts"):
        watch.update([[0.5, 0.5]], [1])
    with pytest.raises(ct.InvalidInput, match="counted once; got the same rows"):
        watch.update(forecasts(50))
    with pytest.raises(ct.NotApplicable, match="forecasts of numbers have no mean"):
        watch.confidence_sequence("mean")
    with pytest.raises(ct.InvalidInput, match="got forecasts of numbers"):
        ct.monitor(classes=["no", "yes"]).update(forecasts(5))


def test_command_line_watches_forecasts(tmp_path):
    rows = forecasts(300, factor=1.5)
    table = pl.DataFrame({"y": rows.outcomes, "mu": rows.mean, "sd": np.ones(300)})
    files = tmp_path / "state.json", tmp_path / "day.csv"
    table.write_csv(files[1])
    asked = ["monitor", *map(str, files), "--label", "y", "--mean", "mu", "--scale", "sd"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert "Alarm after" in result.output
    assert ct.Monitor.from_json(files[0].read_text()).n == 300
