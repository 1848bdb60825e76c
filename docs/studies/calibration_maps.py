"""Every calibration map on classifiers and networks: fits, and writes the tables of the page.

    python -P docs/studies/calibration_maps.py --data DIR --keep FOLDER [--jobs 2] [--only NAME]

DIR holds `uci/*.npz` and `logits/*.npz`. What is done is kept in FOLDER, a file for each model, so
that a run goes on where another stopped; `--only` takes models whose name holds NAME.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from caltest.calibrators import REGISTRY, BinaryCalibrator, Calibrator, OneVsRest

PAGE = Path(__file__).with_suffix(".md")
SETS = (
    "abalone balance-scale car diabetes eeg-eye-state htru2 kitti-features landsat-satellite letter "
    "magic-gamma mfeat-karhunen mfeat-morphological mfeat-zernike mnist optdigits page-blocks "
    "pendigits segment shuttle tic-tac vehicle vowel waveform-5000 yeast"
).split()
CLASSIFIERS: dict[str, Callable] = {
    "logistic": lambda: LogisticRegression(max_iter=300),
    "bayes": GaussianNB,
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "extra": lambda: ExtraTreesClassifier(100, min_samples_leaf=3, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=40, random_state=0),
    "neighbours": lambda: KNeighborsClassifier(15),
    "perceptron": lambda: MLPClassifier((50,), max_iter=60, random_state=0),
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
}
NETWORKS = (
    "kull_c10_resnet110 kull_c10_densenet40 kull_c10_convnet kull_c100_convnet "
    "mukhoti_brier_cifar100_resnet50 mukhoti_focal_cifar10_resnet50 "
    "mukhoti_focal_cifar10_wide_resnet chenyaofo_cifar10_resnet20 netcal_cifar10_lenet5 "
    "netcal_cifar10_wrn16_4 netcal_cifar100_wrn16_4 ferrer_agnews_gpt2 ferrer_pathmnist_resnet50 "
    "ferrer_sst2_gpt2"
).split()
OF_WIDMANN = ("googlenet", "mobilenet_v2", "vgg16_bn", "resnet_orig")
TOP = ("efficientnet_b1", "gluon_senet154", "mobilenetv3_large_100", "tv_inception_v3")
MOST_ROWS, FEWEST_OF_A_CLASS = 8000, 10  # of a data set
SMALLEST = float(np.finfo(float).eps)  # smaller probabilities count as this in the log loss
BOUNDED = {"isotonic": {"bound": "auto"}, "centered-isotonic": {"bound": "auto"}}
SLOW = {"enir": 40_000, "bbq": 500_000, "venn-abers": 500_000, "gp": 120_000}  # most rows times m
Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


# ---- models: probabilities and labels of two halves ----------------------------------------------


def experiments() -> list[str]:
    """Return the names of the models, `set/model`, those of a set together."""
    trained = [f"{name}/{model}" for name in SETS for model in CLASSIFIERS]
    widmann = [f"widmann_cifar10_14nets_probs/{model}" for model in OF_WIDMANN]
    top = [f"imagenet_top1_14nets/{model}" for model in TOP]
    return [*(f"{name}/network" for name in NETWORKS), *widmann, *top, *trained]


def parts_of(name: str, folder: Path) -> Parts:
    """Return probabilities and labels to calibrate with, and to test with."""
    data, _, model = name.partition("/")
    if data in SETS:
        X, y = table_of(folder / "uci" / f"{data}.npz")
        classifier = make_pipeline(StandardScaler(), CLASSIFIERS[model]())
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        return halves(cross_val_predict(classifier, X, y, cv=folds, method="predict_proba"), y)
    with np.load(folder / "logits" / f"{data}.npz") as stored:
        if model in OF_WIDMANN:
            return halves(normalised(stored[model]), stored["y"])
        if model in TOP:
            sure, right = (stored[f"{model}__{key}"] for key in ("conf", "pred"))
            sure = np.clip(sure.astype(float), 0, 1)
            return halves(np.column_stack([1 - sure, sure]), right == stored[f"{model}__true"])
        if "probs_test" in stored:
            return halves(normalised(stored["probs_test"]), stored["y_test"])
        probs = softmax(stored["logits_test"].astype(float), axis=1)
        if "logits_val" not in stored:
            return halves(probs, stored["y_test"])
        first = softmax(stored["logits_val"].astype(float), axis=1)
        return first, stored["y_val"].astype(int), probs, stored["y_test"].astype(int)


def table_of(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a sample of rows, without classes that are very rare."""
    with np.load(path) as stored:
        if "X" in stored:
            X, y = stored["X"], stored["y"]
        else:
            X, y = (np.concatenate([stored[f"{k}_train"], stored[f"{k}_test"]]) for k in "Xy")
    X, y = X.reshape(len(X), -1).astype(float), (y > 0 if "kitti" in path.name else y).astype(int)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= FEWEST_OF_A_CLASS))
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    return (PCA(50, random_state=0).fit_transform(X) if X.shape[1] > 100 else X), y


