"""Milios et al. 2018: Gaussian processes on Dirichlet pseudo-observations, figures 3 to 5."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from paper_checks.check import FULL_ONLY, NO_DATA, NOT_IN_PAPER, Claim, Part, Row, Setting, Task
from paper_checks.gp_fits import BUNDLED, BY_NAME, SETS, DataSet, fit, fit_alpha, fit_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = (
    "Milios, Camoriano, Michiardi, Rosasco, Filippone (2018), Dirichlet-based Gaussian processes "
    "for large-scale calibrated classification, NeurIPS"
)
NEEDS = tuple(dict.fromkeys(task.file for task in SETS if task.file))

CAPTIONS = {
    "reliability": "Reliability diagrams of the first split, ten bins of the confidence.",
    "figure_3": "Figure 3: MNLL of GPD against alpha_eps.",
}
MODELS = ("GPC", "GPD", "GPR", "GPR + Platt", "NKRR")
ALPHAS = (0.1, 0.01, 0.001, 0.0001)
UNAVAILABLE = ("MiniBooNE", "CoverType", "SUSY", "Drive", "MoCap")


# ---- tasks --------------------------------------------------------------------------------------


def tasks(setting: Setting) -> list[Task]:
    """List the fits of figures 3, 4 and 5 on the sets that are there, and on a bundled one."""
    found = _fits(BUNDLED, None, setting.choose(1, 3, 10))
    quick = setting.choose((), ("HTRU2", "MAGIC"), tuple(task.name for task in SETS))
    for task in SETS:
        path = setting.data_file(task.file or "")
        if path is None or task.name not in quick:
            continue
        found += _fits(task, path, setting.choose(1, 3, 10))
        found += _alphas(task, path, setting.choose(1, 1, 3))
        if task.name in setting.choose((), ("HTRU2",), ("EEG", "HTRU2", "MAGIC")):
            found += _sizes(task, path, setting.choose((), (25, 50, 100), (25, 50, 100, 200, 400)))
    return found


def _fits(task: DataSet, path: Path | None, splits: int) -> list[Task]:
    return [
        Task(f"figure 4 {task.name} {name} split {seed}", fit, (task.name, path, name, seed))
        for seed in range(1, splits + 1)
        for name in MODELS
        if name != "GPC" or task.variational
    ]


def _alphas(task: DataSet, path: Path, splits: int) -> list[Task]:
    return [
        Task(
            f"figure 3 {task.name} {alpha} split {seed}", fit_alpha, (task.name, path, alpha, seed)
        )
        for seed in range(1, splits + 1)
        for alpha in ALPHAS
    ]


def _sizes(task: DataSet, path: Path, sizes: Iterable[int]) -> list[Task]:
    return [
        Task(f"figure 5 {task.name} {name} M={M}", fit_size, (task.name, path, name, M))
        for M in sizes
        for name in ("GPC", "GPD")
    ]


# ---- figures ------------------------------------------------------------------------------------


def figures(rows: list[Row], setting: Setting) -> dict[str, Figure]:
    """Draw figure 3, and the reliability diagrams of appendix A."""
    found = {}
    diagrams = [row for row in rows if row["experiment"] == "reliability"]
    if diagrams:
        found["reliability"] = _reliability_picture(diagrams)
    curves = [row for row in rows if row["experiment"] == "figure 3"]
    if curves:
        found["figure_3"] = _alpha_picture(curves)
    return found


def _reliability_picture(rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    sets = list(dict.fromkeys(row["set"] for row in rows))
    size = (2.1 * len(MODELS), 2.2 * len(sets))
    picture = Figure(figsize=size, layout="constrained")
    grid = picture.subplots(len(sets), len(MODELS), sharex=True, sharey=True, squeeze=False)
    for name, line in zip(sets, grid, strict=True):
        for which, ax in zip(MODELS, line, strict=True):
            some = [row for row in rows if (row["set"], row["model"]) == (name, which)]
            if not some:
                ax.set_axis_off()
                continue
            ax.plot([0, 1], [0, 1], color="0.7", lw=1)
            ax.plot([r["confidence"] for r in some], [r["accuracy"] for r in some], "o-", ms=3)
            ax.set_title(f"{name}: {which}", fontsize=8)
    picture.supxlabel("mean confidence")
    picture.supylabel("accuracy")
    return picture


def _alpha_picture(rows: list[Row]) -> Figure:
    from matplotlib.figure import Figure

    sets = list(dict.fromkeys(row["set"] for row in rows))
    picture = Figure(figsize=(3 * len(sets), 2.6), layout="constrained")
    axes = picture.subplots(1, len(sets), squeeze=False)[0]
    for name, ax in zip(sets, axes, strict=True):
        for part in ("train", "test"):
            means = [_mean(rows, f"{part} MNLL", set=name, alpha=alpha) for alpha in ALPHAS]
            ax.plot(ALPHAS, means, "o-", ms=3, label=part)
        ax.set(xscale="log", xlabel="alpha_eps", ylabel="MNLL", title=name)
    axes[0].legend(frameon=False)
    return picture


# ---- claims -------------------------------------------------------------------------------------


def claims(rows: list[Row], setting: Setting) -> list[Part]:
    """State what the paper's figures show, on the sets that are there."""
    parts = [
        Part("Figure 3: MNLL against alpha_eps", _figure_3(rows), TEXT_3),
        Part("Figure 4: error, MNLL and ECE", _figure_4(rows, setting), TEXT_4),
        Part("Figure 5: time", _figure_5(rows), TEXT_5),
    ]
    return [part for part in parts if part.claims]


