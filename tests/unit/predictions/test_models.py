"""Models of other libraries: statsmodels, gradient boosting, skorch, tensors and model outputs."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from statsmodels.miscmodels.ordinal_model import OrderedModel

import caltest as ct
from caltest import InvalidInput, Predictions

X, CODES = make_classification(
    600, 4, n_informative=3, n_redundant=0, n_classes=3, class_sep=0.5, flip_y=0.3, random_state=1
)
DESIGN = sm.add_constant(X)
NAMES = np.array(["ant", "bee", "cat"])
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(event=(CODES > 0).astype(int))


@pytest.mark.parametrize("kind", [sm.Logit, sm.Probit, sm.GLM, sm.GEE])
def test_binary_results_of_statsmodels_give_the_probability_of_one(kind):
    """Of the rows of the design matrix."""
    options = {"family": sm.families.Binomial()} if kind in (sm.GLM, sm.GEE) else {}
    options |= {"groups": np.arange(600) // 2} if kind is sm.GEE else {}
    fitted = kind(FRAME["event"].to_numpy(), DESIGN, **options)
    fitted = fitted.fit(disp=0) if kind in (sm.Logit, sm.Probit) else fitted.fit()
    found = Predictions.from_model(fitted, DESIGN, FRAME["event"])
    np.testing.assert_array_equal(found.probs[:, 1], fitted.predict(DESIGN))
    assert found.source == f"statsmodels {kind.__name__}"


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (pd.Series(NAMES[CODES]), ["ant", "bee", "cat"]),
        (CODES + 5, [5, 6, 7]),
        (CODES.astype(float), [0, 1, 2]),
    ],
)
def test_multinomial_logit_of_statsmodels_names_its_outcomes(labels, classes):
    """Text stays text, and numbers are numbers."""
    fitted = sm.MNLogit(labels, DESIGN).fit(disp=0)
    found = Predictions.from_model(fitted, DESIGN, labels)
    np.testing.assert_allclose(found.probs, fitted.predict(DESIGN), atol=1e-12)
    assert found.classes.tolist() == classes
    assert found.labels.tolist() == CODES.tolist()


@pytest.mark.parametrize("named", [True, False])
def test_ordered_model_of_statsmodels_keeps_the_order_of_its_categories(named):
    """Which need not be that of the alphabet."""
    order = ["cat", "ant", "bee"]
    labels = pd.Series(pd.Categorical(NAMES[CODES], categories=order, ordered=True))
    given = labels if named else CODES
    fitted = OrderedModel(given, X, distr="logit").fit(method="bfgs", disp=0)
    found = Predictions.from_model(fitted, X, NAMES[CODES] if named else CODES)
    assert found.classes.tolist() == (order if named else [0, 1, 2])
    np.testing.assert_allclose(found.probs, fitted.predict(X), atol=1e-12)


def test_formula_of_statsmodels_takes_a_data_frame():
    """A test finds the columns by itself; the fit is calibrated in the large on its own data."""
    fitted = smf.logit("event ~ a + b", FRAME).fit(disp=0)
    result = ct.test_calibration(
        fitted, FRAME, label="event", test="calibration-in-the-large", rng=1
    )
    assert result.pvalue > 0.9


def test_results_of_statsmodels_without_probabilities_are_refused():
    for fitted in (sm.OLS(X[:, 0], DESIGN).fit(), sm.Poisson(CODES, DESIGN).fit(disp=0)):
        with pytest.raises(InvalidInput, match=r"results of Logit, Probit, MNLogit"):
            Predictions.from_model(fitted, DESIGN, CODES)


# ---- libraries that may be missing --------------------------------------------------------------


def boosted(library):
    """Return a small classifier of a library."""
    module = pytest.importorskip(library)
    kinds = {
        "xgboost": lambda: module.XGBClassifier(n_estimators=10, max_depth=2),
        "lightgbm": lambda: module.LGBMClassifier(n_estimators=10, num_leaves=4, verbose=-1),
        "catboost": lambda: module.CatBoostClassifier(
            iterations=10, depth=2, verbose=False, allow_writing_files=False
        ),
    }
    return kinds[library]()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("labels", [CODES, (CODES > 0).astype(int)], ids=["three", "two"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_boosted_trees_are_classifiers(library, labels):
    """A fitted one is a model, a data frame its features, and a calibrator maps what it gives."""
    model = boosted(library).fit(FRAME[list("abcd")], labels)
    found = Predictions.from_model(model, FRAME[list("abcd")], labels)
    np.testing.assert_allclose(found.probs, model.predict_proba(FRAME[list("abcd")]), atol=1e-6)
    assert found.m == len(np.unique(labels))
    assert 0 < ct.test_calibration(model, (FRAME[list("abcd")], labels), rng=1).pvalue <= 1
    ct.calibrators.TemperatureScaling().fit(found)


@pytest.mark.filterwarnings("ignore")
def test_booster_without_predict_proba_names_the_remedy():
    """The library's own learner gives numbers of any kind; a function says which."""
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(X, label=CODES > 0)
    booster = xgboost.train({"objective": "binary:logistic"}, data, 5)
    with pytest.raises(InvalidInput, match="pass a function of X that returns probabilities"):
        Predictions.from_model(booster, X, CODES > 0)
    found = Predictions.from_model(lambda X: booster.predict(xgboost.DMatrix(X)), X, CODES > 0)
    np.testing.assert_allclose(found.probs[:, 1], booster.predict(data), atol=1e-7)


