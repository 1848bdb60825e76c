"""The protocol of Wenger et al. 2020: classifiers, methods, Monte Carlo folds, measures."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import caltest as ct
from caltest.calibrators import (
    BBQ,
    BetaCalibrator,
    Calibrator,
    GPCalibrator,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from paper_checks.check import Row
from paper_checks.mondrian import MondrianForest
from paper_checks.sklearn_021 import AdaBoostSammeR

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINS = 100
LOGITS = ", logits"
# The text does not give the settings of the forest and of the network on MNIST. These two give its
# uncalibrated accuracies; 100 trees and pixels from 0 to 1 give those that the program stored.
OF_THE_TEXT = {"random_forest": "random_forest, 10 trees", "1layer_NN": "1layer_NN, pixels to 255"}
SEEDED = (
    "random_forest",
    "1layer_NN",
    "mondrian_forest",
    *OF_THE_TEXT.values(),
)  # a fit depends on the seed
CALIBRATION_ROWS, FOLDS = 1000, 10


# ---- data ---------------------------------------------------------------------------------------


@cache
def split(name: str, path: Path | None) -> tuple[Floats, Ints, Floats, Ints]:
    """Training and test part of a data set."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1200, random_state=42)
        return X_train, y_train, X_test, y_test
    stored = np.load(path)
    if name == "KITTI":
        labels = [(stored[f"y_{part}"] > 0).astype(int) for part in ("train", "test")]
        return stored["X_train"], labels[0], stored["X_test"], labels[1]
    # MNIST: the split of their program, of the 70,000 images in the order of OpenML.
    X = np.concatenate([stored["X_train"], stored["X_test"]]).reshape(70_000, -1)
    y = np.concatenate([stored["y_train"], stored["y_test"]]).astype(int)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=10_000, random_state=42)
    return X_train / np.float32(255), y_train, X_test / np.float32(255), y_test


def classifier(name: str, seed: int, m: int) -> BaseEstimator:
    """Classifier with the settings of their program."""
    return {
        "AdaBoost": lambda: AdaBoostSammeR(n_estimators=100, random_state=seed),
        "XGBoost": lambda: boosted_trees(seed, m),
        "mondrian_forest": lambda: MondrianForest(seed),
        "random_forest": lambda: RandomForestClassifier(100, random_state=seed),
        "random_forest, 10 trees": lambda: RandomForestClassifier(10, random_state=seed),
        "1layer_NN": lambda: MLPClassifier((100,), random_state=seed),
        "1layer_NN, pixels to 255": lambda: make_pipeline(
            FunctionTransformer(_to_255), MLPClassifier((100,), random_state=seed)
        ),
    }[name]()


def boosted_trees(seed: int, m: int) -> BaseEstimator:
    """XGBoost of two classes, or its settings in scikit-learn.

    Of several classes its exact splits take too long, and without the package there is no other
    way. XGBoost doubles the second derivatives of three classes or more, which halves its steps
    and its penalty in the units of scikit-learn.
    """
    if m == 2 and find_spec("xgboost"):
        from xgboost import XGBClassifier

        # The splits and the start of version 0.90.
        return XGBClassifier(
            n_estimators=100,
            max_depth=3,
            learning_rate=0.1,
            tree_method="exact",
            base_score=0.5,
            n_jobs=1,
            random_state=seed,
        )
    half = 0.5 if m > 2 else 1.0
    return HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.1 * half,
        max_depth=3,
        l2_regularization=half,
        early_stopping=False,
        random_state=seed,
    )


def _to_255(X: Floats) -> Floats:
    return X * X.dtype.type(255)


# ---- methods ------------------------------------------------------------------------------------


