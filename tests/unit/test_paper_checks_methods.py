"""What the checks of the papers compute apart from caltest: optimisers, measures, simulations."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest
from sklearn.tree import DecisionTreeClassifier

FOLDER = Path(__file__).parents[2] / "paper_checks"
if not FOLDER.is_dir():
    pytest.skip("paper_checks is not here", allow_module_level=True)
if "paper_checks" not in sys.modules:
    places = [str(FOLDER)]
    spec = importlib.util.spec_from_file_location(
        "paper_checks", FOLDER / "__init__.py", submodule_search_locations=places
    )
    sys.modules["paper_checks"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["paper_checks"])

from paper_checks import active_learning, cubed_confidence, gp_protocol, networks, splines  # noqa: E402
from paper_checks.adam import Adam  # noqa: E402
from paper_checks.boosting import RealAdaBoost  # noqa: E402


@pytest.fixture(scope="module")
def logits():
    """Four classes, 400 rows, and labels of a softer model."""
    rng = np.random.default_rng(3)
    Z = rng.normal(0, 2, (400, 4))
    labels = (softmax(0.6 * Z, axis=1).cumsum(axis=1) < rng.uniform(size=(400, 1))).sum(axis=1)
    return Z, labels.clip(0, 3)


@pytest.mark.parametrize(
    ("method", "kind"), [("MS-ODIR", "odir"), ("Dir-ODIR", "odir"), ("Dir-L2", "l2")]
)
def test_penalties_have_the_units_of_kull_et_al(logits, method, kind):
    """At the fitted map the slope of their loss, without our divisors, is zero."""
    Z, labels = logits
    fitted = networks.penalized(method, 4, (0.02, 0.3))
    theirs = Adam(kind, 0.02, 0.3)
    if method == "MS-ODIR":
        fitted.set_params(from_logits=True).fit(Z, labels)
    else:
        Z = np.log(softmax(Z, axis=1))
        fitted.fit(np.exp(Z), labels)
    W, theirs.b = fitted.linear_
    theirs.W = W.T
    slope_W, slope_b = theirs._loss(Z, np.eye(4)[labels])[1]
    assert np.abs(slope_W).max() < 1e-5
    assert np.abs(slope_b).max() < 1e-5


def test_adam_comes_near_the_minimum(logits):
    """Of vector scaling: its training loss is within 0.002 of that of caltest."""
    Z, labels = logits
    fitted = Adam("diagonal", seed=1).fit(Z, labels)
    best = networks.VectorScaling(from_logits=True).fit(Z, labels)
    rows = np.arange(len(labels))
    near, least = (-np.log(m.predict_proba(Z)[rows, labels]).mean() for m in (fitted, best))
    assert least <= near < least + 0.002


def test_real_adaboost_is_algorithm_4_of_zhu_et_al():
    """Three steps, written out."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    w, h = np.full(200, 1 / 200), np.zeros((200, 3))
    for step in range(3):
        tree = DecisionTreeClassifier(max_depth=1, random_state=step)
        p = tree.fit(X, y, sample_weight=w).predict_proba(X)
        logs = np.log(np.maximum(p, 2.0**-52))
        h += 2 * (logs - logs.mean(axis=1, keepdims=True))
        coding = np.where(np.eye(3)[y] > 0, 1, -1 / 2)
        w *= np.exp(-2 / 3 * (coding * logs).sum(axis=1))
        w /= w.sum()
    expected = softmax(h / 3 / 2, axis=1)
    found = RealAdaBoost(3).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_classwise_ece_of_kull_et_al_is_that_of_their_loop(logits):
    """Their program, by classes and bins."""
    Z, labels = logits
    probs, total = softmax(Z, axis=1), 0.0
    for k in range(4):
        cells = np.digitize(probs[:, k], np.linspace(0, 1, 15)) - 1
        for cell in np.unique(cells):
            some = cells == cell
            gap = abs(probs[some, k].mean() - (labels[some] == k).mean())
            total += gap * some.sum() / len(labels)
    assert networks.kull_classwise_ece(probs, labels) == pytest.approx(total, abs=1e-12)


def test_ece_of_wenger_et_al_is_that_of_their_loop(logits):
    """Bins from 1/m to 1; the confidence of a bin is read off a grid near their centres."""
    Z, labels = logits
    probs, total = softmax(Z, axis=1), 0.0
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    edges, grid = np.linspace(0.25, 1, 101), np.linspace(0.25 + 1 / 200, 1 - 1 / 200, 100)
    for i in range(100):
        some = (edges[i] <= top) & (top < edges[i + 1])
        total += abs(right[some].sum() - some.sum() * grid[i]) / len(labels)
    assert gp_protocol.program_ece(probs, labels) == pytest.approx(total, abs=1e-12)


def test_platt_scaling_of_probabilities_is_logistic_regression(logits):
    """Of each class, with the probability as the feature, then normalised."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    Z, labels = logits
    probs = softmax(Z, axis=1)
    columns = [
        linear_model.LogisticRegression(C=1e12, max_iter=10_000, tol=1e-10)
        .fit(probs[:, [k]], labels == k)
        .predict_proba(probs[:, [k]])[:, 1]
        for k in range(4)
    ]
    expected = np.transpose(columns) / np.sum(columns, axis=0)[:, None]
    found = gp_protocol.calibrated("Platt", probs, labels, probs)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_synthetic_set_is_right_with_the_cube_of_the_confidence():
    """On the simplex, with the confidence largest, and as often right as z^3 says."""
    probs, labels = cubed_confidence.sample(4000, 5)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert probs.min() >= 0
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    for some in (top < 0.8, top >= 0.8):
        expected = np.mean(top[some] ** 3)
        assert binomtest(int(right[some].sum()), int(some.sum()), expected).pvalue > 1e-3


def test_entropy_is_relative_to_equal_probabilities():
    """Between 0 and 1, also where a probability is 0."""
    found = active_learning.entropy(np.array([[0.25] * 4, [1.0, 0, 0, 0], [0.5, 0.5, 0, 0]]))
    np.testing.assert_allclose(found, [1, 0, 0.5], atol=1e-15)


def test_script_error_without_ties_is_near_the_spline_of_caltest(logits):
    """The spline through every row and that through every step differ by about 1 / n."""
    Z, labels = logits
    probs = softmax(Z, axis=1)
    events = (probs.argmax(axis=1) == labels).astype(float)
    theirs = splines._script_error(*[np.array([probs.max(axis=1), events])] * 2)
    data = networks.Network(Z, labels, Z, labels)
    assert theirs == pytest.approx(splines._spline_error(data, "top-1"), abs=100 * 2 / 400)
