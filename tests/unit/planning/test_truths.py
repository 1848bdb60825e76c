"""What is true in a planned study, against formulas written out."""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, dirichlet, norm, uniform
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from caltest import InvalidInput, NotApplicable, Predictions
from caltest.calibrators import Identity
from caltest.planning.truths import as_distribution, truth_of_classes
from caltest.predictions import ModelData

P2 = np.array([[0.7, 0.3], [0.1, 0.9], [1.0, 0.0]])
P3 = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])


def test_slope_and_intercept_are_those_of_the_log_odds():
    """The slope is the inverse of the temperature; several classes have an intercept each."""
    q = truth_of_classes(2, slope=0.8, intercept=-0.3).of(P2[:2])
    logit = np.log(P2[:2, 1] / P2[:2, 0])
    np.testing.assert_allclose(np.log(q[:, 1] / q[:, 0]), -0.3 + 0.8 * logit)
    by_slope, by_temperature = (truth_of_classes(3, slope=0.5), truth_of_classes(3, temperature=2))
    np.testing.assert_allclose(by_slope.of(P3), by_temperature.of(P3), atol=1e-15)
    a = np.array([0.0, 1.0, -0.5])
    expected = P3 * np.exp(a)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(truth_of_classes(3, intercept=a).of(P3), expected, atol=1e-15)


def test_ratio_divides_the_risk_of_two_classes():
    """It has no meaning for several, and may not lead beyond 1."""
    q = truth_of_classes(2, ratio=1.2).of(P2)
    np.testing.assert_allclose(q[:, 1], P2[:, 1] / 1.2)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    with pytest.raises(InvalidInput, match=r"got 1\.8 for p = 0\.9"):
        truth_of_classes(2, ratio=0.5).of(P2)
    with pytest.raises(NotApplicable, match="ratio is about the event of two classes"):
        truth_of_classes(3, ratio=1.2)


def test_noise_mixes_with_the_uniform_distribution():
    np.testing.assert_allclose(truth_of_classes(3, noise=0.4).of(P3), 0.6 * P3 + 0.4 / 3)


def test_truth_may_be_a_function_or_a_calibrator():
    """A calibrator's output is taken for true."""
    from caltest.calibrators import TemperatureScaling

    labels = np.array([0, 1, 2, 1, 2, 0])
    fitted = TemperatureScaling().fit(np.tile(P3, (2, 1)) * 0.9 + 0.1 / 3, labels)
    np.testing.assert_array_equal(
        truth_of_classes(3, truth=fitted).of(P3), fitted.predict_proba(P3)
    )
    of_frame = clone(fitted).fit(pl.DataFrame(np.tile(P3, (2, 1)), schema=list("abc")), labels)
    with warnings.catch_warnings(action="error"):  # columns have the names of the fit
        assert truth_of_classes(3, truth=of_frame).of(P3).shape == P3.shape
    with pytest.raises(InvalidInput, match="truth must take the probabilities of all 2 classes"):
        truth_of_classes(2, truth=fitted)
    q = truth_of_classes(3, truth=lambda p: p[:, ::-1]).of(P3)
    np.testing.assert_array_equal(q, P3[:, ::-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "temperature must be a positive number"),
        ({"temperature": 2, "noise": 0.1}, "got temperature and noise; leave out all but one"),
        ({"slope": 1, "truth": np.abs}, "got slope and intercept and truth"),
        ({"slope": float("nan")}, "slope must be a finite number"),
        ({"slope": True}, "slope must be a finite number"),
        ({"intercept": [0.1, 0.2]}, "intercept must be 3 finite numbers"),
        ({"intercept": 0.1}, "intercept must be 3 finite numbers"),
        ({"noise": 1.5}, r"noise must lie in \[0, 1\]"),
        ({"truth": 3}, "truth must be a function of the predictions or a fitted calibrator"),
    ],
)
def test_faulty_truth_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        truth_of_classes(3, **options)


def test_truth_of_the_wrong_shape_is_refused():
    """A function that drops a row or a class is a mistake."""
    truth = truth_of_classes(3, truth=lambda p: p[:2])
    with pytest.raises(InvalidInput, match=r"truth must return probabilities of shape \(3, 3\)"):
        truth.of(P3)


# ---- where the predictions of a planned study come from -----------------------------------------

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names


def of(*given, **options):
    """Take the (model, data) of `power`."""
    return as_distribution(ModelData(*given, **options))


def drawn(distribution, n=400, seed=1):
    return distribution.draw(np.random.default_rng(seed), n)


def test_rows_are_drawn_with_replacement_by_their_weights():
    rows = drawn(of(PROBS))
    first = (rows == PROBS[0]).all(axis=1)
    assert (first | (rows == PROBS[1]).all(axis=1)).all()
    assert 150 < first.sum() < 250
    assert not rows.flags.writeable
    data = Predictions(PROBS, [0, 1], classes=range(3), sample_weight=[0, 2])
    names = ["p_0", "p_1", "p_2"]
    frame = pl.DataFrame(PROBS, names).with_columns(w=pl.Series([0, 2]))
    model = GaussianNB().fit(pl.DataFrame(np.eye(3), names), range(3))
    predicted = np.repeat(model.predict_proba(frame[1:, names]), 400, axis=0)
    for weight in ([0, 2], "w"):
        assert (drawn(of(frame, sample_weight=weight)) == PROBS[1]).all()
        features = {"features": names, "sample_weight": weight}
        np.testing.assert_array_equal(drawn(of(model, frame, **features)), predicted)
    for one in (of(PROBS, sample_weight=[0, 2]), of(data)):
        assert (drawn(one) == PROBS[1]).all()
    with pytest.raises(InvalidInput, match="sample_weight has no effect where predictions are dra"):
        of(beta(2, 5), sample_weight=[0, 2])


