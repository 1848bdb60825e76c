"""Where the predictions of a planned study come from."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, dirichlet, norm, uniform
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from caltest import InvalidInput, Predictions
from caltest.planning.truths import as_distribution
from caltest.predictions import ModelData

PROBS = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
X, Y = load_iris(return_X_y=True)
NAMES = load_iris().target_names


def of(*given, **options):
    """Take the (model, data) of `power`."""
    return as_distribution(ModelData(*given, **options))


def drawn(distribution, n=400, seed=1):
    return distribution.draw(np.random.default_rng(seed), n)


def test_rows_are_drawn_with_replacement():
    """Every draw is a row that is there, and all are drawn equally often."""
    rows = drawn(of(PROBS))
    first = (rows == PROBS[0]).all(axis=1)
    assert (first | (rows == PROBS[1]).all(axis=1)).all()
    assert 150 < first.sum() < 250
    assert not rows.flags.writeable


def test_weights_are_the_chances_of_the_rows():
    """Rows of weight 0 are never drawn."""
    data = Predictions(PROBS, [0, 1], classes=range(3), sample_weight=[0, 2])
    assert (drawn(of(data)) == PROBS[1]).all()


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
    """All columns but the label are features."""
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


def test_function_of_generator_and_n_is_a_distribution():
    """One dimension is the risk of the second class."""

    def risks(rng, n):
        return rng.uniform(0.1, 0.3, n)

    made = of(risks)
    assert made.m == 2
    assert made.name.endswith("risks")
    assert drawn(made)[:, 1].max() < 0.3


def test_function_may_draw_logits_or_rows_that_are_off_by_rounding():
    """The options of arrays are those of draws."""
    logits = of(lambda rng, n: rng.normal(size=(n, 3)), from_logits=True)
    np.testing.assert_allclose(drawn(logits).sum(axis=1), 1)
    rounded = of(lambda _rng, n: np.full((n, 3), 0.333), renormalize=True)
    np.testing.assert_allclose(drawn(rounded), 1 / 3)


def test_distribution_without_parameters_needs_none():
    """The uniform distribution is one as it is."""
    assert of(uniform).m == 2


def test_one_row_is_no_rows():
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
