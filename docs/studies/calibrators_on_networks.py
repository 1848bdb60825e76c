"""Every calibrator on the logits of networks: fits, and writes the page beside this file.

    python -m docs.studies.calibrators_on_networks --data DIR [--reference DIR] [--jobs 2]

It is run from the root of the repository: fits and measures of Kull et al. (2019) are those of
paper_checks/networks.py.

DIR/logits has files with logits_val, y_val, logits_test and y_test. Calibrators are fitted to the
validation part, the errors are those of the test part. `--reference` is a folder with the stored
results of Kull et al., which are put beside ours.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import joblib
import numpy as np

import caltest as ct
from caltest.calibrators import (
    BBQ,
    BetaCalibrator,
    Calibrator,
    DirichletCalibrator,
    HistogramBinning,
    IsotonicCalibrator,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    SplineCalibrator,
)
from paper_checks import networks
from paper_checks.networks import Network

PAGE = Path(__file__).with_suffix(".md")
NETWORKS = (
    "kull_c10_resnet110",
    "kull_c10_densenet40",
    "kull_c10_convnet",
    "kull_c100_convnet",
    "mukhoti_focal_cifar10_resnet50",
    "mukhoti_focal_cifar10_wide_resnet",
    "mukhoti_brier_cifar100_resnet50",
)


# ---- the methods --------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The errors of a method on the test part of a network, and the chosen lambda and mu."""

    errors: dict[str, float]
    chosen: tuple[float, float] | None = None


KULL = {
    "uncalibrated": "Uncal",
    "temperature": "TempS",
    "vector": "VecS",
    "matrix, ODIR": "MS-ODIR",
    "Dirichlet, ODIR": "Dir-ODIR",
    "Dirichlet, L2": "Dir-L2",
}
THEIRS = ", their penalties"


def outcomes_of(name: str, network: Network) -> dict[str, Outcome]:
    """Fit every method to the validation part, and measure it on the test part."""
    found = {}
    for method, key in KULL.items():
        if key in {"Uncal", "TempS", "VecS"}:
            probs, chosen = networks.calibrated(network, key), None
        else:
            probs, chosen = networks.selected(network, key)
        found[method] = Outcome(errors_of(probs, network.y_test), chosen)
    for method, calibrator in calibrators().items():
        probs = networks.predicted(network, calibrator, from_probs=True)
        found[method] = Outcome(errors_of(probs, network.y_test))
    for method, key in KULL.items():
        penalty = networks.STORED.get((name.removeprefix("kull_"), key))
        if penalty is not None:
            probs = networks.calibrated(network, key, penalty)
            found[method + THEIRS] = Outcome(errors_of(probs, network.y_test))
    return found


def calibrators() -> dict[str, Calibrator]:
    """List the calibrators that Kull et al. do not have by the names that the tables give them."""
    binary = {
        "histogram": HistogramBinning(bins=15, empty="zero"),
        "isotonic": IsotonicCalibrator(),
        "Platt": PlattScaling(),
        "beta": BetaCalibrator(),
        "BBQ": BBQ(),
    }
    return {
        "spline": SplineCalibrator(),
        **{f"one-vs-rest {name}": OneVsRest(map_) for name, map_ in binary.items()},
    }


# ---- the errors ---------------------------------------------------------------------------------


