"""What test_calibration is given becomes predictions."""

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from caltest import InvalidInput, Predictions
from caltest.measures import skce
from caltest.predictions import ModelData

X = np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 1.5], [1.5, 1.0]])
Y = np.array(["no", "yes", "yes", "no"])
PROBS_OF_THREE = [[0.2, 0.3, 0.5], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]]
MODEL = GaussianNB(var_smoothing=1.0).fit(X, Y)
PROBS = MODEL.predict_proba(X)
TABLE = pl.DataFrame({"age": X[:, 0], "dose": X[:, 1], "y": Y, "site": ["u", "v", "u", "v"]})
ON_TABLE = GaussianNB(var_smoothing=1.0).fit(TABLE.select("age", "dose"), Y)
NAME = "GaussianNB(var_smoothing=1.0)"
WITH_PROBS = TABLE.with_columns(p_no=pl.Series(PROBS[:, 0]), p_yes=pl.Series(PROBS[:, 1]))


@pytest.mark.parametrize(
    ("model", "data", "options", "source"),
    [
        (MODEL, (X, Y), {}, NAME),
        (MODEL, [X, Y], {}, NAME),
        (MODEL.predict_proba, (X, Y), {}, "predict_proba"),
        (ON_TABLE, TABLE.drop("site"), {"label": "y"}, NAME),
        (ON_TABLE, TABLE, {"label": "y", "by": "site"}, NAME),
        (ON_TABLE, TABLE, {"label": "y", "features": ["age", "dose"]}, NAME),
        (ON_TABLE, TABLE, {"label": "y", "by": "dose"}, NAME),
        (ON_TABLE, (TABLE.drop("y"), Y), {"by": "site"}, NAME),
        (PROBS, Y, {}, "arrays"),
        (PROBS[:, 1], Y, {}, "arrays, event: yes"),
        (PROBS[:, 1], Y, {"classes": ["no", "yes"]}, "arrays, event: yes"),
        (PROBS.tolist(), Y.tolist(), {}, "arrays"),
        (np.log(PROBS), Y, {"from_logits": True}, "arrays"),
        (PROBS, TABLE, {"label": "y"}, "arrays"),
        (None, WITH_PROBS, {"label": "y"}, "data frame"),
        (None, WITH_PROBS, {"label": "y", "probs": "p_yes"}, "data frame, event: yes"),
        (WITH_PROBS, None, {"label": "y"}, "data frame"),
        (WITH_PROBS.lazy(), None, {"label": "y", "by": "site"}, "data frame"),
        (WITH_PROBS.select("p_no", "p_yes"), Y, {}, "arrays"),
        (WITH_PROBS.select("p_no", "p_yes"), TABLE, {"label": "y"}, "arrays"),
        (None, Predictions(PROBS, Y), {}, "arrays"),
        (Predictions(PROBS, Y), None, {}, "arrays"),
    ],
)
def test_model_data_takes_models_arrays_and_tables(model, data, options, source):
    made = ModelData(model, data, **options).predictions()
    np.testing.assert_allclose(made.probs, PROBS, rtol=1e-12)
    assert made.labels.tolist() == [0, 1, 1, 0]
    assert made.classes.tolist() == ["no", "yes"]
    assert made.source == source


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (Y, {"by": TABLE["site"]}),
        (TABLE, {"label": "y", "by": "site"}),
        (TABLE, {"label": "y", "by": ["u", "v", "u", "v"]}),
        (Y, {"by": np.array(["u", "v", "u", "v"])}),
    ],
)
def test_model_data_takes_groups_as_values_or_column(data, options):
    assert ModelData(PROBS, data, **options).predictions().groups.tolist() == ["u", "v", "u", "v"]


def test_model_data_takes_the_groups_that_are_there():
    grouped = Predictions(PROBS, Y, groups=[1, 1, 2, 2])
    assert ModelData(None, grouped, by=True).predictions() is grouped
    assert ModelData(grouped, by=[1, 2, 1, 2]).predictions().groups.tolist() == [1, 2, 1, 2]


def test_model_data_applies_a_calibrator_to_predictions():
    """A calibrator maps probabilities; labels, weights and groups stay, classes too."""
    before = Predictions(PROBS, Y, sample_weight=[1, 2, 3, 4], groups=[1, 1, 2, 2])
    after = ModelData(lambda p: p[:, ::-1], before).predictions()
    np.testing.assert_array_equal(after.probs, before.probs[:, ::-1])
    assert after.classes.tolist() == ["no", "yes"]
    assert after.labels.tolist() == before.labels.tolist()
    np.testing.assert_allclose(after.sample_weight, before.sample_weight)
    assert after.groups.tolist() == [1, 1, 2, 2]


