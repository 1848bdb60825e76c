"""Which alpha a Dirichlet-based Gaussian process should take: fits, and writes the page beside it.

    python -P docs/studies/dirichlet_alpha.py --data DIR [--splits 4] [--jobs 2]

DIR holds `uci/*.npz` with X and y. Features are scaled by the training rows.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import joblib
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.preprocessing import StandardScaler

import caltest as ct
from caltest.classifiers import DirichletGPClassifier

PAGE = Path(__file__).with_suffix(".md")
FIXED = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
PAPER = (0.1, 0.01, 0.001, 0.0001)
MOST_TESTED = 1500  # rows
SMALL = (
    "moons",
    "breast-cancer",
    "diabetes",
    "tic-tac",
    "magic-gamma",
    "eeg-eye-state",
    "htru2",
    "abalone",
    "waveform-5000",
    "vehicle",
    "page-blocks",
    "segment",
)
LARGE = (
    "moons",
    "magic-gamma",
    "eeg-eye-state",
    "htru2",
    "abalone",
    "waveform-5000",
    "page-blocks",
)
PARTS = {  # title: sets, training rows, inducing points
    "Exact, at most 300 rows": (SMALL, 300, None),
    "1000 rows, 50 inducing points": (LARGE, 1000, 50),
}


def data(name: str, folder: Path, rows: int, split: int) -> tuple[np.ndarray, ...]:
    """Return training and test features and labels; every label of the test is in the training."""
    if name == "moons":
        X, y = make_moons(5000, noise=0.3, random_state=split)
    elif name == "breast-cancer":
        X, y = load_breast_cancer(return_X_y=True)
    else:
        with np.load(folder / "uci" / f"{name}.npz") as stored:
            X, y = stored["X"].astype(float), stored["y"]
    order = np.random.default_rng(split).permutation(len(y))
    size = min(rows, int(0.6 * len(y)))
    train, test = order[:size], order[size : size + MOST_TESTED]
    test = test[np.isin(y[test], y[train])]
    scaler = StandardScaler().fit(X[train])
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def losses(
    name: str, folder: Path, rows: int, inducing: int | None, split: int
) -> tuple[dict[str, float], float]:
    """Return the log loss on the test rows of every choice, and the alpha of "auto"."""
    X, y, X_test, y_test = data(name, folder, rows, split)
    classes, codes = np.unique(y, return_inverse=True)
    codes_test = np.searchsorted(classes, y_test)
    found, training = {}, {}
    for alpha in (*FIXED, "auto"):
        model = DirichletGPClassifier(alpha=alpha, n_inducing=inducing, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, codes)
        found[alpha] = ct.measures.log_loss(model.predict_proba(X_test), codes_test)
        if alpha in PAPER:
            training[alpha] = ct.measures.log_loss(model.predict_proba(X), codes)
    found["training"] = found[min(training, key=training.get)]
    return {str(key): float(value) for key, value in found.items()}, model.alpha_


def table(parts: dict[str, list[tuple[dict[str, float], float]]]) -> list[str]:
    """Lay out means over splits, and over the sets the mean excess over the best fixed value."""
    choices = [f"{alpha:g}" for alpha in FIXED]
    keys = [str(alpha) for alpha in FIXED] + ["training", "auto"]
    lines = [
        "| data | " + " | ".join(choices) + " | training | leave-one-out | its alpha |",
        "|---|" + "---:|" * (len(keys) + 1),
    ]
    means, errors = [], []
    for name, rows in parts.items():
        values = np.array([[losses[key] for key in keys] for losses, _ in rows])
        means.append(values.mean(axis=0))
        errors.append((values - values[:, -1:]).std(axis=0, ddof=1) / len(rows) ** 0.5)
        alphas = np.sort([alpha for _, alpha in rows])
        ends = f"{alphas[0]:g}" if alphas[0] == alphas[-1] else f"{alphas[0]:g} to {alphas[-1]:g}"
        cells = [f"{value:.3f}" for value in means[-1]]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {ends} |")
    mean = np.mean(means, axis=0)
    lines.append("| mean of sets | " + " | ".join(f"{value:.3f}" for value in mean) + " | |")
    error = np.sqrt(np.square(errors).sum(axis=0)) / len(parts)
    differences = [f"{d:+.3f} ({e:.3f})" for d, e in zip(mean - mean[-1], error, strict=True)]
    lines.append("| more than leave-one-out | " + " | ".join(differences[:-1]) + " | | |")
    return lines


def main() -> None:
    """Run all fits and write the tables below the mark on the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    lines = []
    for title, (names, rows, inducing) in PARTS.items():
        tasks = [(name, args.data, rows, inducing, s) for name in names for s in range(args.splits)]
        run = joblib.Parallel(args.jobs, verbose=5)
        found = run(joblib.delayed(losses)(*task) for task in tasks)
        sets = {
            name: [row for task, row in zip(tasks, found, strict=True) if task[0] == name]
            for name in names
        }
        lines += ["", f"## {title}", "", *table(sets)]
    text = PAGE.read_text(encoding="utf-8").split("\n## ")[0].rstrip()
    PAGE.write_text("\n".join([text, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