def test_classes_are_those_of_the_predictions():
    data = Predictions(PROBS, ["a", "b"], classes=["a", "b", "c"], groups=[1, 2])
    made = of(None, data)
    assert made.template.classes.tolist() == ["a", "b", "c"]
    assert made.template.groups is None
    assert of(PROBS).template.classes.tolist() == [0, 1, 2]


@pytest.mark.parametrize("data", [X, (X, Y)])
def test_model_predicts_the_features(data):
    """Labels may stand beside the features and play no part."""
    model = GaussianNB().fit(X, NAMES[Y])
    made = of(model, data)
    np.testing.assert_array_equal(made.pool, Predictions.from_model(model, X, NAMES[Y]).probs)
    assert made.template.classes.tolist() == NAMES.tolist()


def test_model_predicts_the_columns_of_a_table():
    table = pl.DataFrame(X).with_columns(y=pl.Series(Y))
    model = GaussianNB().fit(table.drop("y"), Y)
    made = of(model, table, label="y")
    np.testing.assert_allclose(made.pool, model.predict_proba(table.drop("y")))


@pytest.mark.parametrize("options", [{}, {"probs": "p_"}, {"probs": ["p_a", "p_b", "p_c"]}])
def test_table_of_probabilities_needs_no_label(options):
    table = pl.DataFrame(PROBS, schema=["p_a", "p_b", "p_c"])
    made = of(table, **options)
    np.testing.assert_array_equal(made.pool, PROBS)
    assert made.template.classes.tolist() == ["a", "b", "c"]


def test_one_column_is_the_risk_of_the_second_class():
    made = of(pl.DataFrame({"risk": [0.2, 0.9]}), probs="risk")
    np.testing.assert_allclose(made.pool, [[0.8, 0.2], [0.1, 0.9]])


def test_frozen_distributions_are_taken():
    """Their names and parameters print, and a seed fixes the draws."""
    made = of(beta(2, 5))
    assert (made.name, made.m) == ("Beta(2, 5)", 2)
    np.testing.assert_array_equal(drawn(made, 5)[:, 1], beta(2, 5).rvs(5, np.random.default_rng(1)))
    assert of(beta(2, b=5)).name == "Beta(2, b=5)"
    made = of(dirichlet([1, 2, 3]), classes=["a", "b", "c"])
    assert (made.name, made.m) == ("Dirichlet(1, 2, 3)", 3)
    assert of(dirichlet(np.arange(1, 11))).name == "Dirichlet(1, 2, ..., 10)"


def test_function_may_draw_logits_or_rows_that_are_off_by_rounding():
    """The options of arrays are those of draws."""
    logits = of(lambda rng, n: rng.normal(size=(n, 3)), from_logits=True)
    np.testing.assert_allclose(drawn(logits).sum(axis=1), 1)
    rounded = of(lambda _rng, n: np.full((n, 3), 0.333), renormalize=True)
    np.testing.assert_allclose(drawn(rounded), 1 / 3)


def test_distribution_without_parameters_needs_none():
    """And one row is no rows."""
    assert of(uniform).m == 2
    assert of([0.2]).name == "arrays, 1 row drawn with replacement"


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (None, None, "data must be given where model is None"),
        (GaussianNB(), None, "data must be given where model is a classifier"),
        (lambda x: x, None, r"model must be a function \(rng, n\) -> probabilities"),
        (norm(), None, r"predictions drawn from the distribution must lie in \[0, 1\]"),
        (lambda rng, n: rng.random(n + 1), None, "must draw the n rows that it is asked for"),
        ([0.2, 1.2], None, r"probs must lie in \[0, 1\]"),
        (Predictions([0.2], [1]), X, "data has no effect where predictions are given"),
        ([0.2, 0.4], [1, 0], "data has no effect where model is no model; labels are never needed"),
        (beta(2, 5), X, "data has no effect where model is no model"),
        (beta, None, "model must be a distribution with its parameters; got beta_gen"),
        (dirichlet, None, "model must be a distribution with its parameters; got dirichlet_gen"),
        (beta([2, 3], 5), None, "model must be one distribution, with a number for each"),
    ],
)
def test_faulty_distribution_is_refused(model, data, message):
    with pytest.raises(InvalidInput, match=message):
        of(model, data)


def test_map_that_is_true_has_the_classes_in_its_own_order():
    """Columns in another order would be recalibrated as those of other classes."""
    labels = np.array(["a", "b", "c"])
    truth = Identity().fit(np.eye(3), labels)
    given = of(Predictions(P3, labels))
    assert given.truth_of(truth=truth).of(P3).shape == (3, 3)
    turned = of(Predictions(P3, labels, classes=labels[::-1]))
    with pytest.raises(InvalidInput, match="the classes of truth, 'a', 'b', 'c', in order; got 'c"):
        turned.truth_of(truth=truth)
