"""The non-neural experiment of Kull et al. (2019): data sets, classifiers, calibrators, measures.

Settings that the paper does not print are those of its code, dirichletcal/experiments_neurips at
commit 54989ed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest import Predictions, test_calibration
from caltest.calibrators import (
    BetaCalibrator,
    BinaryCalibrator,
    DirichletCalibrator,
    EnsembleCalibrator,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    TemperatureScaling,
)
from caltest.measures import brier_score, classwise_ece, ece, log_loss, mce
from paper_checks.check import Row
from paper_checks.sklearn_021 import AdaBoostSammeR, RegularizedQDA

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Map = Callable[[Floats], Floats]

# The 21 sets of the paper, all in --data/uci. ("letter" and others there are not among them.)
SETS = (
    "abalone",
    "balance-scale",
    "car",
    "cleveland",
    "dermatology",
    "glass",
    "iris",
    "landsat-satellite",
    "libras-movement",
    "mfeat-karhunen",
    "mfeat-morphological",
    "mfeat-zernike",
    "optdigits",
    "page-blocks",
    "pendigits",
    "segment",
    "shuttle",
    "vehicle",
    "vowel",
    "waveform-5000",
    "yeast",
)
BUNDLED = ("iris", "wine", "digits")  # of scikit-learn, where there is no --data
CLASSIFIERS = (
    "nbayes",
    "tree",
    "logistic",
    "forest",
    "adas",
    "knn",
    "lda",
    "mlp",
    "qda",
    "svc-linear",
    "svc-rbf",
)
CALIBRATORS = ("DirL2", "Beta", "FreqB", "Isot", "WidB", "TempS", "Uncal")  # tables 1 and 2
ALL_CALIBRATORS = (*CALIBRATORS, "DirODIR", "VecS")  # the supplement
# The same by the loss of the paper's code, see `_fit_clipped`.
CLIPPED = {f"{name}, clipped": name for name in ("TempS", "VecS", "DirL2", "DirODIR")}
# The number of bins chosen for each class, as in the paper's code; `FreqB` has one for all.
BY_CLASS = ("FreqB, by class", "WidB, by class")
MEASURES = ("accuracy", "log-loss", "Brier", "MCE", "conf-ECE", "cw-ECE", "p-conf-ECE", "p-cw-ECE")
HIGHER_IS_BETTER = ("accuracy", "p-conf-ECE", "p-cw-ECE")
PENALTIES = {
    "DirL2": {"lam": [10.0**k for k in range(3, -8, -1)]},
    "DirODIR": {key: [10.0**k for k in range(3, -8, -2)] for key in ("lam", "mu")},
}
BINS = (5, 10, 15, 20, 25, 30)
OUTER, INNER = 5, 3  # folds
ROUNDS = 6  # of choosing the rows that have a gradient
CLIP = 1e-15  # of scikit-learn's log loss then
# Below which the paper's code clips a probability before its logarithm; caltest's own is 2e-16.
SMALLEST = float(np.finfo(float).tiny)
CALIBRATED = 0.05  # a p-value above it counts as calibrated in figure 3


def data_set(name: str, path: str | None) -> tuple[Floats, Ints]:
    """Features, standardised over the whole set as in the paper's code, and labels 0, 1, ..."""
    if path is None:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    else:
        with np.load(Path(path)) as file:
            X, y = file["X"], file["y"]
    X = np.asarray(X, dtype=float)
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale == 0, 1.0, scale), np.asarray(y, dtype=np.int64)


def classifier(name: str) -> Any:
    """Classifier that is not fitted.

    What was the default in scikit-learn 0.21 is spelled out: SAMME.R for AdaBoost, one class
    against the rest with liblinear for logistic regression.
    """
    from sklearn import discriminant_analysis, ensemble, naive_bayes, neighbors, neural_network
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    seed = 42
    made: dict[str, Callable[[], Any]] = {
        "nbayes": naive_bayes.GaussianNB,
        "tree": lambda: DecisionTreeClassifier(max_depth=5, random_state=seed),
        "logistic": lambda: OneVsRestClassifier(
            LogisticRegression(solver="liblinear", random_state=seed)
        ),
        "forest": lambda: ensemble.RandomForestClassifier(n_estimators=200, random_state=seed),
        "adas": lambda: AdaBoostSammeR(n_estimators=200, random_state=seed),
        "knn": lambda: neighbors.KNeighborsClassifier(3),
        "lda": discriminant_analysis.LinearDiscriminantAnalysis,
        "mlp": lambda: neural_network.MLPClassifier(random_state=seed),
        "qda": lambda: RegularizedQDA(reg_param=0.1),
        "svc-linear": lambda: SVC(kernel="linear", C=0.025, probability=True, random_state=seed),
        "svc-rbf": lambda: SVC(gamma=2, C=1, probability=True, random_state=seed),
    }
    return made[name]()