@pytest.mark.filterwarnings("ignore")
def test_skorch_nets_are_classifiers():
    """In single precision, with the softmax that skorch infers from the criterion."""
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")
    torch.manual_seed(1)
    net = skorch.NeuralNetClassifier(
        torch.nn.Linear(4, 3), criterion=torch.nn.CrossEntropyLoss, max_epochs=2, verbose=0
    ).fit(X.astype(np.float32), CODES.astype(np.int64))
    found = Predictions.from_model(net, X.astype(np.float32), CODES)
    np.testing.assert_allclose(found.probs, net.predict_proba(X.astype(np.float32)), atol=1e-6)


@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16"])
def test_tensors_of_torch_are_arrays(kind):
    """Those that ask for a gradient too."""
    torch = pytest.importorskip("torch")
    logits = torch.tensor(X[:, :3], dtype=getattr(torch, kind))
    expected = torch.softmax(logits.double(), 1)
    labels = torch.multinomial(expected, 1, generator=torch.Generator().manual_seed(1))[:, 0]
    for given in (logits, logits.requires_grad_()):
        found = Predictions(given, labels, from_logits=True)
        np.testing.assert_allclose(found.probs, expected.detach(), atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_outputs_of_hugging_face_are_read_by_their_logits():
    """Those of a model and of a trainer; a model that is made here, with random weights."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=20,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        num_labels=3,
    )
    model = transformers.BertForSequenceClassification(config).eval()
    tokens = torch.randint(0, 20, (12, 5))
    with torch.no_grad():
        output = model(tokens)
    found = Predictions(output.logits, CODES[:12], from_logits=True)
    np.testing.assert_allclose(found.probs, torch.softmax(output.logits, 1), atol=1e-6)
    with pytest.raises(InvalidInput, match=r"pass \.logits with from_logits=True"):
        Predictions(output, CODES[:12])
    from transformers.trainer_utils import PredictionOutput

    given = PredictionOutput(output.logits.numpy(), CODES[:12], {})
    again = Predictions(given.predictions, given.label_ids, from_logits=True)
    np.testing.assert_allclose(again.probs, found.probs, atol=1e-6)


def test_model_of_several_labels_a_row_names_the_remedy():
    """As a forest fitted to two columns of labels; a model of one class names it as it is."""
    labels = np.column_stack([CODES > 0, CODES > 1]).astype(int)
    forest = RandomForestClassifier(3).fit(X, labels)
    with pytest.raises(InvalidInput, match=r"one label per row; got 2 of .*Predictions.multilabel"):
        ct.test_calibration(forest, X, labels)
    with pytest.raises(InvalidInput, match=r"one-hot rows; .*Predictions.multilabel"):
        Predictions(np.full((600, 2), 0.5), labels)
    with pytest.raises(InvalidInput, match=r"two classes or more; got one, 0\.0;"):
        ct.test_calibration(DummyClassifier().fit(X, np.zeros(600)), X, np.zeros(600))
