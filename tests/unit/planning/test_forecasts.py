"""Studies of forecasts of numbers, planned by simulation."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge

import caltest as ct
from caltest.forecasts.container import moved
from caltest.planning.truths import ForecastDistribution, truth_of_errors

KS = {"test": "pit-ks", "n_datasets": 200, "rng": 1}


def forecasts(n=80, **columns):
    x = np.random.default_rng(0).normal(size=n)
    return ct.Forecasts(x, mean=x, scale=0.5, **columns)


def test_outcomes_of_gaussians_have_the_stated_errors():
    """Drawn by themselves: standardised errors are normal with this mean and deviation."""
    planned = ForecastDistribution(forecasts())
    drawn = planned.sample(np.random.default_rng(1), 20_000, truth_of_errors(1.3, -0.4))
    z = (drawn.outcomes - drawn.mean) / drawn.scale
    assert [z.mean(), z.std()] == pytest.approx([-0.4, 1.3], abs=0.03)


def test_power_is_that_of_data_sets_simulated_by_hand():
    rows, rng = forecasts(), np.random.default_rng(5)
    found = ct.power(rows, n=40, shift=0.5, **KS)
    rejected = 0
    for _ in range(200):
        mean = rng.choice(rows.mean, 40)
        own = ct.Forecasts(mean + 0.5 * (0.5 + rng.normal(size=40)), mean=mean, scale=0.5)
        rejected += ct.test_calibration(own, test="pit-ks", n_resamples=199, rng=rng).pvalue <= 0.05
    assert found.power[0] == pytest.approx(rejected / 200, abs=0.14)


@pytest.mark.parametrize("kind", ["members", "steps", "normal"])
def test_without_a_truth_it_is_the_size(kind):
    rng = np.random.default_rng(0)
    kinds = {
        "members": lambda: ct.Forecasts(rng.normal(size=60), members=rng.normal(size=(60, 8))),
        "steps": lambda: ct.Forecasts(rng.poisson(1, 60), distribution=stats.poisson(np.ones(60))),
        "normal": forecasts,
    }
    found = ct.power(kinds[kind](), n=30, **KS)
    assert found.setting.kind == "size"
    assert found.rows[0].rejections <= stats.binom.isf(1e-4, 200, 0.05)


def test_truth_is_told_in_words_and_as_coverage():
    found = ct.power(forecasts(), n=20, spread=1.25, shift=-0.2, **KS)
    text = " ".join(str(found).split())
    assert "scatter 1.25 times as widely as predicted, -0.2 off" in text
    inside = stats.norm(-0.2, 1.25).cdf([-1.645, 1.645])
    assert found.setting.effect.true == pytest.approx(np.diff(inside)[0], abs=0.01)
    assert "m = " not in text
    assert ct.planning.Power.from_dict(found.to_dict()).power == found.power


def test_intervals_of_counts_hold_what_whole_numbers_do():
    """More than 90 %, as that of a Poisson number of mean 1 from 0 to 3, calibrated or not."""
    counts = ct.Forecasts(np.ones(40), distribution=stats.poisson(np.ones(40)))
    found = ct.power(counts, n=20, spread=1.5, **KS)
    moved_to = stats.norm(0.0, 1.5).cdf(stats.norm.ppf(stats.poisson(1).cdf(3)))
    assert found.setting.effect.true == pytest.approx(moved_to, abs=0.01)
    assert f"intervals of 98.1 %:  hold {100 * found.setting.effect.true:.1f} %" in str(found)


def test_function_states_any_truth():
    """Of normal numbers and forecasts to normal numbers; here the same as spread=."""
    asked = {"n": 30, **KS}
    by_function = ct.power(forecasts(), truth=lambda z, _rows: 1.5 * z, **asked)
    assert by_function.power == ct.power(forecasts(), spread=1.5, **asked).power


@pytest.mark.full
def test_sample_size_reaches_the_power():
    x = np.random.default_rng(0).normal(size=60)
    model = BayesianRidge().fit(x[:, None], x + np.random.default_rng(1).normal(size=60))
    found = ct.sample_size(model, x[:, None], x, spread=1.4, **KS)
    assert found.power.power[0] == pytest.approx(0.8, abs=0.1)


def test_moved_numbers_stay_inside():
    u = moved(np.array([-30.0, 0.0, 30.0]), 2.0, 0.0)
    assert 0 < u[0] < u[1] == 0.5 < u[2] < 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 2.0}, "temperature has no effect on forecasts"),
        ({"spread": -1.0}, "spread must be"),
        ({"spread": 2.0, "truth": np.add}, "where truth is given"),
        ({"truth": 3}, "truth must be a function of normal numbers"),
        (
            {"truth": lambda z, _rows: z[:2]},
            "true normal numbers must have one number for each row",
        ),
    ],
)
def test_what_is_no_truth_of_forecasts_is_refused(options, message):
    with pytest.raises(ct.InvalidInput, match=message):
        ct.power(forecasts(), n=20, **options)


def test_errors_of_forecasts_are_none_of_classes():
    with pytest.raises(ct.InvalidInput, match="shift has no effect on predictions of classes"):
        ct.power(stats.beta(2, 5), n=20, shift=0.1)
