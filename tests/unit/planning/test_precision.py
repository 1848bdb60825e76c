"""Rows for confidence intervals of given widths."""

import json
import math

import numpy as np
import pytest
from scipy.stats import beta, gamma, norm, poisson, t

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest.planning import PrecisionSize
from caltest.planning.truths import ForecastDistribution, truth_of_errors

PROBS = np.linspace(0.05, 0.6, 23)
PLANNED = ct.sample_size_for_precision(PROBS, intercept_width=0.3)


def ns(result):
    return {row.measure: row.n for row in result.rows}


def test_width_of_the_ratio_is_that_of_the_interval_of_caltest():
    """`expected_observed_interval` on n rows with the planned rate is as wide as planned."""
    n = ns(PLANNED)["E/O"]
    p = np.full(n, PROBS.mean())
    labels = np.arange(n) < round(n * PROBS.mean())
    found = ct.measures.expected_observed_interval(p, labels, method="log")
    assert found.high - found.low == pytest.approx(0.2, rel=0.01)


def test_rows_for_all_are_the_largest():
    """And the events are those of that many rows."""
    assert PLANNED.n == max(ns(PLANNED).values())
    assert PLANNED.events == round(PLANNED.n * PROBS.mean())


def test_rows_follow_the_truth():
    """Values are those of the truth; noise leaves a slope below 1."""
    result = ct.sample_size_for_precision(PROBS, slope=0.8, intercept=0.1)
    values = {row.measure: row.value for row in result.rows}
    assert values["calibration slope"] == pytest.approx(0.8)
    result = ct.sample_size_for_precision(PROBS, ratio=1.25, slope_width=None)
    assert result.rows[0].value == pytest.approx(1.25)


def test_narrower_intervals_need_rows_by_the_square():
    """Half the width of a slope, four times the rows."""
    wide, narrow = (
        ct.sample_size_for_precision(PROBS, ratio_width=None, slope_width=width).n
        for width in (0.4, 0.2)
    )
    assert narrow == pytest.approx(4 * wide, abs=4)


def test_weights_of_predictions_count():
    """A row of weight 2 stands for two rows."""
    data = ct.Predictions(PROBS, np.arange(23) % 2, sample_weight=np.arange(1, 24))
    repeated = ct.sample_size_for_precision(np.repeat(PROBS, np.arange(1, 24)))
    assert ns(ct.sample_size_for_precision(data)) == ns(repeated)


def test_frame_and_csv_have_the_rows_of_each_measure():
    assert PLANNED.to_frame()["n"].to_list() == list(ns(PLANNED).values())
    assert PLANNED.to_csv().startswith("measure,value,width,standard_error,n\n")


def test_seed_repeats_the_draws():
    """Of a distribution; rows that are there are all taken."""
    first, again = (ct.sample_size_for_precision(beta(2, 5), rng=1) for _ in range(2))
    assert first == again
    assert first.predictions == "Beta(2, 5)"
    assert PLANNED.predictions == "arrays, 23 rows"


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ([[0.2, 0.3, 0.5]], {}, "the width of an interval is about the event of two classes"),
        ([0.2, 1.0], {}, r"need risks between 0 and 1, and row 1 has 1; clip the risks"),
        ([0.2, 0.2], {}, "the recalibration has no finite limit"),
        ([0.2, 0.4], {"truth": lambda p: 0 * p + [1, 0]}, "event rate between 0 and 1; got 0;"),
        ([0.2, 0.4], {"truth": lambda p: 0 * p + [0, 1]}, "event rate between 0 and 1; got 1;"),
    ],
)
def test_what_has_no_meaning_is_refused(model, options, message):
    with pytest.raises(NotApplicable, match=message):
        ct.sample_size_for_precision(model, **options)


# ---- forecasts of numbers -----------------------------------------------------------------------