def calibrated(method: str, probs: Floats, labels: Ints, new: Floats) -> Floats:
    """New predictions, calibrated by a method that is fitted to `probs` and `labels`.

    Platt and temperature scaling of their program take probabilities for log odds and logits. A
    method whose name ends with LOGITS is given logits.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        warnings.filterwarnings("ignore", "the latent mean falls", UserWarning)
        if method == "Platt":
            return _platt_of_probabilities(probs, labels, new)
        fitted = _map(method.removesuffix(LOGITS), probs.shape[1])
        if method.endswith(LOGITS):
            fitted.set_params(from_logits=True)
        return fitted.fit(probs, labels).predict_proba(new)


def _map(method: str, m: int) -> Calibrator:
    classes = range(m)
    single: dict[str, Any] = {
        "Isotonic": IsotonicCalibrator,
        "Beta": BetaCalibrator,
        "BBQ": BBQ,
    }
    if method in single:
        return OneVsRest(single[method](), classes=classes)
    if method == "Temp":
        return TemperatureScaling(from_logits=True, classes=classes)
    if method == "Uncal":
        return Identity(classes=classes)
    inference = {"GPcalib": "monte-carlo", "GPcalib_approx": "mean"}[method]
    return GPCalibrator(covariance="diagonal", inference=inference, classes=classes)


def _platt_of_probabilities(probs: Floats, labels: Ints, new: Floats) -> Floats:
    columns = range(1, 2) if probs.shape[1] == 2 else range(probs.shape[1])
    found = []
    for k in columns:
        event = (labels == k).astype(int)
        if event.min() == event.max():  # as their program: a class that was not seen
            found.append(np.full(len(new), float(event[0])))
            continue
        fitted = PlattScaling(from_logits=True).fit(probs[:, k], event)
        found.append(fitted.predict_proba(new[:, k])[:, 1])
    if len(found) == 1:
        return np.column_stack([1 - found[0], found[0]])
    scores = np.column_stack(found)
    return scores / scores.sum(axis=1, keepdims=True)


# ---- measures -----------------------------------------------------------------------------------


def program_ece(probs: Floats, labels: Ints) -> float:
    """ECE of their program: 100 bins from 1/m to 1, and a grid near their centres for means."""
    top, low = probs.max(axis=1), 1 / probs.shape[1]
    right = probs.argmax(axis=1) == labels
    edges = np.linspace(low, 1, BINS + 1)
    cells = np.clip(np.searchsorted(edges, top, side="right") - 1, 0, BINS - 1)
    counts = np.bincount(cells, minlength=BINS)
    hits = np.bincount(cells, right, minlength=BINS)
    centres = np.linspace(low + 0.5 / BINS, 1 - 0.5 / BINS, BINS)
    return float(np.abs(hits - counts * centres).sum() / len(labels))


def measured(probs: Floats, labels: Ints) -> dict[str, float]:
    """Measures of the tables, and both sides of Theorem 1."""
    data = ct.Predictions(probs, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        over, under = ct.measures.overconfidence(data), ct.measures.underconfidence(data)
    ece = ct.measures.ece(data, lens="confidence", bins=BINS)
    return {
        "accuracy": float(np.mean(probs.argmax(axis=1) == labels)),
        "ECE": program_ece(probs, labels),
        "ECE, bin means": ece,
        "log loss": ct.measures.log_loss(data, eps=np.finfo(float).eps),
        "overconfidence": over,
        "underconfidence": under,
        "ECE less bound": ece - ct.measures.ece_lower_bound(data),
    }


def folds(
    probs: Floats,
    labels: Ints,
    methods: tuple[str, ...],
    n: int,
    rows: int,
    logits: Floats | None = None,
) -> list[Row]:
    """Measures by method over Monte Carlo folds: 1000 rows to calibrate, `rows` to test."""
    cuts = ShuffleSplit(
        n, test_size=rows, train_size=_calibration_rows(len(labels)), random_state=1
    )
    found: dict[str, list[dict[str, float]]] = {name: [] for name in methods}
    for fit, test in cuts.split(probs):
        for name in methods:
            scores = logits if logits is not None and name.endswith(LOGITS) else probs
            new = calibrated(name, scores[fit], labels[fit], scores[test])
            found[name].append(measured(new, labels[test]))
    return [{"method": name, "folds": n, **_summary(found[name])} for name in methods]


def _calibration_rows(n: int) -> int:
    return min(CALIBRATION_ROWS, n // 2)


def _summary(values: list[dict[str, float]]) -> Row:
    row: Row = {}
    for name in values[0]:
        numbers = np.array([value[name] for value in values])
        if name == "ECE less bound":
            row[f"{name}, least"] = float(numbers.min())
            continue
        row[name] = float(numbers.mean())
        row[f"{name}, sd"] = float(numbers.std())
    return row
