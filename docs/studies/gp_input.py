"""Probabilities or logarithms for GP calibration: fits, and writes the page beside it.

    python -P docs/studies/gp_input.py --data DIR [--splits 10] [--jobs 2]

DIR holds `uci/*.npz` with X and y, and `logits/*.npz` with logits of networks. Features are scaled
by the training rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import joblib
import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from caltest.calibrators import GPCalibrator, TemperatureScaling

PAGE = Path(__file__).with_suffix(".md")
MOST_ROWS = 1000  # of each part
SATURATED = 0.999  # probability; GPCalibrator tells of many beyond
SMALLEST = float(np.finfo(float).eps)
SETS = ("breast-cancer", "digits", "magic-gamma", "vehicle", "waveform-5000", "landsat-satellite")
MODELS = {
    "naive Bayes": GaussianNB,
    "forest": lambda: RandomForestClassifier(50, random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=1000),
}
NETWORKS = ("kull_c10_resnet110", "kull_c10_convnet", "mukhoti_focal_cifar10_resnet50")
LOADERS = {"breast-cancer": load_breast_cancer, "digits": load_digits}
Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def parts_of(name: str, model: str, folder: Path, split: int) -> Parts:
    """Return probabilities and labels to calibrate with, and to test with."""
    rng = np.random.default_rng(split)
    if name in NETWORKS:
        with np.load(folder / "logits" / f"{name}.npz") as stored:
            z, y = stored["logits_test"].astype(float), stored["y_test"]
        rows = rng.permutation(len(y))
        first, second = rows[:MOST_ROWS], rows[MOST_ROWS : 2 * MOST_ROWS]
        p = softmax(z, axis=1)
        return p[first], y[first], p[second], y[second]
    if name in LOADERS:
        X, y = LOADERS[name](return_X_y=True)
    else:
        with np.load(folder / "uci" / f"{name}.npz") as stored:
            X, y = stored["X"].astype(float), np.unique(stored["y"], return_inverse=True)[1]
    parts = np.array_split(rng.permutation(len(y)), 3)
    train, first, second = (part[:MOST_ROWS] for part in parts)
    fitted = make_pipeline(StandardScaler(), MODELS[model]()).fit(X[train], y[train])
    p, q = fitted.predict_proba(X[first]), fitted.predict_proba(X[second])
    return p, y[first], q, y[second]


def losses(name: str, model: str, folder: Path, split: int) -> list[float]:
    """Return the saturated share and the log losses: no map, temperature, GP on p and on log p."""
    p, y, q, y_test = parts_of(name, model, folder, split)
    log_p, log_q = (np.log(np.maximum(each, SMALLEST)) for each in (p, q))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = [
            q,
            TemperatureScaling().fit(p, y).predict_proba(q),
            GPCalibrator(scores="probabilities").fit(p, y).predict_proba(q),
            GPCalibrator(from_logits=True).fit(log_p, y).predict_proba(log_q),
        ]
    rows = np.arange(len(y_test))
    found = [-np.log(np.maximum(r[rows, y_test], SMALLEST)).mean() for r in predicted]
    return [float((p.max(axis=1) > SATURATED).mean()), *map(float, found)]


def table(cells: dict[tuple[str, str], np.ndarray]) -> list[str]:
    """Lay out means over splits, and the difference of the last two with its standard error."""
    columns = "uncalibrated | temperature | GP of p | GP of log p | difference"
    lines = [f"| data | model | above 0.999 | {columns} |", "|---|---|" + "---:|" * 6]
    for (name, model), rows in cells.items():
        share, *values = rows.mean(axis=0)
        error = (rows[:, 4] - rows[:, 3]).std(ddof=1) / len(rows) ** 0.5
        shown = " | ".join(f"{value:.3f}" for value in values)
        difference = f"{values[3] - values[2]:+.3f} ({error:.3f})"
        lines.append(f"| {name} | {model} | {share:.0%} | {shown} | {difference} |")
    share, *values = np.mean([rows.mean(axis=0) for rows in cells.values()], axis=0)
    shown = " | ".join(f"{value:.3f}" for value in values)
    lines.append(f"| mean | | {share:.0%} | {shown} | {values[3] - values[2]:+.3f} |")
    return lines


def main() -> None:
    """Run all fits and write the table below the mark on the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    pairs = [(name, model) for name in SETS for model in MODELS]
    pairs += [(name, "network") for name in NETWORKS]
    tasks = [(*pair, args.data, split) for pair in pairs for split in range(args.splits)]
    found = joblib.Parallel(args.jobs, verbose=5)(joblib.delayed(losses)(*task) for task in tasks)
    values = np.array(found).reshape(len(pairs), args.splits, -1)
    lines = table(dict(zip(pairs, values, strict=True)))
    text = PAGE.read_text(encoding="utf-8").split("\n## ")[0].rstrip()
    PAGE.write_text("\n".join([text, "", "## Log losses", "", *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
