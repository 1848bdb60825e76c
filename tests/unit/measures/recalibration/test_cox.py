"""Likelihood ratios of recalibration and the slope: parts, classes, data without an estimate."""

import itertools
import math
import warnings

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import calibration_intercept, calibration_slope, cox, unreliability
from caltest.measures.recalibration.cox import Cox, Unreliability
from caltest.measures.recalibration.fits import SLOPES, MultinomialRatio
from caltest.units import RowUnits


@pytest.fixture(scope="module")
def three_classes():
    """Return 300 rows of three classes, not calibrated."""
    data = generative_model("M1", n=300, m=3, alpha=1.0, rng=0)
    return Predictions(np.sqrt(data.probs) / np.sqrt(data.probs).sum(axis=1)[:, None], data.labels)


@pytest.mark.parametrize("slopes", SLOPES)
def test_several_classes_contain_two(slopes):
    """The code of several classes gives the same for two, and the same degrees of freedom."""
    data = generative_model("M2", n=200, m=2, alpha=1.0, rng=0)
    ratio = MultinomialRatio(RowUnits(data), slopes, 0)
    assert ratio.df == 2
    assert ratio.value() == pytest.approx(cox(data), rel=1e-10)


def test_reference_is_a_class_and_matters(three_classes):
    """By name or code; another one gives another statistic."""
    values = [cox(three_classes, slopes="reference", reference=k) for k in (0, "0", 2)]
    assert values[0] == values[1]
    assert values[0] != pytest.approx(values[2], rel=1e-6)
    with pytest.raises(InvalidInput, match=r"reference must be one of the classes; got 'x'; pass"):
        cox(three_classes, slopes="reference", reference="x")


@pytest.mark.parametrize("slopes", SLOPES)
@pytest.mark.parametrize("observed", [0, 2])
def test_one_observed_class_is_predicted_with_certainty(slopes, observed):
    """Also where it is the reference, and no coefficient is left to fit."""
    p = np.random.default_rng(0).dirichlet(np.ones(3), 4)
    ratio = cox(p, np.full(4, observed), slopes=slopes)
    assert ratio == pytest.approx(-2 * np.log(p[:, observed]).sum())
    options = {"test": "cox", "slopes": slopes, "n_resamples": 99, "rng": 0}
    assert 0 < ct.test_calibration(p, np.array([0, 1, 2, 0]), **options).pvalue <= 1


def test_third_class_that_never_occurs_changes_nothing():
    """Neither the statistic nor the degrees of freedom."""
    data = generative_model("M2", n=50, m=2, alpha=1.0, rng=0)
    padded = Predictions(np.column_stack([data.probs, np.zeros(50)]), data.labels)
    with pytest.warns(DegenerateDataWarning, match=r"below 2.2e-16 count as that .* in 50 of 50"):
        assert cox(padded) == pytest.approx(cox(data), rel=1e-9)
    assert "2 degrees" in Cox().limit(padded).null_text


@pytest.mark.parametrize("tested", ["both", "intercept", "slope"])
def test_impossible_label_is_not_hidden(tested):
    """One among many rows makes the ratio infinite, and the warning says where."""
    p, y = np.full(100, 0.25), np.arange(100) % 4 == 0
    p[[7, 9]], y[7] = 0.0, True
    with pytest.warns(DegenerateDataWarning) as said:
        assert cox(p, y, tested=tested) == math.inf
    text = " ".join(str(one.message) for one in said)
    assert "those of the 98 rows with predictions inside (0, 1), of 100" in text
    assert "probability 0 in 1 of 100 rows, first in row 7" in text


def test_certain_predictions_that_are_right_have_no_ratio():
    """They have no log odds, and change no likelihood."""
    with pytest.warns(DegenerateDataWarning, match=r"there is no other row"):
        assert cox([0.0, 1.0, 1.0], [0, 1, 1]) == pytest.approx(0, abs=1e-14)


ENGINES = ("rows", "cells")