# ---------------------------------------------------------------------------------- calibrators


def fit_map(name: str, probs: Floats, labels: Ints, other: Floats, other_labels: Ints) -> Map:
    """Calibration map of a method.

    Parameters
    ----------
    name : str
        The method.
    probs, labels : (n, m) array, (n,) array
        Calibration set: the inner fold that the classifier has not seen.
    other, other_labels : (n', m) array, (n',) array
        The rows that the classifier was fitted to. By their log loss the paper's code chooses the
        penalty of DirL2 and the number of bins.

    Returns
    -------
    callable
        Takes predictions (n'', m), returns calibrated ones.
    """
    if name in CLIPPED:
        return _fit_clipped(CLIPPED[name], probs, labels, other, other_labels)
    if name in {"Uncal", "Isot"}:
        return _plain(name, probs.shape[1]).fit(probs, labels).predict_proba
    # One fold: fitted to the first rows, compared on the others.
    rows = np.arange(len(labels)), len(labels) + np.arange(len(other_labels))
    both = np.vstack([probs, other]), np.concatenate([labels, other_labels])
    if name in {"FreqB", "WidB", *BY_CLASS}:
        return _binned(name, probs.shape[1], rows).fit(*both).predict_proba
    if name in PENALTIES:
        calibrator = _penalised(name, probs.shape[1], rows)
        probs, labels = both
    else:
        calibrator = _linear(name, probs.shape[1])
    fitted = calibrator.fit(_logs(probs), labels)
    return lambda values: fitted.predict_proba(_logs(values))


def _fit_clipped(name: str, probs: Floats, labels: Ints, other: Floats, other_labels: Ints) -> Map:
    """Calibration map by a loss that clips probabilities at machine epsilon.

    A label that has less has no gradient. Rows of such labels are left out, by the predictions at
    first and then by the map, until they stay the same.
    """
    counted = _possible(probs, labels)
    for _ in range(ROUNDS):
        found = fit_map(name, probs[counted], labels[counted], other, other_labels)
        before, counted = counted, _possible(found(probs), labels)
        if np.array_equal(before, counted):
            break
    return found


def _possible(probs: Floats, labels: Ints) -> NDArray[np.bool_]:
    possible: NDArray[np.bool_] = probs[np.arange(labels.size), labels] > np.finfo(float).eps
    return possible


def _logs(probs: Floats) -> Floats:
    return np.log(np.maximum(probs, SMALLEST))


def _plain(name: str, m: int) -> Any:
    classes = list(range(m))
    return (
        Identity(classes=classes)
        if name == "Uncal"
        else OneVsRest(IsotonicCalibrator(), classes=classes)
    )


def _linear(name: str, m: int) -> Any:
    """Calibrator of log probabilities."""
    common: dict[str, Any] = {"from_logits": True, "classes": list(range(m))}
    if name == "Beta":
        return OneVsRest(BetaCalibrator(constrained=False), **common)
    if name == "TempS":
        return TemperatureScaling(**common)
    return DirichletCalibrator(reg="l2", lam=0.0, off_diagonal="zero", **common)  # VecS


def _penalised(name: str, m: int, rows: tuple[Ints, Ints]) -> EnsembleCalibrator:
    """Dirichlet calibration with the penalties that have the least log loss on the second rows."""
    reg = "l2" if name == "DirL2" else "odir"
    dirichlet = DirichletCalibrator(reg=reg, reference_class=True, classes=list(range(m)))
    return EnsembleCalibrator(dirichlet, param_grid=PENALTIES[name], cv=[rows], from_logits=True)


@dataclass(kw_only=True, eq=False, repr=False)
class PaperBinning(BinaryCalibrator):
    """Histogram binning as in the paper's code.

    It is not `HistogramBinning`: bins are closed on the left, those of equal width lie between the
    least and the largest score, and frequencies are (events + 1) / (observations + 2).
    """

    bins: int = 10
    quantile: bool = False

    def _fit_event(self, inputs: Any, event: NDArray[np.bool_], weight: Floats | None) -> None:
        score = inputs.event
        if self.quantile:
            ordered = np.sort(score)
            edges = np.append(ordered[:: int(np.ceil(score.size / self.bins))], ordered[-1])
        else:
            edges = np.linspace(score.min(), score.max(), self.bins + 1)
        edges[0], edges[-1] = -np.inf, np.inf
        at = np.digitize(score, edges) - 1
        count = np.bincount(at, minlength=edges.size - 1)
        events = np.bincount(at, event, minlength=edges.size - 1)
        self.edges_, self.values_ = edges, (events + 1) / (count + 2)

    def _event(self, inputs: Any) -> Floats:
        found: Floats = self.values_[np.digitize(inputs.event, self.edges_) - 1]
        return found


