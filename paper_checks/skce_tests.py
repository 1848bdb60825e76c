"""Widmann et al. (2019): estimates and tests on simulated models, and CIFAR-10 networks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from paper_checks import skce_errors, skce_estimates, skce_networks
from paper_checks.check import Part, Row, Setting, Task
from paper_checks.skce_errors import EXACT, FIGURE_2, TESTED
from paper_checks.skce_estimates import CLASSES, differences_of
from paper_checks.skce_models import APPENDIX, MODELS
from paper_checks.skce_simulation import LEVELS, estimates, pooled, pvalues, rejection

PAPER = (
    "Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A "
    "unifying framework, NeurIPS 32. Sections, lemmas and figures are numbered as in the authors' "
    "TeX of it, devmotion/CalibrationPaper@a164e8ba (arXiv 1910.11385)"
)
NEEDS = (
    skce_networks.FILE,
    "(reference) paper_estimate_means.csv",
    "(reference) paper_rejection_rates.csv",
)
CAPTIONS = {
    "figure_1": "Figure 1, from our data sets, m = 10. Orange: the mean of the estimates. Green, "
    "dashed: the true value, for which the SKCE of M2 and M3 has the mean of SKCE_uq.",
    "figure_2": "Figure 2, from our data sets, m = 10. Solid: the paper's test. Dotted: the exact "
    "null, of the ECE beside C and of SKCE_uq beside the others. Dashed: the level.",
}
RESAMPLES = 199
PER_TASK = 50


def tasks(setting: Setting) -> list[Task]:
    """Chunks of data sets of each model and number of classes, and the networks."""
    found = []
    # The smallest p-value of 99 resamples is the first level that is compared, 0.01.
    resamples = setting.choose(99, RESAMPLES, RESAMPLES)
    for m in CLASSES:
        # Of 1000 classes there are fewer: one data set takes 40 ms.
        sets = setting.choose(5, 500, 10_000) if m < 1000 else setting.choose(2, 200, 2000)
        others = setting.choose(0, 50, 500) if m < 1000 else setting.choose(0, 0, 50)
        for model in MODELS:
            for chunk, size in _chunks(sets):
                found.append(_task(estimates, (model, m, chunk, size)))
                if m in TESTED:
                    found.append(_task(pvalues, (model, m, chunk, size, resamples, resamples)))
        for model, fixed in APPENDIX.items():
            for chunk, size in _chunks(others):
                found.append(_task(estimates, (model, m, chunk, size)))
            # The paper's figures of p-values have only these shares.
            if m in TESTED and fixed.pi in {0.0, 0.5, 1.0}:
                for chunk, size in _chunks(setting.choose(0, 50, 300)):
                    found.append(_task(pvalues, (model, m, chunk, size, resamples, resamples)))
    return found + skce_networks.tasks(setting)


def _chunks(sets: int) -> list[tuple[int, int]]:
    return [(i, min(PER_TASK, sets - i * PER_TASK)) for i in range(math.ceil(sets / PER_TASK))]


def _task(function: Callable[..., list[Row]], arguments: tuple[Any, ...]) -> Task:
    return Task(f"{function.__name__} {arguments}", function, arguments)


def summary(rows: list[Row], setting: Setting) -> list[Row]:
    """Rows for the CSV file: moments of the estimates, and rejection rates at the levels."""
    if _summed_up(rows):
        return rows
    found: list[Row] = []
    samples = pooled(rows, "estimate")
    for (model, m, name), values in samples.items():
        moments = {"mean": values.mean(), "sd": values.std(ddof=1)}
        base = {"kind": "estimate", "model": model, "m": m, "name": name, "n": values.size}
        found.append({**base, **{key: float(value) for key, value in moments.items()}})
    for (model, m, name), values in pooled(rows, "pvalue").items():
        base = {"kind": "rejection rate", "model": model, "m": m, "name": name, "n": values.size}
        rates = dict(zip((f"{level:.2f}" for level in LEVELS), rejection(values), strict=True))
        found.append({**base, **{key: float(rate) for key, rate in rates.items()}})
    found += differences_of(samples)
    return found + [row for row in rows if row.get("kind") == "network"]


def _summed_up(rows: list[Row]) -> bool:
    return any(row.get("kind") == "difference" for row in rows)


def claims(rows: list[Row], setting: Setting) -> list[Part]:
    """Compare with section 7 and appendix J."""
    found = pooled(rows, "estimate")
    stored = [row for row in rows if row.get("kind") == "difference"]
    return [
        *skce_estimates.parts(found, stored or differences_of(found), setting),
        *skce_errors.parts(pooled(rows, "pvalue"), setting),
        *skce_networks.parts(rows, setting),
    ]


def figures(rows: list[Row], setting: Setting) -> dict[str, Any]:
    """Figures 1 and 2, with the exact null in figure 2."""
    from paper_checks.skce_figures import errors_figure, estimates_figure

    found, tested = pooled(rows, "estimate"), pooled(rows, "pvalue")
    return {
        "figure_1": estimates_figure(found),
        "figure_2": errors_figure(tested, FIGURE_2, EXACT),
    }