def normalised(probs: np.ndarray) -> np.ndarray:
    """Return probabilities of single precision that sum to 1."""
    probs = probs.astype(float)
    return probs / probs.sum(axis=1, keepdims=True)


def halves(probs: np.ndarray, y: np.ndarray) -> Parts:
    """Deal rows to two halves, in which each class has its share."""
    y = y.astype(int)
    rows = np.arange(len(y))
    first, second = train_test_split(rows, test_size=0.5, stratify=y, random_state=0)
    return probs[first], y[first], probs[second], y[second]


# ---- maps ---------------------------------------------------------------------------------------


def map_of(key: str, m: int) -> Calibrator:
    """Return a map that is not fitted, one of two classes against the rest."""
    calibrator = REGISTRY[key](**BOUNDED.get(key, {}))
    return OneVsRest(calibrator) if m > 2 and isinstance(calibrator, BinaryCalibrator) else calibrator


def keys() -> list[str]:
    """Return the keys of all maps that are not made of another one."""
    return [key for key in REGISTRY if key not in ("one-vs-rest", "ensemble")]


def measured(name: str, folder: Path, keep: Path) -> None:
    """Fit the maps that are not kept yet, and keep log loss, Brier score and seconds."""
    warnings.simplefilter("ignore")
    stem = keep / name.replace("/", "+")
    path, kept = stem.with_suffix(".json"), {}
    if path.exists():
        kept = json.loads(path.read_text())
    missing = [key for key in keys() if key not in kept]
    if not missing:
        return
    stored = stem.with_suffix(".npz")
    if not stored.exists():
        p, y, q, t = parts_of(name, folder)
        np.savez(stored, p=p, y=y, q=q, t=t)
    with np.load(stored) as parts:
        p, y, q, t = (parts[k] for k in "pyqt")
    n, m = p.shape
    kept["size"] = [n, m, len(t)]
    for key in missing:
        if n * m > SLOW.get(key, np.inf):
            kept[key] = None
            continue
        start = time.process_time()
        probs = map_of(key, m).fit(p, y).predict_proba(q)
        seconds = time.process_time() - start
        own = np.maximum(probs[np.arange(len(t)), t], SMALLEST)
        brier = np.square(probs - np.eye(m)[t]).sum(axis=1).mean() / (2 if m == 2 else 1)
        kept[key] = [float(-np.log(own).mean()), float(brier), seconds]
    path.write_text(json.dumps(kept))


def main() -> None:
    """Run what is not kept, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.keep.mkdir(parents=True, exist_ok=True)
    names = [name for name in experiments() if args.only in name]
    tasks = (joblib.delayed(measured)(name, args.data, args.keep) for name in names)
    joblib.Parallel(args.jobs, verbose=5)(tasks)


if __name__ == "__main__":
    main()
