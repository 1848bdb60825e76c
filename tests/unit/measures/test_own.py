"""Statistics of the user's own: callables of (probs, labels), and metrics of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss

import caltest as ct

SETTINGS = {"n_resamples": 99, "rng": 3}


def largest_gap(probs, labels):
    """Return the largest gap between the share of a class and its mean prediction."""
    return np.abs((np.eye(probs.shape[1])[labels] - probs).mean(axis=0)).max()


@pytest.fixture(params=[2, 4])
def data(request):
    return ct.datasets.generative_model("M1", n=80, m=request.param, rng=1)


@pytest.mark.parametrize(("metric", "key"), [(brier_score_loss, "brier"), (log_loss, "log-loss")])
def test_metric_of_scikit_learn_agrees_with_the_test_of_that_score(data, metric, key):
    """The same statistic of the same redrawn labels."""
    own = ct.test_calibration(None, data, test=ct.measures.from_metric(metric), **SETTINGS)
    known = ct.test_calibration(None, data, test=key, **SETTINGS)
    assert own.pvalue == known.pvalue
    assert own.statistic == pytest.approx(known.statistic, rel=1e-12)


def test_metric_sees_the_weights_of_rows(data):
    """A metric with a parameter `sample_weight` gets them."""
    weight = np.arange(1.0, 81.0)
    given = ct.Predictions(data.probs, data.labels, classes=range(data.m), sample_weight=weight)
    brier = ct.measures.from_metric(brier_score_loss)
    own, known = (ct.test_calibration(None, given, test=t, **SETTINGS) for t in (brier, "brier"))
    assert own.statistic == pytest.approx(known.statistic, rel=1e-12)
    with pytest.raises(ct.NotApplicable, match="has no parameter sample_weight"):
        ct.test_calibration(None, given, test=largest_gap, **SETTINGS)


def gap(probs, labels):
    """Return how far the share of the event is from its mean prediction."""
    return abs(labels.mean() - probs[:, 1].mean())


@pytest.mark.parametrize("factor", [1e-30, 1.0, 1e30])
def test_pvalue_does_not_depend_on_the_unit_of_a_callable(factor):
    """Values of any size are told apart; only rounding makes ties."""
    p, y = np.linspace(0.05, 0.9, 40), np.arange(40) % 3 == 0
    own = ct.test_calibration(p, y, test=lambda q, k: factor * gap(q, k), **SETTINGS)
    assert own.pvalue == ct.test_calibration(p, y, test=gap, **SETTINGS).pvalue
    assert own.pvalue < 1


def test_value_of_a_callable_is_shown_as_it_is():
    """A likelihood ratio of 1e-30 is no rounding error of those of 1e30 that can be."""
    p, y = np.full(400, 0.5), np.arange(400) % 2 == 0
    own = ct.test_calibration(p, y, test=lambda _q, k: 2.0 ** (20 * (np.sum(k) - 205)), **SETTINGS)
    assert own.statistic == own.estimate == 2.0**-100


def test_callable_stands_beside_other_tests_groups_and_lenses(data):
    """One table, one set of redrawn labels, adjusted together."""
    table = ct.test_calibration(
        None, data, test=[largest_gap, "brier"], lens=["confidence", "classwise"], **SETTINGS
    )
    assert {row.test for row in table.rows} == {"largest_gap", "brier"}
    by = ct.test_calibration(None, data, test=largest_gap, by=np.arange(80) % 2, **SETTINGS)
    assert [row.n for row in by.rows] == [40, 40]


def test_callable_is_asserted_reported_and_pickled():
    """Whoever takes a test takes a function; the line that repeats it has its name."""
    p, y = np.linspace(0.01, 0.99, 60), np.zeros(60, dtype=int)
    with pytest.raises(AssertionError, match="test=largest_gap, level"):
        ct.testing.assert_calibrated(p, y, test=largest_gap, level=0.05, rng=1)
    result = ct.test_calibration(p, y, test=largest_gap, **SETTINGS)
    assert pickle.loads(pickle.dumps(result)).pvalue == result.pvalue  # noqa: S301
    assert "largest_gap" in str(ct.report(p, y, test=[largest_gap], rng=1).to_dict())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (accuracy_score, "first parameter is 'y_true'; wrap metrics"),
        (lambda p, _: p, "must return a number that is not NaN"),
        (lambda _p, _y: np.nan, "must return a number that is not NaN"),
        (int, "test must be one of"),
        (lambda _p: 0.0, "must be a function of \\(probs, labels\\)"),
        (ct.lenses.Confidence(), "must be a function of \\(probs, labels\\)"),
    ],
)
def test_callable_that_is_no_statistic_is_refused(function, message):
    with pytest.raises(ct.InvalidInput, match=message):
        ct.test_calibration([0.2, 0.8], [0, 1], test=function, **SETTINGS)


def test_error_inside_a_callable_says_with_what_it_was_called():
    """The exception is the function's own, with a note."""
    with pytest.raises(ZeroDivisionError) as caught:
        ct.test_calibration([0.2, 0.8], [0, 1], test=lambda _p, _y: 1 / 0, **SETTINGS)
    (note,) = caught.value.__notes__
    assert "with probabilities (2, 2) and observed labels as codes 0..1" in note


def test_callable_has_no_interval_and_takes_no_clusters():
    result = ct.test_calibration([0.2, 0.8], [0, 1], test=largest_gap, **SETTINGS)
    with pytest.raises(ct.NotApplicable, match="no interval is sure"):
        result.confidence_interval()
    with pytest.raises(ct.NotApplicable, match="no test for rows that depend"):
        ct.test_calibration([0.2, 0.8] * 2, [0, 1] * 2, test=largest_gap, cluster=[0, 0, 1, 1])


def test_two_functions_of_one_name_are_refused():
    """Their rows could not be told apart; nor could one that is called as a test is."""
    data = ct.datasets.generative_model("M1", n=20, m=2, rng=1)
    named = ct.measures.from_callable(lambda _p, _y: 0.0, name="brier")
    for tests in ([lambda _p, _y: 1.0, lambda _p, _y: 2.0], ["brier", named]):
        with pytest.raises(ct.InvalidInput, match=r"names of their own; got '.*' twice; name them"):
            ct.test_calibration(None, data, test=tests)