def test_model_data_follows_the_classes_of_a_model():
    """The labels of a test set that lacks a class still find their columns."""
    model = GaussianNB().fit(X, np.array([7, 5, 9, 7]))
    made = ModelData(model, (X, [9, 9, 5, 5])).predictions()
    assert made.classes.tolist() == [5, 7, 9]
    assert made.labels.tolist() == [2, 2, 0, 0]


def test_model_data_takes_a_pipeline_of_texts():
    texts = ["good fine", "bad", "fine", "bad awful"]
    model = make_pipeline(CountVectorizer(), MultinomialNB()).fit(texts, [1, 0, 1, 0])
    assert ModelData(model, (texts, [1, 0, 1, 0])).predictions().n == 4
    assert ModelData(model, (np.array(texts), np.eye(2)[[1, 0, 1, 0]])).predictions().n == 4


def test_model_data_takes_a_pipeline_of_pandas_columns():
    """A model fitted on a data frame gets a data frame, of its own columns only."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": X[:, 0], "dose": X[:, 1], "y": Y, "site": [1, 1, 2, 2]})
    model = LogisticRegression().fit(frame[["age", "dose"]], frame["y"])
    made = ModelData(model, frame, label="y", by="site").predictions()
    np.testing.assert_array_equal(made.probs, model.predict_proba(frame[["age", "dose"]]))


def test_model_data_takes_a_list_of_values_as_groups_of_the_rows():
    """Values that are no names of columns, or that repeat one."""
    frame = pl.DataFrame({"y": [0, 1, 0, 1], "p_0": [0.2] * 4, "p_1": [0.8] * 4, "a": [1, 2, 1, 2]})
    for groups in (["u", "v", "u", "v"], ["a", "a", "y", "y"]):
        assert ModelData(None, frame, label="y", by=groups).predictions().groups.tolist() == groups
    with pytest.raises(InvalidInput, match="by must not be the label column; got 'y'"):
        ModelData(None, frame, label="y", by=["a", "y"]).predictions()
    with pytest.raises(InvalidInput, match=r"by must name each column once; got \['a', 'a'\]"):
        ModelData(None, frame, label="y", by=["a", "a"]).predictions()


def test_model_data_takes_what_the_error_advises():
    """A classifier without probabilities passes once wrapped as the message says."""
    wrapped = CalibratedClassifierCV(SVC(), cv=2).fit(np.tile(X, (4, 1)), np.tile(Y, 4))
    assert ModelData(wrapped, (X, Y)).predictions().m == 2


def test_model_data_takes_the_classes_of_the_columns_of_a_table():
    """The columns of a table that is the model, or that a function returns, name the classes."""
    turned = WITH_PROBS.select("p_yes", "p_no")
    for model, data, label in (
        (turned, Y, None),
        (turned, TABLE, "y"),
        (lambda _: turned, (X, Y), None),
    ):
        made = ModelData(model, data, label=label).predictions()
        assert made.classes.tolist() == ["yes", "no"]
        assert made.labels.tolist() == [1, 0, 0, 1]


def test_model_data_takes_probabilities_from_a_method_called_predict():
    """As in libraries where predict returns probabilities, in one dimension or two."""

    class Network:
        def predict(self, X):
            return X

    assert ModelData(Network().predict, (PROBS, Y)).predictions().n == 4
    assert ModelData(Network().predict, (PROBS[:, 1], Y)).predictions().n == 4


@pytest.mark.parametrize(
    ("probs", "labels", "remedy"),
    [
        (PROBS_OF_THREE, [1, 2, 3], r"pass classes=range\(1, 4\)"),
        (PROBS_OF_THREE, [1, 5, 7], r"pass classes=\[1, 5, 7\]"),
        ([5.0, 60.0, 20.0], [0, 1, 1], r"or pass from_logits=True"),
    ],
)
def test_remedy_for_a_measure_is_one_that_it_takes(probs, labels, remedy):
    """A measure takes classes= and from_logits=, as `Predictions`."""
    with pytest.raises(InvalidInput, match=remedy):
        skce(probs, labels)


@pytest.mark.parametrize("name", ["sample_weight", "by", "cluster", "time"])
@pytest.mark.parametrize("data", [{"data": (X, Y)}, {"data": TABLE, "label": "y"}])
def test_wrong_lengths_are_found_before_a_model_predicts(name, data):
    def model(_rows):
        pytest.fail("the model was asked")

    rows = {name: np.arange(3.0), "lag": 1 if name == "time" else None}
    with pytest.raises(InvalidInput, match=f"^{name} must have one entry per row; got 3 for 4"):
        ModelData(model, **data, **rows).rows()