def with_certain(seed=1, n=400):
    """Return predictions of which some are 0 or 1, and labels that agree with these."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 3, n)
    p[:60], p[60:100] = 0.0, 1.0
    y = (rng.random(n) < p**1.5).astype(int)
    return p, y, (p > 0) & (p < 1)


@pytest.mark.parametrize("tested", ["both", "intercept", "slope"])
def test_predictions_of_0_and_1_leave_the_fit_of_the_others(tested):
    """Statistic, estimate and interval are those of the interior rows, by rows and by cells."""
    p, y, inside = with_certain()
    measure = Cox(tested=tested)
    alone = ct.test_calibration(p[inside], y[inside], test=measure, n_resamples=99, rng=1)
    frame = pl.DataFrame({"p": p, "y": y})
    asked = {"label": "y", "probs": "p", "test": measure, "n_resamples": 99, "rng": 1}
    with pytest.warns(DegenerateDataWarning, match=r"those of the 300 rows with predictions in"):
        found, cells = (ct.test_calibration(None, frame, **asked, engine=e) for e in ENGINES)
    assert found.statistic == pytest.approx(alone.statistic, rel=1e-9)
    assert found.estimate == pytest.approx(alone.estimate, rel=1e-9)
    assert cells.estimate == pytest.approx(alone.estimate, rel=1e-3)
    if tested != "both":
        one, two, three = (test.confidence_interval() for test in (found, alone, cells))
        assert (one.low, one.high) == pytest.approx((two.low, two.high), rel=1e-9)
        assert (three.low, three.high) == pytest.approx((two.low, two.high), rel=1e-2)
        assert "of the 300 rows with predictions inside (0, 1)" in one.notes + three.notes


@pytest.mark.full
def test_verdict_names_the_rows_of_a_slope():
    """Where others have predictions of 0 and 1; the report's table too."""
    p, y, _ = with_certain(n=500)
    told = dict(ct.test_calibration(p, y, rng=1).verdict().sentences)["events"]
    assert "of the 400 rows with predictions inside (0, 1)" in told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        page = ct.report(p, y, n_resamples=99, rng=1)
    (slope,) = [one for one in page.content.estimates if one.name == "calibration slope"]
    assert slope.note.endswith("of the 400 rows with predictions inside (0, 1)")
    assert f"log odds {slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f})" in told


def test_constant_predictions_test_the_intercept():
    """With one degree of freedom; the slope by itself has no limiting distribution."""
    data = Predictions(np.full(40, 0.5), np.arange(40) % 4 == 0)
    expected = 80 * (0.25 * math.log(0.5) + 0.75 * math.log(1.5))
    with pytest.warns(DegenerateDataWarning, match=r"no slope can be estimated; it is taken as 1"):
        values = cox(data), unreliability(data)
    assert values == pytest.approx((expected, (expected - 1) / 40), rel=1e-12)
    assert "1 degree of" in Cox().limit(data).null_text
    with pytest.raises(NotApplicable, match="use test='calibration-in-the-large'"):
        Cox(tested="slope").limit(data)