MEANS = np.linspace(0.0, 3.0, 40)
SHAPES = np.full(40, 2.0)
GAUSSIAN = ct.Forecasts(MEANS, mean=MEANS, scale=0.5)
COUNTED = poisson(4.0).cdf(8) - poisson(4.0).cdf(0)  # from the quantile of 5 % to that of 95 %
KINDS = {  # with the kurtosis and the coverage
    "Gaussian": (GAUSSIAN, 3.0, 0.9),
    "gamma": (ct.Forecasts(MEANS, distribution=gamma(SHAPES)), 3.0 + 6.0 / 2.0, 0.9),
    "t": (ct.Forecasts(MEANS, distribution=t(6.0, loc=MEANS)), 3.0 + 6.0 / 2.0, 0.9),
    "Poisson": (ct.Forecasts(SHAPES, distribution=poisson(2 * SHAPES)), 3.0 + 1.0 / 4.0, COUNTED),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_for_forecasts_are_those_of_their_formulas(kind):
    """Coverage, bias and the log of the ratio of spreads, by the moments in closed form."""
    forecasts, kurtosis, coverage = KINDS[kind]
    planned = ct.sample_size_for_precision(forecasts, rng=1)
    z = norm.isf(0.025)
    variances = coverage * (1 - coverage), 1.0, (kurtosis - 1) / 4
    errors = 0.05 / z, 0.1 / z, math.asinh(0.1) / z
    for row, variance, error in zip(planned, variances, errors, strict=True):
        assert row.standard_error == pytest.approx(error, rel=1e-4)
        assert row.n == pytest.approx(variance / error**2, rel=3e-3, abs=1.0)
    assert [row.value for row in planned] == pytest.approx([coverage, 0.0, 1.0], abs=1e-3)
    assert planned.rows[0].measure == f"coverage of {100 * coverage:.3g} % intervals"
    assert (planned.events, planned.event_rate) == (None, None)
    assert PrecisionSize.from_dict(json.loads(planned.to_json())) == planned


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", ["Gaussian", "gamma", "ensemble"])
def test_errors_of_forecasts_vary_as_planned(kind):
    """In simulated studies of the planned size, of forecasts that are off."""
    rng = np.random.default_rng(1)
    ensemble = ct.Forecasts(MEANS, members=rng.normal(size=(40, 9)))
    forecasts = ensemble if kind == "ensemble" else KINDS[kind][0]
    truth = {"spread": 1.2, "shift": 0.2}
    planned = ct.sample_size_for_precision(forecasts, rng=1, **truth)
    drawn, true = ForecastDistribution(forecasts), truth_of_errors(**truth)

    def study(n):
        rows = drawn.sample(rng, n, true)
        law = rows.law.drawn_from(rows.outcomes)
        z = (rows.outcomes - law.mean) / law.sd
        return ct.lenses.Interval(0.9)(rows).labels.mean(), z.mean(), np.log(z.std())

    for k, row in enumerate(planned):
        values = [study(row.n)[k] for _ in range(300)]
        expected = math.log(row.value) if k == 2 else row.value
        bias = 1.0 / row.n  # of the log of a standard deviation
        assert np.mean(values) == pytest.approx(expected, abs=5 * row.standard_error / 17 + bias)
        assert np.std(values) == pytest.approx(row.standard_error, rel=0.15)


def test_quantiles_have_a_coverage_alone():
    """They say nothing of means and standard deviations."""
    quantiles = ct.Forecasts(
        MEANS, quantiles=np.tile([-1.0, 0, 1], (40, 1)), levels=[0.05, 0.5, 0.95]
    )
    with pytest.raises(NotApplicable, match="finite standard deviations above 0; ask for coverage"):
        ct.sample_size_for_precision(quantiles)
    (row,) = ct.sample_size_for_precision(quantiles, bias_width=None, spread_width=None)
    assert (row.measure, row.n) == ("coverage of 90 % intervals", 139)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (PROBS, {"ratio_width": 0}, "ratio_width must be a positive number"),
        (PROBS, {"ratio_width": None, "slope_width": None}, "one of ratio_width, slope_width"),
        (PROBS, {"confidence": 1}, "must lie strictly between 0 and 1; got 1; pass 0.95 for 95 %"),
        (PROBS, {"temperature": 2, "noise": 0.1}, "got temperature and noise"),
        (GAUSSIAN, {"ratio_width": 0.3}, "ratio_width has no effect on forecasts; got 0.3"),
        (PROBS, {"bias_width": 0.3}, "bias_width has no effect on predictions of classes"),
        (GAUSSIAN, {"temperature": 2}, "temperature has no effect on forecasts"),
        (GAUSSIAN, {"spread_width": -1}, "spread_width must be a positive number"),
        (GAUSSIAN, {"coverage_width": 6}, "coverage_width must be a share, at most 1; got 6"),
    ],
)
def test_faulty_argument_is_refused(model, options, message):
    with pytest.raises(InvalidInput, match=message):
        ct.sample_size_for_precision(model, **options)


@pytest.mark.parametrize("name", ["slope_width", "intercept_width", "ratio_width"])
def test_widths_may_be_of_any_size(name):
    """A width that no data can miss needs few rows, and one that none can reach is refused."""
    others = dict.fromkeys(("slope_width", "intercept_width", "ratio_width"))
    wide = ct.sample_size_for_precision(PROBS, **(others | {name: 1e308}))
    assert wide.n <= 1
    with pytest.raises(InvalidInput, match="widths must be those of a finite sample"):
        ct.sample_size_for_precision(PROBS, **(others | {name: 5e-324}))


def test_calibration_in_the_large_of_calibrated_risks_is_zero():
    """What rounding leaves of a value that is 0 is not shown."""
    row = ct.sample_size_for_precision(np.arange(1, 500) / 700, intercept_width=0.4).rows[2]
    assert (row.measure, str(row.value)) == ("calibration in the large", "0.0")
