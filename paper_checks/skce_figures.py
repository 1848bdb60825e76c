"""Figures 1 and 2 of Widmann et al. (2019), from our runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.skce_errors import rejection
from paper_checks.skce_models import MODELS
from paper_checks.skce_simulation import LEVELS

Sample = NDArray[np.float64]
Key = tuple[str, int, str]
ESTIMATES = {
    "ECE_uniform": "ECE",
    "SKCEb_median": "SKCE_b",
    "SKCEuq_median": "SKCE_uq",
    "SKCEul_median": "SKCE_ul",
}


def estimates_figure(found: Mapping[Key, Sample]) -> Any:
    """Distribution of the estimates, m = 10: solid the mean, dashed the true value."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 8), layout="constrained")
    axes = figure.subplots(len(ESTIMATES), len(MODELS))
    for row, (name, title) in zip(axes, ESTIMATES.items(), strict=True):
        for ax, model in zip(row, MODELS, strict=True):
            sample = found[model, 10, name]
            ax.hist(sample, bins="sqrt" if sample.size < 1000 else 60, color="0.8")
            true = _true(found, model, name)
            ax.axvline(sample.mean(), color="C1")
            ax.axvline(true, color="C2", linestyle="--")
            ax.set_title(model if name == "ECE_uniform" else "")
        row[0].set_ylabel(title)
    figure.supxlabel("calibration error estimate")
    return figure


def _true(found: Mapping[Key, Sample], model: str, name: str) -> float:
    """True value; of the SKCE of a model that is not calibrated, the mean of SKCE_uq."""
    if name.startswith("ECE") or MODELS[model].pi == 0:
        return MODELS[model].true_ece(10)
    return float(found[model, 10, "SKCEuq_median"].mean())


def errors_figure(
    tested: Mapping[Key, Sample], tests: Mapping[str, str], exact: Mapping[str, str]
) -> Any:
    """Empirical test error against the level, m = 10; the exact null is dotted."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 11), layout="constrained")
    axes = figure.subplots(len(tests), len(MODELS), sharex=True, sharey=True)
    for row, (test, name) in zip(axes, tests.items(), strict=True):
        beside = exact["ECE, uniform bins" if test == "C" else "SKCE_uq, median heuristic"]
        for ax, model in zip(row, MODELS, strict=True):
            for key, style in ((name, "-"), (beside, ":")):
                rates = rejection(tested[model, 10, key])
                ax.plot(LEVELS, rates if model == "M1" else 1 - rates, f"C0{style}")
            if model == "M1":
                ax.plot([0, 1], [0, 1], "k--", linewidth=0.8)
            ax.set_title(model if test == "C" else "")
        row[0].set_ylabel(test)
    figure.supxlabel("significance level")
    figure.supylabel("empirical test error")
    return figure