def errors_of(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return all columns of a table; the error is in percent."""
    found = networks.measures(probs, labels)
    return {
        "log loss": found["log loss"],
        "error": found["error"],
        "confidence-ECE": found["confidence-ECE"],
        "class-wise ECE": ct.measures.classwise_ece(probs, labels),
        "class-wise ECE, Kull": found["classwise ECE"],
        "KS error": found["KS top-1"] / 100,
    }


def diagonals(loaded: Mapping[str, Network]) -> list[str]:
    """Lay out the default maps without and with the penalty of the diagonal."""
    lines = [
        "## The penalty of the diagonal",
        "",
        "By default the diagonal of Dirichlet and matrix scaling has a normal prior of mean 1 and",
        "standard deviation 2, so that it stays finite where labels are separated. The paper has",
        "none, `diagonal_lam=0`; the tables above, whose penalties are those of its grid, have",
        'none either. Both with `lam="auto"`, from logits:',
        "",
        (
            "| network, map | log loss, paper's | default | error %, paper's | default | "
            "largest weight, paper's | default |"
        ),
        "|---|" + "---:|" * 6,
    ]
    for name, network in loaded.items():
        for kind in (DirichletCalibrator, MatrixScaling):
            cells: dict[str, list[str]] = {"loss": [], "error": [], "weight": []}
            for penalty in (0.0, "auto"):
                fitted = kind(from_logits=True, diagonal_lam=penalty)
                fitted.fit(network.val, network.y_val)
                probs = fitted.predict_proba(network.test)
                wrong = probs.argmax(axis=1) != network.y_test
                cells["loss"].append(f"{ct.measures.log_loss(probs, network.y_test):.4f}")
                cells["error"].append(f"{100 * wrong.mean():.2f}")
                cells["weight"].append(f"{np.diag(fitted.linear_[0]).max():.2f}")
            values = [value for pair in cells.values() for value in pair]
            lines.append(f"| {name}, {kind.key} | " + " | ".join(values) + " |")
    return [*lines, ""]


IN_PERCENT = ("confidence-ECE", "class-wise ECE", "class-wise ECE, Kull", "KS error")
COMPARED = {
    "log loss": "Loss",
    "error": "Error",
    "confidence-ECE": "ECE",
    "class-wise ECE, Kull": "ECE_CW",
}


# ---- the papers ---------------------------------------------------------------------------------

ONE_VS_REST = {
    "one-vs-rest histogram": "Histogram Binning",
    "one-vs-rest isotonic": "Isotonic Regression",
    "one-vs-rest beta": "Beta Calibration",
}
Published = dict[tuple[str, str], tuple[float, int]]  # method, measure: value, decimals


def published(folder: Path, network: str) -> Published:
    """Read what the papers' programs stored for a network, and to how many decimals."""
    name = network.removeprefix("kull_")
    swapped = "_".join(reversed(name.split("_", 1)))
    found: Published = {}
    for method, key in {**KULL, **{name + THEIRS: key for name, key in KULL.items()}}.items():
        stored = _rows(folder / "kull2019_dnn_measures.csv", Name=name, Method=key)
        for measure, column in COMPARED.items():
            for row in stored:
                found[method, measure] = float(row[column]), 2 if measure == "error" else 6
        for row in _rows(folder / "kull2019_dnn_logloss_all_methods.csv", Name=name):
            found[method, "log loss"] = float(row[key]), 6
        for value in _printed(folder / "kull2019_dnn_classwise_ece_table.tex", name, key):
            found.setdefault((method, "class-wise ECE, Kull"), (value, 3))
    files = {"log loss": "logloss", "error": "error", "confidence-ECE": "ece"}
    for method, column in ONE_VS_REST.items():
        for measure, file in files.items():
            for row in _rows(folder / f"nn_calibration_ovr_{file}.csv", Name=swapped):
                found[method, measure] = float(row[column]), 2 if measure == "error" else 6
    return found


def _rows(path: Path, **wanted: str) -> list[dict[str, str]]:
    with path.open() as file:
        rows = csv.DictReader(file)
        return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def _printed(path: Path, name: str, method: str) -> list[float]:
    """Read a column of the paper's table 4, which has three decimals."""
    columns = ("Uncal", "TempS", "Dir-L2", "Dir-ODIR", "VecS", "MS-ODIR")
    for line in path.read_text().splitlines():
        if line.replace("\\", "").split("&")[0].strip() == name:
            values = re.findall(r"\d\.\d{3}", line)
            return [float(values[columns.index(method)])]
    return []


# ---- the page -----------------------------------------------------------------------------------


def table(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Lay out our errors; all but the log loss in percent."""
    heads = ["log loss", "error %", *(f"{name} %" for name in IN_PERCENT)]
    lines = ["| method | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for method, (errors, _) in outcomes.items():
        shown = {name: 100 * errors[name] for name in IN_PERCENT}
        cells = [f"{errors['log loss']:.4f}", f"{errors['error']:.2f}"]
        cells += [f"{value:.2f}" for value in shown.values()]
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def comparison(outcomes: Mapping[str, Outcome], theirs: Published) -> list[str]:
    """Lay out the papers' values with what ours add to them; a star if more than rounding."""
    if not theirs:
        return []
    lines = ["| method | " + " | ".join(COMPARED) + " |", "|---|" + "---:|" * len(COMPARED)]
    for method in outcomes:
        if any((method, measure) in theirs for measure in COMPARED):
            errors = outcomes[method].errors
            cells = [beside(errors[key], theirs.get((method, key))) for key in COMPARED]
            lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return ["Stored by the papers' programs, and in brackets ours less theirs:", "", *lines, ""]


def beside(value: float, stored: tuple[float, int] | None) -> str:
    """Format a stored value and the difference; a unit of its last digit is rounding."""
    if stored is None:
        return "-"
    known, decimals = stored
    difference = value - known
    star = "" if abs(difference) <= 1.01 * 10.0**-decimals else " *"
    return f"{known:.{decimals}f} ({difference:+.{decimals}f}){star}"


def choices(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Say which penalties were chosen, in the units of Kull et al.; L2 has one for both."""
    words = []
    for method, (_, chosen) in outcomes.items():
        if chosen is not None:
            lam, mu = chosen
            also = f", mu = {mu:.3g}" if "ODIR" in method else ""
            words.append(f"{method}: lambda = {lam:.3g}{also}")
    return ["Chosen, in the units of Kull et al.: " + "; ".join(words) + ".", ""]


HEADER = """# The calibrators on the logits of networks

Each calibrator is fitted to the validation set and measured on the test set of a network. The
networks kull_* are those of Kull et al. (2019), the networks mukhoti_* those of Mukhoti et al.
(2020), trained with the focal loss or the Brier score.

Temperature, vector and matrix scaling take logits, the others probabilities, as in the papers.
Penalties are chosen by the log loss of five folds, those of Kull et al., from their grid (for 100
classes from a coarser one), and the five maps are averaged.

The log loss raises probabilities below 1e-15 to that value, since histogram, isotonic and spline
maps reach 0. Class-wise ECE is the mean over classes with 15 bins; that of Kull et al. is a sum
over classes with the bins of their program. The spline changes the largest probability only and
keeps the accuracy. All numbers are point estimates: a calibrated network too has errors above 0,
and the tests of caltest show which are more than chance.

`python -m docs.studies.calibrators_on_networks --data DIR --reference DIR` reproduces the tables.
`paper_checks/README.md` compares the papers' numbers on these networks one by one.

## What differs from the papers, and why

A star marks a difference that is more than rounding from what the papers' programs stored.

- Uncalibrated and temperature: nothing but the last digit.
- Vector and matrix scaling, Dirichlet: theirs were fitted by Adam with early stopping and end near
  the minimum; ours end at it. Adam with their settings and five other orders of the batches gives
  vector scaling of c10_resnet110, c10_densenet40 and c10_convnet log losses of 0.2056 to 0.2063,
  0.2225 to 0.2226 and 0.1974 to 0.1978 (theirs 0.2062, 0.2224, 0.1977; the minimum on the
  validation set gives 0.2065, 0.2231, 0.1973). The rows "their penalties" use the penalties that
  they stored: there the log loss differs by less than 0.0004, with either sign.
- Chosen penalties: the loss in cross-validation is flat, so that their choice depends on where Adam
  stops. Ours chooses other penalties, which change error and ECE by a few predictions for 10
  classes. For 100, Adam stops far away: matrix scaling of c100_convnet with lambda 1e6, 1000, 10
  (mu 0.01) gives 1.033, 0.960 and 1.004 by Adam (theirs 0.961), and 0.954, 0.954 and 0.958 at the
  minimum.
- One-vs-rest histogram: their log loss raises probabilities to 1e-15 before normalising the rows,
  ours after. Where the observed class has probability 0 in a row of sum s, that adds ln s. In
  float32 some scores of c10_densenet40 are 0 and fall into none of their bins. With both changes
  ours agree with theirs: 0.547192 and 0.572461.
- One-vs-rest isotonic: the log loss again; and the scikit-learn of the time gave a score that
  occurs several times, such as 1 in float32, the weight of one. With both changes ours agree with
  theirs: 0.270758 and 0.277319.
- One-vs-rest beta: betacal raises scores to the precision of their type, 1.2e-7 in float32, as
  theirs were; 65 and 79 % of the scores of the two networks are smaller. Ours takes float64 and
  raises them to 2.2e-16, which is better here. With float32 scores and liblinear, scikit-learn's
  default solver of the time, betacal's program gives theirs: 0.213850 and 0.239184.
"""


def page(
    results: Mapping[str, dict[str, Outcome]],
    loaded: Mapping[str, Network],
    reference: Path | None,
) -> str:
    """Write the whole page."""
    lines = [HEADER]
    for name, outcomes in results.items():
        network = loaded[name]
        shape = f"{len(network.y_val)} predictions to fit, {len(network.y_test)} to test"
        lines += [f"## {name}", "", f"{network.m} classes, {shape}.", "", *table(outcomes)]
        lines += choices(outcomes)
        if reference is not None:
            lines += comparison(outcomes, published(reference, name))
    return "\n".join([*lines, *diagonals(loaded)])


def main() -> None:
    """Fit everything and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folder = arguments.data / "logits"
    loaded = {name: networks.load(folder / f"{name}.npz") for name in NETWORKS}
    with joblib.parallel_config(n_jobs=arguments.jobs):
        results = {name: outcomes_of(name, network) for name, network in loaded.items()}
    PAGE.write_text(page(results, loaded, arguments.reference))


if __name__ == "__main__":
    main()