def _binned(name: str, m: int, rows: tuple[Ints, Ints]) -> OneVsRest | EnsembleCalibrator:
    """Binning with the number of bins that has the least log loss on the second rows.

    Of all classes together, or of each against the rest.
    """
    single, options = PaperBinning(quantile=name.startswith("FreqB")), {"cv": [rows]}
    if name in BY_CLASS:
        search = EnsembleCalibrator(single, param_grid={"bins": BINS}, **options)
        return OneVsRest(search, classes=list(range(m)))
    grid = {"calibrator__bins": BINS}
    return EnsembleCalibrator(OneVsRest(single), param_grid=grid, classes=list(range(m)), **options)


# ------------------------------------------------------------------------------------ experiment


def repetition(
    name: str,
    path: str | None,
    key: str,
    number: int,
    resamples: int,
    methods: tuple[str, ...] = CALIBRATORS,
) -> list[Row]:
    """One external cross-validation of a classifier on a data set: a row for each calibrator.

    In each of 5 outer folds the classifier is fitted three times to two thirds of the rest, the
    maps to the other third, and the three calibrated predictions of the fold are averaged.

    Parameters
    ----------
    name, path : str
        The data set.
    key : str
        The classifier.
    number : int
        Number of the repetition: the seed of the folds.
    resamples : int
        Resamples of the exact null of the ECEs.
    methods : tuple of str
        The calibrators.

    Returns
    -------
    list of dict
        Means of the measures over the outer folds, and the shares of folds with p > 0.05.
    """
    from sklearn.model_selection import StratifiedKFold

    X, y = data_set(name, path)
    found: dict[str, list[dict[str, float]]] = {method: [] for method in methods}
    outer = StratifiedKFold(OUTER, shuffle=True, random_state=number)
    with warnings.catch_warnings():
        # Of the deprecation of SVC(probability=True), of sets that are separated, of optimisers
        # that stop after their number of steps: they are part of the experiment.
        warnings.simplefilter("ignore")
        for train, test in outer.split(X, y):
            averaged = _averaged_maps(X[train], y[train], X[test], key, number, methods)
            for method, probs in averaged.items():
                found[method].append(_measures(probs, y[test], resamples))
    base = {"set": name, "classifier": key, "repetition": number}
    return [
        {**base, "calibrator": method, **{k: _mean(folds, k) for k in folds[0]}}
        for method, folds in found.items()
    ]


def _mean(folds: list[dict[str, float]], key: str) -> float:
    return float(np.mean([fold[key] for fold in folds]))


def _averaged_maps(
    X: Floats, y: Ints, X_test: Floats, key: str, seed: int, methods: tuple[str, ...]
) -> dict[str, Floats]:
    from sklearn.model_selection import StratifiedKFold

    sums = dict.fromkeys(methods, 0.0)
    for fit, held in StratifiedKFold(INNER, shuffle=True, random_state=seed).split(X, y):
        model = classifier(key).fit(X[fit], y[fit])
        on_fit, on_held, on_test = (_probs(model, part) for part in (X[fit], X[held], X_test))
        for method in methods:
            mapped = fit_map(method, on_held, y[held], on_fit, y[fit])
            sums[method] = sums[method] + mapped(on_test) / INNER
    return sums


def _probs(model: Any, X: Floats) -> Floats:
    """Predictions of a fitted model; rows that are not numbers or sum to 0 become uniform."""
    probs = np.nan_to_num(np.asarray(model.predict_proba(X), dtype=float))
    total = probs.sum(axis=1, keepdims=True)
    return np.where(total > 0, probs / np.where(total > 0, total, 1.0), 1 / probs.shape[1])


def _measures(probs: Floats, labels: Ints, resamples: int) -> dict[str, float]:
    m = probs.shape[1]
    predictions = Predictions(probs, labels, classes=np.arange(m), renormalize=True)
    options = {"lens": "confidence", "bins": 15}
    found = {
        "accuracy": float(np.mean(probs.argmax(axis=1) == labels)),
        "log-loss": float(log_loss(predictions, eps=CLIP)),
        "Brier": float(brier_score(predictions)),
        "MCE": float(mce(predictions, **options)),
        "conf-ECE": float(ece(predictions, **options)),
        # The paper's code has 14 bins for each class; the mean over classes.
        "cw-ECE": float(classwise_ece(predictions, bins=14)),
        "p-conf-ECE": _pvalue(predictions, "ece", resamples, **options),
        "p-cw-ECE": _pvalue(predictions, "classwise-ece", resamples, bins=14),
    }
    for key in ("p-conf-ECE", "p-cw-ECE"):
        found[f"{key} above {CALIBRATED}"] = float(found[key] > CALIBRATED)
    return found


def _pvalue(predictions: Predictions, test: str, resamples: int, **options: Any) -> float:
    result = test_calibration(
        None,
        predictions,
        test=test,
        null="exact",
        n_resamples=resamples,
        rng=0,
        n_jobs=1,
        **options,
    )
    return float(result.pvalue)
