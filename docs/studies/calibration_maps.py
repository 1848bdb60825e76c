"""Every calibration map on classifiers and networks: fits, and writes the tables of the page.

    python -P docs/studies/calibration_maps.py --data DIR --keep FOLDER [--jobs 2] [--only NAME]
    python -P docs/studies/calibration_maps.py --data DIR --many

DIR holds `uci/*.npz` and `logits/*.npz`. What is done is kept in FOLDER, a file for each model, so
that a run goes on where another stopped; `--only` fits to models whose name holds NAME alone.
"""

from __future__ import annotations

import argparse
import json
import re
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from scipy.special import softmax
from scipy.stats import rankdata
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
from caltest.comparison import rank_methods

PAGE = Path(__file__).with_suffix(".md")
SETS = (
    "abalone",
    "balance-scale",
    "car",
    "diabetes",
    "eeg-eye-state",
    "htru2",
    "kitti-features",
    "landsat-satellite",
    "letter",
    "magic-gamma",
    "mfeat-karhunen",
    "mfeat-morphological",
    "mfeat-zernike",
    "mnist",
    "optdigits",
    "page-blocks",
    "pendigits",
    "segment",
    "shuttle",
    "tic-tac",
    "vehicle",
    "vowel",
    "waveform-5000",
    "yeast",
)
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
    "kull_c10_resnet110",
    "kull_c10_densenet40",
    "kull_c10_convnet",
    "kull_c100_convnet",
    "mukhoti_brier_cifar100_resnet50",
    "mukhoti_focal_cifar10_resnet50",
    "mukhoti_focal_cifar10_wide_resnet",
    "chenyaofo_cifar10_resnet20",
    "netcal_cifar10_lenet5",
    "netcal_cifar10_wrn16_4",
    "netcal_cifar100_wrn16_4",
    "ferrer_agnews_gpt2",
    "ferrer_pathmnist_resnet50",
    "ferrer_sst2_gpt2",
)
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
        return halves(predicted(model, X, y), y)
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


def predicted(model: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the probabilities of rows that a classifier was not trained on."""
    classifier = make_pipeline(StandardScaler(), CLASSIFIERS[model]())
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return cross_val_predict(classifier, X, y, cv=folds, method="predict_proba")


def table_of(path: Path, most: int = MOST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a sample of rows, without classes that are very rare."""
    with np.load(path) as stored:
        if "X" in stored:
            X, y = stored["X"], stored["y"]
        else:
            X, y = (np.concatenate([stored[f"{k}_train"], stored[f"{k}_test"]]) for k in "Xy")
    X, y = X.reshape(len(X), -1).astype(float), (y > 0 if "kitti" in path.name else y).astype(int)
    rows = np.random.default_rng(0).permutation(len(y))[:most]
    X, y = X[rows], y[rows]
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= FEWEST_OF_A_CLASS))
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    return (PCA(50, random_state=0).fit_transform(X) if X.shape[1] > 100 else X), y


def normalised(probs: np.ndarray) -> np.ndarray:
    """Return probabilities of single precision that sum to 1."""
    probs = probs.astype(float)
    return probs / probs.sum(axis=1, keepdims=True)


def halves(probs: np.ndarray, y: np.ndarray, first: float = 0.5) -> Parts:
    """Deal rows to two parts, in which each class has its share."""
    y = y.astype(int)
    rows = np.arange(len(y))
    one, other = train_test_split(rows, train_size=first, stratify=y, random_state=0)
    return probs[one], y[one], probs[other], y[other]


# ---- maps ---------------------------------------------------------------------------------------


def map_of(key: str, m: int) -> Calibrator:
    """Return a map that is not fitted, one of two classes against the rest."""
    calibrator = REGISTRY[key](**BOUNDED.get(key, {}))
    return (
        OneVsRest(calibrator) if m > 2 and isinstance(calibrator, BinaryCalibrator) else calibrator
    )


def keys() -> list[str]:
    """Return the keys of all maps that are not made of another one, nor of ordered classes."""
    return [key for key in REGISTRY if key not in ("one-vs-rest", "ensemble", "ordinal")]


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
        slow = n * m > SLOW.get(key, np.inf)
        kept[key] = None if slow else errors_of(key, (p, y, q, t))
    path.write_text(json.dumps(kept))


def errors_of(key: str, parts: Parts) -> list[float]:
    """Fit a map, and return its log loss, Brier score and seconds."""
    p, y, q, t = parts
    m, start = p.shape[1], time.process_time()
    probs = map_of(key, m).fit(p, y).predict_proba(q)
    seconds = time.process_time() - start
    own = np.maximum(probs[np.arange(len(t)), t], SMALLEST)
    brier = np.square(probs - np.eye(m)[t]).sum(axis=1).mean() / (2 if m == 2 else 1)
    return [float(-np.log(own).mean()), float(brier), seconds]


def many(folder: Path) -> list[str]:
    """Return the table of 50,000 rows, without the maps that take long."""
    warnings.simplefilter("ignore")
    X, y = table_of(folder / "uci" / "mnist.npz", 70_000)
    some = [key for key in keys() if key not in (TWIN, "gp", "kernel", "bbq", "enir")]
    parts = [halves(predicted(one, X, y), y, 5 / 7) for one in ("bayes", "tree", "logistic")]
    found = {key: np.array([errors_of(key, each) for each in parts]) for key in some}
    order = np.argsort([one[:, 0] for one in found.values()], axis=0).argsort(axis=0).sum(axis=1)
    lines = ["| map | bayes | tree | logistic | seconds |", "|---|" + "---:|" * 4]
    for k in np.argsort(order):
        cells = [f"{loss:.4f}" for loss in found[some[k]][:, 0]]
        lines.append(f"| {some[k]} | {' | '.join(cells)} | {found[some[k]][:, 2].mean():.2f} |")
    return lines


