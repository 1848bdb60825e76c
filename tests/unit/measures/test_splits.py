"""E-values of a fixed sample: their mean under calibration, their alternatives, what is refused."""

import json
import math

import numpy as np
import pytest
import scipy

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.measures.splits import PRECISION, recalibration

KEYS = ("e-likelihood-ratio", "e-hosmer-lemeshow")


def rows(n, m=2, *, seed=0, exponent=1.0):
    """Draw probabilities, and labels from a power of them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**exponent
    true /= true.sum(axis=1, keepdims=True)
    return probs, (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)


@pytest.mark.parametrize("splits", [1, 3])
@pytest.mark.parametrize(
    ("key", "m"), [*((k, 2) for k in KEYS), pytest.param(KEYS[0], 3, marks=pytest.mark.full)]
)
def test_mean_over_all_labels_is_one(key, m, splits):
    """The expectation of an e-value, label vector by label vector."""
    event = np.array([0.15, 0.2, 0.4, 0.4, 0.7, 0.9])[m - 2 :]
    n = event.size
    probs = np.column_stack([1 - event, *[event / (m - 1)] * (m - 1)])
    labels = np.indices((m,) * n).reshape(n, -1).T
    chances = probs[np.arange(n), labels].prod(axis=1)
    measure = getattr(ct.measures, key.replace("-", "_"))
    values = [measure(probs, y, splits=splits, classes=range(m)) for y in labels]
    assert chances @ values == pytest.approx(1.0, rel=1e-10)
    assert max(values) > 1.1
    assert min(values) < 0.9


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("with_offsets", [False, True])
def test_recalibration_is_the_most_probable_one(m, with_offsets):
    probs, labels = rows(150, m, seed=1, exponent=0.5)
    logs = np.log(probs)

    def loss(theta):
        full = np.zeros(m + 1)
        full[: theta.size] = theta
        logits = (1 + full[0]) * logs + full[1:]
        own = logits[np.arange(150), labels] - scipy.special.logsumexp(logits, axis=1)
        return 0.5 * PRECISION * full @ full - own.sum()

    best = scipy.optimize.minimize(loss, np.zeros(1 + m * with_offsets), tol=1e-12)
    slope, offsets = recalibration(logs, labels, with_offsets=with_offsets)
    assert slope - 1 == pytest.approx(best.x[0], abs=1e-5)
    np.testing.assert_allclose(offsets[: best.x.size - 1], best.x[1:], atol=1e-5)
    assert with_offsets or not offsets.any()


@pytest.mark.parametrize("key", KEYS)
def test_result_has_its_evalue(key):
    """Its p-value is min(1, 1 / e), also when it comes from JSON; other tests have none."""
    result = ct.test_calibration(*rows(300, exponent=0.5), test=key)
    assert result.evalue > 20
    assert result.pvalue == pytest.approx(1 / result.evalue)
    assert ct.HTest.from_dict(json.loads(result.to_json())).evalue == result.evalue
    assert ct.test_calibration(*rows(300), test=key).pvalue > 0.1
    assert ct.test_calibration(*rows(30), test="ece", n_resamples=19, rng=1).evalue is None


def test_results_and_monitors_are_combined():
    """By mean and product; a result without an e-value is refused by its name."""
    probs, labels = rows(200, exponent=0.6)
    found = [ct.test_calibration(probs, labels, test=key) for key in KEYS]
    watch = ct.monitor().update(probs, labels)
    mean = np.mean([found[0].evalue, found[1].evalue, watch.evalue])
    assert ct.combine_evalues([*found, watch]) == pytest.approx(mean)
    assert ct.combine_evalues(found, method="product") == pytest.approx(
        found[0].evalue * found[1].evalue
    )
    table = ct.test_calibration(probs, labels, test=KEYS[0], by=np.array(["a", "b"] * 100))
    assert ct.combine_evalues(table) == pytest.approx(np.mean([one.evalue for one in table]))
    other = ct.test_calibration(probs, labels, test="cox", null="asymptotic")
    with pytest.raises(InvalidInput, match="a result of the test 'cox'"):
        ct.combine_evalues([found[0], other])


@pytest.mark.parametrize("key", KEYS)
def test_impossible_outcome_is_infinite_evidence(key):
    """The row is named; the p-value is the least positive number."""
    with pytest.warns(ct.DegenerateDataWarning, match="in 1 of 4 rows, first in row 2"):
        result = ct.test_calibration([0.2, 0.5, 0.0, 1.0], [0, 1, 1, 1], test=key)
    assert result.evalue == math.inf
    assert 0 < result.pvalue < 1e-300


@pytest.mark.parametrize("key", KEYS)
def test_evidence_beyond_numbers_stays_finite(key):
    """Thousands of rows that are all wrong: the largest number is still an e-value."""
    result = ct.test_calibration(np.full(4000, 0.01), np.ones(4000, int), test=key)
    assert result.evalue == pytest.approx(np.finfo(float).max)


@pytest.mark.parametrize("key", KEYS)
def test_what_is_refused(key):
    probs, labels = rows(20)
    weighted = ct.Predictions(probs, labels, sample_weight=np.arange(1, 21))
    with pytest.raises(NotApplicable, match="no sample weights; use test='cox'"):
        ct.test_calibration(weighted, test=key)
    with pytest.raises(NotApplicable, match="closed-form"):
        ct.test_calibration(probs, labels, test=key, null="exact")
    with pytest.raises(InvalidInput, match="splits"):
        ct.test_calibration(probs, labels, test=key, splits=0)


def test_many_classes_have_a_slope_alone():
    """Of 101 classes no offsets are learned; what is learned is found."""
    probs, labels = rows(400, 101, exponent=0.3)
    assert ct.measures.e_likelihood_ratio(probs, labels, splits=2) > 20
