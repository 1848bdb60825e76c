"""Figure 1 of Wenger et al. 2020: a network on MNIST over training epochs, with GP calibration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.neural_network import MLPClassifier

from paper_checks import gp_protocol
from paper_checks.check import Claim, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EXPERIMENT = "figure 1"
CALIBRATION_ROWS = 1000  # of the test images, as in table 2
TURN = 20  # "the ECE increases after 20 epochs"
LATE = 5  # epochs that a mean is over
PANELS = {"error": "classification error", "log loss": "NLL", "ECE": "ECE"}


def errors(path: Path, epochs: int, seed: int) -> list[Row]:
    """Errors on the test images after each epoch, without and with calibration."""
    X, y, X_test, y_test = gp_protocol.split("MNIST", path)
    order = np.random.default_rng(seed).permutation(len(y_test))
    fit, test = order[:CALIBRATION_ROWS], order[CALIBRATION_ROWS:]
    network = MLPClassifier((100,), random_state=seed)
    rows = []
    for epoch in range(1, epochs + 1):
        network.partial_fit(X, y, classes=np.arange(10))
        probs = network.predict_proba(X_test).astype(float)
        probs /= probs.sum(axis=1, keepdims=True)
        found = {False: probs[test]}
        found[True] = gp_protocol.calibrated("GPcalib", probs[fit], y_test[fit], probs[test])
        for calibrated, values in found.items():
            measured = gp_protocol.measured(values, y_test[test])
            rows.append(
                {"experiment": EXPERIMENT, "seed": seed, "epoch": epoch, "calibrated": calibrated}
                | {"accuracy": measured["accuracy"], "log loss": measured["log loss"]}
                | {"ECE": measured["ECE"]}
            )
    return rows


def claims(rows: list[Row]) -> list[Claim]:
    """State what the caption says."""
    plain, calibrated = (_curves(rows, calibrated=c) for c in (False, True))
    if len(plain["ECE"]) <= TURN + LATE:
        return []
    then, last = slice(TURN - LATE, TURN), slice(-LATE, None)
    at = f"at epochs {TURN - LATE + 1} to {TURN}, and at the last {LATE}"
    error, loss, ece = (
        [values[some].mean() for some in (then, last)]
        for values in (plain["error"], plain["log loss"], plain["ECE"])
    )
    late = {name: (plain[name][last].mean(), calibrated[name][last].mean()) for name in PANELS}
    said = "{:.4f} and {:.4f}".format
    return [
        _claim(f"error {at}", "continues to improve", said(*error), error[1] < error[0]),
        _claim(f"ECE {at}", "increases after 20 epochs", said(*ece), ece[1] > ece[0]),
        _claim(f"NLL {at}", "overfits", said(*loss), loss[1] > loss[0]),
        _claim(
            f"ECE of the last {LATE} epochs, without and with calibration",
            "mitigated by GP calibration",
            said(*late["ECE"]),
            late["ECE"][1] < late["ECE"][0],
        ),
        _claim(
            f"error of the last {LATE} epochs, without and with calibration",
            "maintained",
            said(*late["error"]),
            late["error"][1] < late["error"][0] + 0.002,
        ),
    ]


def _claim(what: str, words: str, ours: str, holds: object) -> Claim:
    return Claim("figure 1", what, words, ours, holds=bool(holds))


def _curves(rows: list[Row], *, calibrated: bool) -> dict[str, np.ndarray]:
    """Mean over the seeds, by epoch."""
    some = [row for row in rows if row["calibrated"] == calibrated]
    epochs = sorted({row["epoch"] for row in some})
    means = {
        name: np.array([np.mean([r[name] for r in some if r["epoch"] == e]) for e in epochs])
        for name in ("accuracy", "log loss", "ECE")
    }
    return {"error": 1 - means.pop("accuracy"), **means}


def picture(rows: list[Row]) -> Figure:
    """Draw the three errors over the epochs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 2.6), layout="constrained")
    plain, calibrated = (_curves(rows, calibrated=c) for c in (False, True))
    for ax, (name, label) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        epochs = np.arange(1, len(plain[name]) + 1)
        ax.plot(epochs, plain[name], color="0.4", label="uncalibrated")
        ax.plot(epochs, calibrated[name], color="C3", ls="--", label="GP calibration")
        ax.set(xlabel="epoch", ylabel=label, ylim=(0, None))
    ax.legend(frameon=False)
    return figure