# ---- tables -------------------------------------------------------------------------------------

TWIN = "matrix"  # the map of "dirichlet", where probabilities are given
Found = dict[str, dict[str, list[float] | None]]  # by model, then by map
HEAD = "| map | mean rank | win rate | lowers it | PHI log loss | PHI Brier | seconds |"


def found_in(keep: Path) -> Found:
    """Read what is kept of all models that are done."""
    paths = {name: (keep / name.replace("/", "+")).with_suffix(".json") for name in experiments()}
    found = {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}
    return {name: one for name, one in found.items() if set(keys()) <= set(one)}


def losses_of(found: Found) -> tuple[list[str], np.ndarray]:
    """Return the maps that were fitted to every model, and their log losses, a row a model."""
    fitted = [key for key in keys() if key != TWIN and all(one[key] for one in found.values())]
    return fitted, np.array([[one[key][0] for key in fitted] for one in found.values()])


def ranked(found: Found) -> list[str]:
    """Return a table of maps, best first, with Friedman's test below it."""
    fitted, losses = losses_of(found)
    sets = [name.partition("/")[0] if "/network" not in name else name for name in found]
    ranks = rankdata(losses, axis=1)
    mean = np.array([ranks[np.array(sets) == one].mean(axis=0) for one in dict.fromkeys(sets)])
    size = len(mean)
    test = rank_methods(mean.mean(axis=0), names=fitted, n_datasets=size)
    control = rank_methods(mean.mean(axis=0), names=fitted, n_datasets=size, control="auto")
    lines = {}
    for key in keys():
        own = [one for one in found.values() if one[key]]
        if key == TWIN or not own:
            continue
        gains = np.array([np.subtract(one["identity"][:2], one[key][:2]) for one in own])
        cells = ["", ""]
        if key in fitted:
            k = fitted.index(key)
            wins = (losses > losses[:, [k]]).sum(axis=1) / (len(fitted) - 1)
            cells = [f"{mean.mean(axis=0)[k]:.1f}", f"{100 * wins.mean():.0f}"]
        phi = [f"{value:.2f}" for value in 100 * gains.mean(axis=0)]
        lower = f"{100 * (gains[:, 0] > 0).mean():.0f}" if key != "identity" else ""
        cells += [lower, *phi, f"{np.mean([one[key][2] for one in own]):.2f}"]
        note = "" if len(own) == len(found) else f" ({len(own)} of {len(found)})"
        lines[key] = f"| {key}{note} | " + " | ".join(cells) + " |"
    last = len(fitted) + 1.0
    order = {key: mean.mean(axis=0)[k] for k, key in enumerate(fitted)}
    rows = [lines[key] for key in sorted(lines, key=lambda key: order.get(key, last))]
    below = (
        f"{len(found)} models, {size} sets; F = {test.statistic:.1f}, p = {test.pvalue:.0e}; "
        f"critical difference {test.critical_difference:.1f} (Nemenyi), to `auto` "
        f"{control.critical_difference:.1f} (Bonferroni-Dunn)."
    )
    return [HEAD, "|---|" + "---:|" * 6, *rows, "", below]


def choice(found: Found) -> list[str]:
    """Return the table of `auto` beside the best map, by what its parts were chosen on."""
    head = "| models | number | rank of auto | best other map, its rank | auto is better | by |"
    lines = [head, "|---|---:|---:|---|---:|---:|"]
    groups = {
        "twelve sets that it was chosen on": lambda name: name.partition("/")[0] in SETS[:12],
        "twelve other sets": lambda name: name.partition("/")[0] in SETS[12:],
        "networks": lambda name: name.partition("/")[0] not in SETS,
    }
    for title, belongs in groups.items():
        for m, kind in ((2, "two classes"), (3, "several")):
            part = {k: v for k, v in found.items() if belongs(k) and min(v["size"][1], 3) == m}
            if not part:
                continue
            fitted, losses = losses_of(part)
            ranks, auto = rankdata(losses, axis=1).mean(axis=0), fitted.index("auto")
            best = int(np.delete(ranks, auto).argmin())
            best += best >= auto
            gain = losses[:, best] - losses[:, auto]
            told = f"{fitted[best]}, {ranks[best]:.1f} | {100 * (gain > 0).mean():.0f} %"
            cells = f"{len(part)} | {ranks[auto]:.1f} | {told} | {100 * gain.mean():.2f}"
            lines.append(f"| {title}, {kind} | {cells} |")
    return lines


def tables_of(found: Found) -> dict[str, list[str]]:
    """Return the tables of the page, by their marks."""
    trained = {k: v for k, v in found.items() if k.partition("/")[0] in SETS}
    return {
        "several": ranked({k: v for k, v in trained.items() if v["size"][1] > 2}),
        "two": ranked({k: v for k, v in trained.items() if v["size"][1] == 2}),
        "networks": ranked({k: v for k, v in found.items() if k not in trained}),
        "choice": choice(found),
    }


def write_page(tables: dict[str, list[str]]) -> None:
    """Write each table below its mark."""
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        body = "\n".join(["", *lines, "", ""])
        text = re.sub(pattern, lambda m, body=body: m[1] + body + m[2], text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    """Run what is not kept, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--many", action="store_true", help="the table of 50,000 rows alone")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    if args.many:
        write_page({"many": many(args.data)})
        return
    args.keep.mkdir(parents=True, exist_ok=True)
    names = [name for name in experiments() if args.only in name]
    tasks = (joblib.delayed(measured)(name, args.data, args.keep) for name in names)
    joblib.Parallel(args.jobs, verbose=5)(tasks)
    write_page(tables_of(found_in(args.keep)))


if __name__ == "__main__":
    main()
