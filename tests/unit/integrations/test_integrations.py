"""skore, MLflow and evidently, each with the real library; skipped where it is not installed."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import caltest as ct
from caltest import InvalidInput

# Their imports warn of what is theirs.
pytestmark = pytest.mark.filterwarnings("ignore")

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2000, 1)) + 0.5 * RNG.normal(size=(2000, 10))  # naive Bayes is too sure
Y = (RNG.random(2000) < expit(0.3 * X.sum(axis=1))).astype(int)
HALF = slice(None, 1000), slice(1000, None)


@pytest.mark.parametrize("library", ["skore", "mlflow", "evidently"])
def test_missing_library_names_the_extra(library, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"caltest.integrations.of_{library}", raising=False)
    calls = {
        "skore": ct.integrations.skore_check,
        "mlflow": lambda: ct.integrations.mlflow_metric(probs=[0.5]),
        "evidently": ct.integrations.evidently_metric,
    }
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'caltest\[{library}\]'"):
        calls[library]()


# ---- skore --------------------------------------------------------------------------------------


def skore_report(model, **options):
    """Evaluate a model, with the check and the metric."""
    skore = pytest.importorskip("skore")
    report = skore.evaluate(model, X, Y, **options)
    report.checks.add([ct.integrations.skore_check()])
    report.metrics.add(ct.metrics.get_scorer("neg_brier"), name="neg_brier")
    return report


@pytest.mark.parametrize("splitter", [0.5, 3])
def test_skore_lists_a_model_that_is_not_calibrated(splitter):
    """As an issue with the code, on a test set or in folds; a calibrated one passes."""
    found = skore_report(GaussianNB(), splitter=splitter).checks.summarize().frame()
    row = found[found["code"] == "CAL001"].iloc[0]
    assert row["section"] == "issue"
    assert row["title"] == "Probabilities are not calibrated"
    assert "Not calibrated (p = " in row["explanation"]
    assert "rng=0" in row["explanation"]
    good = skore_report(LogisticRegression(), splitter=splitter).checks.summarize().frame()
    assert good[good["code"] == "CAL001"].iloc[0]["section"] == "passed"


def test_skore_shows_a_scorer_as_a_metric():
    """With the value of the measure on the test set."""
    report = skore_report(GaussianNB(), splitter=0.5)
    p = report.estimator_.predict_proba(report.X_test)
    assert report.metrics.neg_brier() == pytest.approx(-ct.measures.brier_score(p, report.y_test))


def test_skore_check_is_not_applicable_to_a_regression():
    """It is listed as such, and no error."""
    from sklearn.linear_model import LinearRegression

    skore = pytest.importorskip("skore")
    report = skore.evaluate(LinearRegression(), X, X[:, 0], splitter=0.5)
    report.checks.add([ct.integrations.skore_check(code="CAL009", severity="tip")])
    found = report.checks.summarize().frame(section="not_applicable")
    assert "CAL009" in set(found["code"])


# ---- MLflow -------------------------------------------------------------------------------------


def test_mlflow_logs_the_metric_and_the_report(tmp_path, monkeypatch):
    """Of a static data set and of a model, with the value of the measure."""
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    model = GaussianNB().fit(X[HALF[0]], Y[HALF[0]])
    p = model.predict_proba(X[HALF[1]])
    frame = pd.DataFrame({"y": Y[HALF[1]], "predicted": model.predict(X[HALF[1]])})
    with mlflow.start_run() as run:
        found = mlflow.models.evaluate(
            data=frame,
            targets="y",
            predictions="predicted",
            model_type="classifier",
            extra_metrics=[
                ct.integrations.mlflow_metric("ece", probs=p),
                ct.integrations.mlflow_metric("brier", probs=lambda: p, name="own"),
            ],
            custom_artifacts=[ct.integrations.mlflow_report(probs=p, n_resamples=99, rng=1)],
        )
    assert found.metrics["caltest_ece"] == pytest.approx(ct.measures.ece(p, Y[HALF[1]]))
    assert found.metrics["own"] == pytest.approx(ct.measures.brier_score(p, Y[HALF[1]]))
    logged = mlflow.MlflowClient().get_run(run.info.run_id).data.metrics
    assert logged["caltest_ece"] == pytest.approx(found.metrics["caltest_ece"])
    folder = f"{run.info.artifact_uri}/"
    page = mlflow.artifacts.load_text(f"{folder}calibration_report.html")
    assert "<!doctype html>" in page[:100].lower()
    told = mlflow.artifacts.load_dict(found.artifacts["calibration_report"].uri)
    assert told["schema"].startswith("caltest/report/")


# ---- evidently ----------------------------------------------------------------------------------


def evidently_dataset(probs, y, names=("a", "b", "c")):
    """Make a data set of evidently: two classes by one column, more by one each."""
    evidently = pytest.importorskip("evidently")
    if probs.shape[1] == 2:
        frame = pd.DataFrame({"y": y, "score": probs[:, 1]})
        kind = evidently.BinaryClassification(target="y", prediction_probas="score", pos_label=1)
    else:
        frame = pd.DataFrame(probs, columns=list(names)).assign(y=np.array(names)[y])
        kind = evidently.MulticlassClassification(target="y", prediction_probas=list(names))
    return evidently.Dataset.from_pandas(
        frame, data_definition=evidently.DataDefinition(classification=[kind])
    )


def evidently_values(report):
    """Return the values of a report, by the name of the metric."""
    found = json.loads(report.json())["metrics"]
    return {one["metric_name"]: one["value"] for one in found}


@pytest.mark.parametrize("m", [2, 3])
def test_evidently_reports_measures_and_pvalue(m):
    """For two classes and more, with the lens that is named."""
    evidently = pytest.importorskip("evidently")
    data = ct.datasets.generative_model("M2", n=300, m=m, rng=1)
    metrics = [
        ct.integrations.evidently_metric("brier"),
        ct.integrations.evidently_metric("ece", lens="confidence"),
        ct.integrations.evidently_metric("pvalue"),
    ]
    current = evidently_dataset(data.probs, data.labels)
    values = evidently_values(evidently.Report(metrics).run(current, None))
    expected = [
        ct.measures.brier_score(data),
        ct.measures.ece(data, lens="confidence"),
        ct.test_calibration(data, rng=0).pvalue,
    ]
    assert list(values.values()) == pytest.approx(expected)
    assert any("lens=confidence" in name for name in values)


def test_evidently_compares_with_a_reference_and_tests():
    """The value of the data before, and a bound that fails."""
    evidently = pytest.importorskip("evidently")
    from evidently.tests import lt

    good, bad = (ct.datasets.generative_model(name, n=500, m=2, rng=1) for name in ("M1", "M2"))
    metric = ct.integrations.evidently_metric("ece", tests=[lt(0.01)])
    sets = [evidently_dataset(one.probs, one.labels) for one in (bad, good)]
    snapshot = evidently.Report([metric], include_tests=True).run(*sets)
    found = json.loads(snapshot.json())
    assert found["tests"][0]["status"] == "FAIL"
    assert found["metrics"][0]["value"] == pytest.approx(ct.measures.ece(bad))


def test_evidently_says_what_the_definition_lacks():
    evidently = pytest.importorskip("evidently")
    frame = pd.DataFrame({"y": [0, 1], "predicted": [0, 1]})
    kind = evidently.BinaryClassification(target="y", prediction_labels="predicted")
    given = evidently.Dataset.from_pandas(
        frame, data_definition=evidently.DataDefinition(classification=[kind])
    )
    report = evidently.Report([ct.integrations.evidently_metric()])
    with pytest.raises(InvalidInput, match="classification with prediction_probas"):
        report.run(given, None).dict()


@pytest.mark.parametrize(
    ("labels", "message"),
    [(["no", "yes"], "pos_label must be one of the labels in 'y'; got 1"), ([1, None], "missing")],
)
def test_evidently_takes_no_label_for_another(labels, message):
    """One that is missing, or all where the positive one is not named, is no non-event."""
    evidently = pytest.importorskip("evidently")
    frame = pd.DataFrame({"y": labels, "score": [0.2, 0.7]})
    kind = evidently.BinaryClassification(target="y", prediction_probas="score", pos_label=1)
    given = evidently.Dataset.from_pandas(
        frame, data_definition=evidently.DataDefinition(classification=[kind])
    )
    with pytest.raises(InvalidInput, match=message):
        evidently.Report([ct.integrations.evidently_metric()]).run(given, None).dict()