TEXT_3 = (
    "The authors' program has alpha_eps = 0.01 for EEG, HTRU2 and MAGIC and 0.001 for letter, "
    "from a grid of powers of ten. The curves on the training and the test set are in the "
    "picture."
)
TEXT_4 = (
    "Sizes, preprocessing and inducing points are those of the authors' program; splits are "
    "random. MNLL counts 750 where probability 0 is given; ECE is that of the confidence, with 10 "
    "bins. The paper's numbers are in a figure and not at hand; its claim is that GPD has "
    "essentially the accuracy and the uncertainty of GPC. Here, for MNLL and ECE: that GPD is "
    "nearer to GPC than regression on the labels (GPR) is. Reliability diagrams (appendix A) are "
    "in the picture. On all rows of letter GPC was not run: with 26 latent functions a step takes "
    "seconds."
)
TEXT_5 = "CPU seconds of a fit on one thread, k-means included; the ratios are in the CSV file."


def _select(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def _mean(rows: list[Row], what: str, **wanted: Any) -> float:
    values = [row[what] for row in _select(rows, **wanted)]
    return float(np.mean(values)) if values else math.nan


def _figure_3(rows: list[Row]) -> list[Claim]:
    rows = _select(rows, experiment="figure 3")
    result = []
    for name in dict.fromkeys(row["set"] for row in rows):
        means = {alpha: _mean(rows, "test MNLL", set=name, alpha=alpha) for alpha in ALPHAS}
        train = {alpha: _mean(rows, "train MNLL", set=name, alpha=alpha) for alpha in ALPHAS}
        best, on_train = (min(values, key=values.__getitem__) for values in (means, train))
        said = ", ".join(f"{alpha:g}: {value:.4f}" for alpha, value in means.items())
        theirs = BY_NAME[name].alpha
        result += [
            Claim(
                f"figure 3, {name}",
                "alpha_eps with the smallest MNLL of the test set",
                f"{theirs:g} (the authors' choice)",
                f"{best:g} ({said})",
                holds=best == theirs,
            ),
            Claim(
                f"figure 3, {name}",
                "loss in test MNLL where the training set chooses alpha_eps",
                None,
                means[on_train] - means[best],
            ),
        ]
    return result


def _figure_4(rows: list[Row], setting: Setting) -> list[Claim]:
    rows = _select(rows, experiment="figure 4")
    result = []
    for task in (*SETS, BUNDLED):
        some = _select(rows, set=task.name)
        if some:
            result += _figure_4_set(task, some)
            continue
        there = task.file is not None and setting.data_file(task.file) is not None
        missing = FULL_ONLY if there else NO_DATA
        result.append(Claim(f"figure 4, {task.name}", "all", None, missing=missing))
    result += [Claim(f"figure 4, {n}", "all", None, missing=NO_DATA) for n in UNAVAILABLE]
    return result


def _figure_4_set(task: DataSet, rows: list[Row]) -> list[Claim]:
    where = f"figure 4, {task.name}"
    if task is BUNDLED:
        where = f"{NOT_IN_PAPER}, {task.name}"
    splits = len({row["split"] for row in rows})
    result = []
    for what in ("error", "MNLL", "ECE"):
        means = {name: _mean(rows, what, model=name) for name in MODELS}
        ours = ", ".join(f"{n} {v:.4f}" for n, v in means.items() if math.isfinite(v))
        title = f"{what}, mean of {splits} splits" if splits > 1 else what
        if task.variational and what != "error":
            words = "GPD nearer to GPC than GPR"
            holds = abs(means["GPD"] - means["GPC"]) < abs(means["GPR"] - means["GPC"])
        elif what == "MNLL":
            words, holds = "GPD below GPR", means["GPD"] < means["GPR"]
        else:
            result.append(Claim(where, title, None, ours))
            continue
        note = f"{task.name}, {what}: {_paired(rows, what)}" if task.variational else ""
        result.append(Claim(where, title, words, ours, holds=holds, note=note))
    return result


def _paired(rows: list[Row], what: str) -> str:
    """GPD less GPC and GPR less GPC over splits, with standard errors."""
    by_split = {
        name: [r[what] for r in _select(rows, model=name)] for name in ("GPC", "GPD", "GPR")
    }
    said = []
    for name in ("GPD", "GPR"):
        d = np.subtract(by_split[name], by_split["GPC"])
        error = f" (s.e. {d.std(ddof=1) / math.sqrt(len(d)):.4f})" if len(d) > 1 else ""
        said.append(f"{name} less GPC {d.mean():+.4f}{error}")
    return ", ".join(said)


def _figure_5(rows: list[Row]) -> list[Claim]:
    fits = _select(rows, experiment="figure 4")
    result = []
    for task in (*SETS, BUNDLED):
        slow, fast = (_mean(fits, "seconds", set=task.name, model=m) for m in ("GPC", "GPD"))
        if math.isfinite(slow) and math.isfinite(fast):
            where = NOT_IN_PAPER if task is BUNDLED else "figure 5 left"
            result.append(_speed(f"{where}, {task.name}", slow, fast))
    sizes = _select(rows, experiment="figure 5")
    for name in dict.fromkeys(row["set"] for row in sizes):
        some = _select(sizes, set=name)
        for M in dict.fromkeys(row["M"] for row in some):
            slow, fast = (_mean(some, "seconds", model=m, M=M) for m in ("GPC", "GPD"))
            result.append(_speed(f"figure 5 right, {name}, M = {M}", slow, fast))
        result += _falls(name, some)
    return result


def _speed(where: str, slow: float, fast: float) -> Claim:
    ours = f"{slow / fast:.1f} times: {slow:.2f} s and {fast:.2f} s"
    return Claim(
        where, "speed of GPD over GPC", "GPD is faster", ours, holds=slow > fast, timed=True
    )


def _falls(name: str, rows: list[Row]) -> list[Claim]:
    result = []
    for which in ("GPC", "GPD"):
        curve = sorted((row["M"], row["error"]) for row in _select(rows, model=which))
        ours = ", ".join(f"M = {M}: {error:.4f}" for M, error in curve)
        where = f"figure 5 right, {name}, {which}"
        falls = curve[-1][1] <= curve[0][1]
        result.append(
            Claim(where, "error as M grows", "no higher at the largest M", ours, holds=falls)
        )
    return result
