"""Illegal calls and the whole message of each.

The messages stand in test_illegal_calls.txt, in the order of the calls. Each has three parts: the
argument and its rule, the value and its place, the remedy.
"""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import Perceptron
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

from caltest import InvalidInput, Predictions, lenses
from caltest.calibrators import (
    CalibratedClassifier,
    Calibrator,
    EnsembleCalibrator,
    Identity,
    OneVsRest,
    PlattScaling,
)
from caltest.predictions import ModelData

P = [[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]]
Y = [1, 0, 1]
P3 = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [0.4, 0.3, 0.3]]
X = np.array([[0.0, 1.0], [2.0, 0.5], [3.0, 1.5]])
MODEL = GaussianNB().fit(X, Y)
MODEL_OF_TEXT = GaussianNB().fit(X, ["yes", "no", "yes"])
TABLE = pl.DataFrame(
    {"y": ["no", "yes", "no"], "p_no": [0.9, 0.2, 0.6], "p_yes": [0.1, 0.8, 0.4], "age": [7, 8, 9]}
)
READY = Predictions(P, Y)
ROWS = [0, 1, 2]
SCALED3 = Identity().fit(P3, [0, 1, 2])
READY3 = Predictions(P3, ["cat", "dog", "cat"], classes=["cat", "dog", "emu"])