@pytest.mark.parametrize("test", ["cox", "unreliability", "calibration-slope"])
def test_component_of_clusters_leaves_out_rows_of_weight_0(test):
    """They change neither statistic nor p-value."""
    data = generative_model("M2", n=120, m=2, pi=0.5, rng=0)
    weight = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    rows = Predictions(data.probs, data.labels, sample_weight=weight)
    rows = rows.with_clusters(np.arange(120) // 3)
    asked = {"test": "combined", "components": [test, "ks"], "n_resamples": 99, "rng": 0}
    found, expected = (
        ct.test_calibration(None, one, **asked) for one in (rows, rows.without(weight == 0))
    )
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == expected.pvalue


def test_surprising_class_is_fitted_in_any_order_of_the_classes():
    """A label whose probability is nearly 0 leaves no curvature at the start."""
    probs = np.array([[0, 1, 0, 0], [0, 1, 0, 0], [0, 0.5, 1e-16, 0.5]])
    labels = np.array([1, 1, 2])
    with pytest.warns(DegenerateDataWarning, match="count as"):
        values = [
            cox(probs[:, order], np.argsort(order)[labels])
            for order in itertools.permutations(range(4))
        ]
    np.testing.assert_allclose(values, 2 * np.log(2**52), rtol=1e-6)


# ---- the calibration intercept, with the slope fixed and estimated ------------------------------


@pytest.mark.parametrize(
    ("p", "y", "slope", "intercept"),
    [
        ([0.2, 0.6], [1, 1], "fixed", math.inf),
        ([0.2, 0.6], [0, 0], "fixed", -math.inf),
        ([0.2, 0.6], [0, 0], "estimated", -math.inf),
        ([0.6, 0.9], [0, 1], "estimated", -math.inf),
        ([0.2, 0.8], [0, 1], "estimated", 0.0),
        ([0.2, 0.2], [0, 1], "estimated", math.log(4)),
    ],
    ids=["all events", "none", "none, estimated", "separated", "around one half", "constant"],
)
def test_undefined_intercept_has_a_value_and_a_warning(p, y, slope, intercept):
    """Infinite with its sign; for slope 1 where no slope can be estimated."""
    with pytest.warns(DegenerateDataWarning, match=r"all labels|separate|no slope"):
        assert calibration_intercept(p, y, slope=slope) == pytest.approx(intercept, abs=1e-12)


# ---- the unreliability index is the likelihood ratio, less its mean, for each row ---------------


@pytest.mark.parametrize(("m", "df"), [(2, 2), (4, 4)])
def test_index_is_the_ratio_less_its_degrees_of_freedom(m, df):
    """Per row, and its limit law is that of the ratio."""
    data = generative_model("M2", n=150, m=m, alpha=1.0, rng=0)
    assert unreliability(data) == pytest.approx((cox(data) - df) / 150, rel=1e-12)
    limit = Unreliability().limit(data)
    assert limit.statistic == pytest.approx(cox(data), rel=1e-12)
    assert limit.estimate == pytest.approx(unreliability(data), rel=1e-12)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize("slope", [0.5, 2.0, -1.0])
def test_slope_undoes_a_change_of_the_log_odds(slope):
    """Log odds times 1 / b have b times the slope."""
    data = generative_model("M1", n=500, m=2, alpha=1.0, rng=0)
    odds = (data.probs[:, 1] / data.probs[:, 0]) ** (1 / slope)
    changed = calibration_slope(odds / (1 + odds), data.labels)
    assert changed == pytest.approx(slope * calibration_slope(data), rel=1e-6)


@pytest.mark.parametrize(
    ("p", "y", "slope", "message"),
    [
        ([0.2, 0.4, 0.8], [0, 0, 1], math.inf, "separate the labels"),
        ([0.2, 0.4, 0.8], [1, 1, 0], -math.inf, "separate the labels"),
        ([0.2, 0.4, 0.8], [1, 1, 1], 1.0, "all labels are equal.*slope is taken as 1"),
        ([0.4, 0.4, 0.4], [1, 0, 1], 1.0, "no slope can be estimated; it is taken as 1"),
        ([0.3], [1], 1.0, "taken as 1|all labels are equal"),
    ],
    ids=["separated", "reversed", "one class", "constant", "one row"],
)
def test_undefined_slope_has_a_value_and_a_warning(p, y, slope, message):
    """Infinite in the direction of the labels, or 1."""
    with pytest.warns(DegenerateDataWarning, match=message):
        assert calibration_slope(p, y) == slope


@pytest.mark.parametrize("test", ["cox", "calibration-slope", "unreliability"])
@pytest.mark.parametrize(("n", "noted"), [(18, True), (60, False)])
def test_limit_says_where_it_is_rough(test, n, noted):
    """At n = 15 the limit of the slope rejects 13 % of calibrated models at 5 %."""
    p = np.linspace(0.1, 0.9, n)
    labels = np.arange(n) % 3 > 0
    notes = ct.test_calibration(p, labels.astype(int), test=test, null="asymptotic").notes
    assert any("fewer than ten rows of a class are expected" in x for x in notes) is noted