class Tracked:
    """A tensor that records its gradient."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("Can't call numpy() on a tensor. Use tensor.detach().numpy() instead.")


def predictions(probs=P, labels=Y, **options):
    return lambda: Predictions(probs, labels, **options)


def from_model(model=MODEL, X=X, y=Y, **options):
    return lambda: Predictions.from_model(model, X, y, **options)


def from_frame(df=TABLE, label="y", **options):
    return lambda: Predictions.from_frame(df, label=label, **options)


def read(path, label="y", **options):
    return lambda: Predictions.read(path, label=label, **options)


def given(model, data=None, **options):
    """Take the (model, data) of test_calibration."""
    return lambda: ModelData(model, data, **options).predictions()


def fit(estimator, *data):
    return lambda: estimator.fit(*data)


def lens(key, seen=READY3):
    return lambda: lenses.resolve_lens(key)(seen)


CALLS = {
    "probs-above-one-in-a-named-class": predictions(
        [[0.2, 1.2], [0.5, 0.5]], [0, 1], classes=["cat", "dog"]
    ),
    "probs-above-one-in-one-dimension": predictions([0.2, 1.2], [0, 1]),
    "probs-below-zero": predictions([[-0.2, 1.2], [0.5, 0.5]], [0, 1]),
    "probs-missing": predictions([0.2, float("nan")], [0, 1]),
    "probs-missing-as-none": predictions([0.2, None], [0, 1]),
    "probs-masked": predictions(np.ma.array([0.2, 0.3], mask=[False, True]), [0, 1]),
    "probs-text": predictions(["0.5", "high"], [0, 1]),
    "probs-complex": predictions(np.array([0.5 + 1j, 0.5]), [0, 1]),
    "probs-sum-rounded": predictions([[0.5, 0.5], [0.33, 0.66]], [0, 1]),
    "probs-sum-far-from-one": predictions([[0.5, 0.5], [0.9, 0.8]], [0, 1], renormalize=True),
    "probs-sum-far-from-one-after-a-rounded-row": predictions([[0.33, 0.66], [0.9, 0.8]], [0, 1]),
    "probs-sum-without-a-class": predictions([[0.5, 0.5], [0.1, 0.2]], [0, 1]),
    "probs-sum-of-ten-rounded-classes": predictions([[0.5, 0.53]], [0], renormalize=True),
    "probs-per-cent": predictions([[20, 80.5], [60, 40]], [0, 1]),
    "probs-logits-missing": predictions([0.5, float("nan")], [0, 1], from_logits=True),
    "probs-logits-infinite": predictions([[0.5, np.inf], [0, 1]], [0, 1], from_logits=True),
    "probs-logits-all-minus-infinity": predictions(
        [[0, 1], [-np.inf, -np.inf]], [0, 1], from_logits=True
    ),
    "probs-empty": predictions([], []),
    "probs-scalar": predictions(0.5, 1),
    "probs-three-dimensions": predictions(np.full((2, 2, 2), 0.5), [0, 1]),
    "probs-ragged": predictions([[0.5, 0.5], [1.0]], [0, 1]),
    "labels-swapped": predictions(Y, P),
    "labels-swapped-text": predictions(["a", "b", "a"], P),
    "labels-too-few": predictions(labels=[1, 0]),
    "labels-scalar": predictions(labels=1),
    "labels-numbered-from-one": predictions(P3, [1, 2, 3]),
    "labels-minus-one-and-one": predictions(labels=[-1, 1, 1]),
    "labels-of-no-class": predictions(P3, ["cat", "cow", "cat"], classes=["cat", "dog", "emu"]),
    "labels-text-where-classes-are-numbers": predictions(labels=["1", "0", "2"], classes=[0, 1]),
    "labels-fractions": predictions([0, 1, 1.0], [0.5, 1.5, 0.5]),
    "labels-not-whole": predictions(labels=[1.0, 0.0, 0.5]),
    "labels-missing": predictions(labels=[1.0, float("nan"), 0.0]),
    "labels-missing-text": predictions(labels=["a", None, "b"]),
    "labels-mixed": predictions(labels=[1, "0", 1]),
    "labels-dates": predictions(labels=np.array(["2020-01-01"] * 3, dtype="M8[D]")),
    "labels-booleans-for-three-classes": predictions(P3, [True, False, True]),
    "labels-one-hot-with-two-ones": predictions(labels=[[1, 0], [1, 1], [0, 1]]),
    "labels-unseen-class-without-names": predictions(P3, ["cat", "dog", "cat"]),
    "labels-classes-too-few": predictions(P3, [0, 1, 2], classes=["cat", "dog"]),
    "labels-classes-twice": predictions(classes=["cat", "cat"]),
    "labels-classes-blank": predictions(P3, ["cat", "", "dog"]),
    "labels-classes-unordered": predictions(classes={"cat"}),
    "labels-weight-negative": predictions(sample_weight=[1, -1, 1]),
    "labels-weights-all-zero": predictions(sample_weight=[0, 0, 0]),
    "labels-weights-too-few": predictions(sample_weight=[1, 1]),
    "labels-group-missing": predictions(groups=["a", None, "a"]),
    "labels-groups-too-many": predictions(groups=["a", "b", "c", "d"]),
    "model-not-fitted": from_model(GaussianNB()),
    "model-class-instead-of-object": from_model(GaussianNB),
    "model-no-predict-proba": from_model(Perceptron().fit(X, Y)),
    "model-method-predict": from_model(MODEL.predict),
    "model-method-predict-of-text": given(MODEL_OF_TEXT.predict, (X, ["no", "yes", "no"])),
    "model-function-of-text": from_model(lambda X: ["yes"] * len(X)),
    "model-no-model": from_model("model.pkl"),
    "model-swapped": from_model(X=np.array(Y), y=X),
    "model-lengths-differ": from_model(y=[1, 0]),
    "model-labels-of-no-class": from_model(y=["no", "yes", "no"]),
    "model-labels-forgotten": given(MODEL, X),
    "model-three-items": given(MODEL, (X, Y, Y)),
    "model-no-data": given(MODEL),
    "model-neither-model-nor-probabilities": given(None, (X, Y)),
    "model-path-as-model": given("predictions.csv", Y),
    "model-label-without-table": given(P, Y, label="y"),
    "model-by-column-without-table": given(P, Y, by="age"),
    "model-by-groups-that-are-not-there": given(READY, by=True),
    "model-by-of-another-length": given(P, Y, by=[0]),
    "model-predictions-and-labels": given(READY, Y),
    "model-logits-of-predictions": given(READY, from_logits=True),
    "model-array-and-predictions": given(P, READY),
    "model-gradient": given(Tracked(), Y),
    "model-no-seed": lambda: READY.simulate("seed"),
    "model-seed-negative": lambda: READY.simulate(-1),
    "model-global-random-state": lambda: READY.simulate(np.random.RandomState(1)),
    "model-no-rows": lambda: READY.subset([False, False, False]),
    "model-row-outside": lambda: READY.subset([0, 3]),
    "model-rows-as-fractions": lambda: READY.subset([0.5]),
    "model-no-groups": READY.by_group,
    "table-not-a-table": from_frame({"y": [1]}),
    "table-label-misspelt": from_frame(label="Y"),
    "table-label-not-given": given(None, TABLE),
    "table-prefix-of-no-column": from_frame(probs="q_"),
    "table-no-column-with-the-usual-prefix": from_frame(TABLE.select("y", "age")),
    "table-probs-misspelt": from_frame(probs=["p_no", "p_yess"]),
    "table-groups-misspelt": from_frame(groups="agee"),
    "table-groups-are-the-labels": from_frame(groups="y"),
    "table-by-the-labels": given(None, TABLE, label="y", by="y"),
    "table-by-the-labels-with-model": given(MODEL, TABLE, label="y", by="y"),
    "table-columns-not-the-labels": predictions(TABLE[["p_no", "p_yes"]], ["n", "y", "n"]),
    "table-text-as-probs": from_frame(TABLE.with_columns(p_no=pl.Series(["0.9", "0.2", "n/a"]))),
    "table-labels-not-the-columns": from_frame(TABLE.with_columns(y=pl.Series(["0", "1", "0"]))),
    "table-features-misspelt": given(MODEL, TABLE, label="y", features=["agee"]),
    "table-features-without-model": given(None, TABLE, label="y", features=["age"]),
    "table-probs-with-model": given(MODEL, TABLE, label="y", probs="p_"),
    "table-file-missing": read("predictoins.csv"),
    "table-file-of-unknown-kind": read("predictions.sav"),
    "table-file-with-a-word-among-numbers": read("word.csv"),
    "table-file-with-a-gap": read("gap.csv"),
    "lens-misspelt": lens("confidense"),
    "lens-cut-short": lens("conf"),
    "lens-rank-left-out": lens("top-R"),
    "lens-rank-zero": lens("top-0"),
    "lens-rank-too-large": lens("top-4"),
    "lens-all-within": lens("within-top-3"),
    "lens-all-largest": lens("largest-3"),
    "lens-option-of-none": lens("confidence[cat]"),
    "lens-class-instead-of-object": lens(lenses.Confidence),
    "lens-function-unwrapped": lens(lambda p, y: (p, y)),
    "lens-no-key": lens(3),
    "lens-no-such-class": lens("classwise[cow]"),
    "lens-family-called": lens("classwise"),
    "lens-other-family-called": lens("top-label"),
    "lens-grouped-class-twice": lens(lenses.Grouped([["cat", "dog"], ["dog"]])),
    "lens-grouped-all-in-one": lens("grouped[cat+dog+emu]"),
    "lens-grouped-empty": lambda: lenses.Grouped([]),
    "lens-grouped-empty-group": lambda: lenses.Grouped([["cat"], []]),
    "lens-grouped-by-names": lambda: lenses.Grouped({"pet": ["cat", "dog"]}),
    "lens-custom-called": lambda: lenses.Custom(3),
    "lens-custom-without-labels": lens(lenses.Custom(lambda p, _: p)),
    "lens-custom-fewer-rows": lens(lenses.Custom(lambda p, y: (p[:2], y[:2]))),
    "lens-custom-no-probabilities": lens(lenses.Custom(lambda p, y: (2 * p, y))),
    "calibrator-labels-forgotten": fit(Identity(), P),
    "calibrator-swapped": fit(Identity(), Y, P),
    "calibrator-sparse": fit(Identity(), sparse.csr_array(P), Y),
    "calibrator-one-column": fit(Identity(), [[0.2], [0.8]], [0, 1]),
    "calibrator-probs-above-one": fit(Identity(), [[0.2, 0.8], [1.2, -0.2]], [0, 1]),
    "calibrator-probs-sum": fit(Identity(), [[0.2, 0.8], [0.6, 0.6]], [0, 1]),
    "calibrator-logits-infinite": fit(Identity(from_logits=True), [[0.2, np.inf]], [0]),
    "calibrator-labels-measured": fit(Identity(), P, [0.5, 1.0, 2.5]),
    "calibrator-labels-missing": fit(Identity(), P, [0, 1, float("nan")]),
    "calibrator-labels-infinite": fit(Identity(), P, [0, 1, float("inf")]),
    "calibrator-labels-complex": fit(Identity(), P, [0, 1, 1j]),
    "calibrator-labels-of-no-class": fit(Identity(), P, [0, 1, 2]),
    "calibrator-class-without-rows": fit(Identity(), P3, ["cat", "dog", "cat"]),
    "calibrator-weights-all-zero": fit(Identity(), P, Y, [0, 0, 0]),
    "calibrator-predictions-and-labels": fit(Identity(), READY, Y),
    "calibrator-predictions-as-logits": fit(Identity(from_logits=True), READY),
    "calibrator-three-classes-for-two": fit(PlattScaling(), P3, [0, 1, 2]),
    "calibrator-one-dimension-for-three": lambda: SCALED3.predict_proba([0.2, 0.8]),
    "calibrator-missing-where-applied": lambda: SCALED3.predict_proba([[0.2, 0.8, np.nan]]),
    "calibrator-inside-is-a-class": fit(OneVsRest(PlattScaling), P3, [0, 1, 2]),
    "calibrator-inside-is-a-classifier": fit(OneVsRest(GaussianNB()), P3, [0, 1, 2]),
    "calibrator-no-jobs": fit(OneVsRest(Identity(), n_jobs=0), P3, [0, 1, 2]),
    "calibrator-one-fold": fit(EnsembleCalibrator(Identity(), cv=1), P, Y),
    "calibrator-rows-for-folds": fit(EnsembleCalibrator(Identity(), cv=[0, 1]), P, Y),
    "calibrator-row-of-no-fold": fit(EnsembleCalibrator(Identity(), cv=[([0, 1], [3])]), P, Y),
    "calibrator-fold-without-weight": fit(
        EnsembleCalibrator(Identity(), cv=[([0, 1], [2])]), P, Y, [1, 1, 0]
    ),
    "calibrator-seed-of-folds": fit(EnsembleCalibrator(Identity(), random_state="a"), P, Y),
    "calibrator-grid-misspelt": fit(
        EnsembleCalibrator(OneVsRest(Identity()), param_grid={"n_job": [1]}), P, Y
    ),
    "calibrator-grid-of-one-value": fit(
        EnsembleCalibrator(OneVsRest(Identity()), param_grid={"n_jobs": 1}), P, Y
    ),
    "calibrator-grid-of-values": fit(EnsembleCalibrator(Identity(), param_grid=[1, 2]), P, Y),
    "calibrator-from-other-dict": lambda: Calibrator.from_dict({"lam": 1}),
    "calibrator-from-misspelt-dict": lambda: Calibrator.from_dict(
        {"calibrator": "platts", "options": {}, "state": {}}
    ),
    "calibrator-from-dict-of-another": lambda: PlattScaling.from_dict(SCALED3.to_dict()),
    "calibrator-saved-with-a-splitter": lambda: fit(
        EnsembleCalibrator(Identity(), cv=KFold(2)), P, Y
    )().to_json(),
    "classifier-one-class": fit(CalibratedClassifier(GaussianNB(), Identity()), X, [1, 1, 1]),
    "classifier-of-no-probabilities": fit(
        CalibratedClassifier(GaussianNB(), Identity(from_logits=True), cv=[(ROWS, ROWS)]), X, Y
    ),
    "classifier-calibrator-by-name": fit(CalibratedClassifier(MODEL, "isotonic"), X, Y),
    "classifier-labels-of-no-class": fit(
        CalibratedClassifier(MODEL, Identity(), cv="prefit"), X, [0, 1, 2]
    ),
    "classifier-row-held-out-twice": fit(
        CalibratedClassifier(GaussianNB(), Identity(), cv=[(ROWS, ROWS)] * 2, ensemble=False), X, Y
    ),
}


MESSAGES = Path(__file__).with_suffix(".txt")


def messages():
    entries = MESSAGES.read_text(encoding="utf-8").split("\n\n")
    return {key: message.strip() for key, message in (e.split("\n", 1) for e in entries)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with faulty files."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "word.csv").write_text("y,p_0,p_1\n0,0.9,0.1\n1,n/a,0.8\n")
    (tmp_path / "gap.csv").write_text("y,p_0,p_1\n0,0.9,0.1\n,0.2,0.8\n")
    (tmp_path / "predictions.sav").write_bytes(b"$FL2\0\0\0")


@pytest.mark.cases(999)
@pytest.mark.parametrize("key", CALLS)
def test_illegal_call_names_rule_value_and_remedy(key):
    """An illegal call raises InvalidInput with its message, word for word."""
    with pytest.raises(InvalidInput, match=f"^{re.escape(messages()[key])}$"):
        CALLS[key]()


def test_illegal_calls_have_no_message_left_over():
    """Each message of the file belongs to a call."""
    assert list(messages()) == list(CALLS)
