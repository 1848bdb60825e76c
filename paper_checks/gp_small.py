"""Figures 1 and 2 of Milios et al. 2018, in one dimension, and the 95 % bands of figure 6."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from caltest.classifiers import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    VariationalGPClassifier,
)
from paper_checks import gp_fits
from paper_checks.check import Claim, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRID = np.linspace(0, 1, 201)
CENTRES = np.linspace(0, 1, 10)
BANDS = ("GPC", "GPD", "GPR", "GPR + Platt")
LEVEL = 0.95
ENOUGH = 50  # rows of a bin that counts
ALPHA = 0.01  # of figure 2


def truth(x: Floats) -> Floats:
    """Return the probability of the event; the paper does not give its function."""
    found: Floats = 0.5 + 0.4 * np.sin(2 * np.pi * x)
    return found


def sample(n: int, seed: int) -> tuple[Floats, Ints]:
    """Features in [0, 1] and labels, with both classes."""
    rng = np.random.default_rng((n, seed))
    while True:
        x = rng.random(n)
        y = (rng.random(n) < truth(x)).astype(np.int64)
        if 1 < y.sum() < n - 1:
            return x[:, np.newaxis], y


def _maximum_likelihood() -> Any:
    """Logistic regression on ten Gaussian bumps, without a penalty."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(
        FunctionTransformer(_bumps), LogisticRegression(C=1e6, max_iter=2000, tol=1e-6)
    )


FIGURE_1: dict[str, Callable[[], Any]] = {
    "ML, cross-entropy": _maximum_likelihood,
    "GPR": lambda: GPRegressionClassifier(random_state=0),
    "GPC": lambda: VariationalGPClassifier(random_state=0),
}


def _bumps(X: Floats) -> Floats:
    found: Floats = np.exp(-0.5 * np.square((X - CENTRES) / 0.1))
    return found


# ---- rows ---------------------------------------------------------------------------------------


def convergence(n: int, sets: int) -> list[Row]:
    """Mean squared error of each classifier from the true probabilities, and its spread."""
    rows = []
    for name, make in FIGURE_1.items():
        found = []
        for seed in range(sets):
            X, y = sample(n, seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = make().fit(X, y)
            p = fitted.predict_proba(GRID[:, np.newaxis])[:, 1]
            found.append(float(np.mean(np.square(p - truth(GRID)))))
        row = {"MSE": float(np.mean(found)), "sd": float(np.std(found, ddof=1)), "sets": sets}
        rows.append({"experiment": "figure 1", "model": name, "n": n} | row)
    return rows


def bands(name: str, path: Path, which: str) -> list[Row]:
    """Reliability curves of the mean and of both ends of the 95 % band, and the band's width."""
    task = gp_fits.BY_NAME[name]
    X, y, X_test, y_test = gp_fits.split(task, path, 1)
    fitted = gp_fits.model(which, task.n_inducing, task.alpha).fit(X, y)
    event = (y_test == fitted.classes_[1]).astype(float)
    ends = fitted.predict_proba_interval(X_test, confidence=LEVEL)[:, 1]
    curves = {
        "mean": fitted.predict_proba(X_test)[:, 1],
        "lower": ends[:, 0],
        "upper": ends[:, 1],
    }
    start = {"experiment": "figure 6", "set": name, "model": which}
    rows = [start | {"curve": "width", "width": float(np.mean(ends[:, 1] - ends[:, 0]))}]
    for curve, p in curves.items():
        cells = np.clip((p * gp_fits.BINS).astype(int), 0, gp_fits.BINS - 1)
        for cell in np.unique(cells):
            some = cells == cell
            numbers = {"prediction": float(p[some].mean()), "share": float(event[some].mean())}
            rows.append(
                start | {"curve": curve, "bin": int(cell), "count": int(some.sum())} | numbers
            )
    return rows


# ---- claims -------------------------------------------------------------------------------------

TEXT_1 = (
    "The text has lost the function, the dimension and the sizes of the training sets. Here x is "
    "uniform on [0, 1], the probability 0.5 + 0.4 sin(2 pi x), and the maximum-likelihood "
    "classifier logistic regression on ten Gaussian bumps without a penalty. The MSE is from the "
    "true probability, mean over data sets, with the standard deviation over data sets."
)
TEXT_2 = (
    "One-dimensional binary example, 40 rows, alpha_eps = 0.01, class 1 with the logistic function "
    "of 15 (x - 0.5); the paper's data are not given. The picture has both latent posteriors, with "
    "the transformed labels and their standard deviations, and both probabilities, each with its "
    "95 % band."
)
TEXT_6 = (
    "First split; bands by the 2.5 % and 97.5 % quantiles of the posterior of P(class 1). The "
    "reliability curve of each end is that of the classifier which predicts it. Bins of fewer than "
    "50 rows are left out. MiniBooNE is not in `--data`."
)


def convergence_claims(rows: list[Row]) -> list[Claim]:
    """State what section 3.2 says of figure 1."""
    found = {(row["model"], row["n"]): row for row in rows}
    sizes = sorted({row["n"] for row in rows})
    if not sizes:
        return []
    claims = []
    for what, words in (("MSE", "GPC has the smallest"), ("sd", "GPC has the smallest")):
        for n in sizes:
            values = {name: found[name, n][what] for name in FIGURE_1}
            ours = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
            title = "MSE" if what == "MSE" else "standard deviation of the MSE"
            holds = min(values, key=lambda name: values[name]) == "GPC"
            claims.append(Claim("figure 1", f"{title}, n = {n}", words, ours, holds=holds))
    return claims


def dirichlet_example() -> tuple[Floats, Ints, DirichletGPClassifier]:
    """Return a data set of one dimension and its fit by GPD."""
    rng = np.random.default_rng(0)
    x = rng.random(40)
    y = (rng.random(40) < expit(15 * (x - 0.5))).astype(np.int64)
    X = x[:, np.newaxis]
    return X, y, DirichletGPClassifier(alpha=ALPHA, random_state=0).fit(X, y)


def example_claims() -> list[Claim]:
    """State what section 4 says of figure 2."""
    _, _, fitted = dirichlet_example()
    mean, variance = fitted.predict_latent(GRID[:, np.newaxis])
    probs = fitted.predict_proba(GRID[:, np.newaxis])
    skew = float(np.abs(mean.sum(axis=1) - mean.sum(axis=1).mean()).max())
    other = float(np.abs(variance[:, 0] - variance[:, 1]).max())
    mirror = float(np.abs(probs.sum(axis=1) - 1).max())
    latent = "the latent posteriors are no mirror images"
    ours = f"sum of the means varies by {skew:.2f}, variances differ by {other:.2f}"
    return [
        Claim("figure 2", "latent posteriors", latent, ours, holds=skew > 0.01 or other > 0.01),
        Claim(
            "figure 2",
            "posteriors after the softmax",
            "one is a mirror image of the other",
            f"P(0) + P(1) less 1: at most {mirror:.0e}",
            holds=mirror < 1e-12,
        ),
    ]


def band_claims(rows: list[Row]) -> list[Claim]:
    """State what appendix A says of figure 6."""
    claims = []
    for name in dict.fromkeys(row["set"] for row in rows):
        own = [row for row in rows if row["set"] == name]
        width = {row["model"]: row["width"] for row in own if row["curve"] == "width"}
        ours = ", ".join(f"{which} {value:.4f}" for which, value in width.items())
        claims.append(
            Claim(
                f"figure 6, {name}",
                "mean width of the 95 % band",
                "GPD results in a narrower predictive distribution than GPC",
                ours,
                holds=width["GPD"] < width["GPC"],
            )
        )
        for which in ("GPC", "GPD"):
            inside, bins = _inside([row for row in own if row["model"] == which])
            claims.append(
                Claim(
                    f"figure 6, {name}",
                    f"identity within the band, {which}",
                    "it should lie within its limits",
                    f"in {inside} of {bins} bins",
                    holds=2 * inside > bins,
                )
            )
    return claims


def _inside(rows: list[Row]) -> tuple[int, int]:
    """Bins where the identity lies between the curves of both ends, of those with enough rows."""
    curves = {
        curve: {r["bin"]: r for r in rows if r["curve"] == curve and r["count"] >= ENOUGH}
        for curve in ("lower", "upper")
    }
    both = curves["lower"].keys() & curves["upper"].keys()
    # The lower end predicts less than happens, the upper end more.
    inside = [
        curves["lower"][k]["share"] >= curves["lower"][k]["prediction"]
        and curves["upper"][k]["share"] <= curves["upper"][k]["prediction"]
        for k in both
    ]
    return sum(inside), len(inside)


# ---- pictures -----------------------------------------------------------------------------------


def convergence_picture(rows: list[Row]) -> Figure:
    """Draw the mean squared error over the size of the training set."""
    from matplotlib.figure import Figure

    picture = Figure(figsize=(4.5, 3), layout="constrained")
    ax = picture.subplots()
    for name in FIGURE_1:
        own = sorted((row for row in rows if row["model"] == name), key=lambda row: row["n"])
        n, mse, sd = (np.array([row[key] for row in own]) for key in ("n", "MSE", "sd"))
        [line] = ax.plot(n, mse, "o-", ms=3, label=name)
        ax.fill_between(n, np.maximum(mse - sd, 0), mse + sd, color=line.get_color(), alpha=0.15)
    ax.set(xscale="log", xlabel="training rows", ylabel="MSE from the true probability")
    ax.legend(frameon=False)
    return picture


def example_picture() -> Figure:
    """Draw both latent posteriors and both probabilities."""
    from matplotlib.figure import Figure

    X, y, fitted = dirichlet_example()
    picture = Figure(figsize=(8, 4.4), layout="constrained")
    axes = picture.subplots(2, 2, sharex=True)
    grid = GRID[:, np.newaxis]
    mean, variance = fitted.predict_latent(grid)
    probs, ends = fitted.predict_proba(grid), fitted.predict_proba_interval(grid, confidence=LEVEL)
    for k, (left, right) in enumerate(axes):
        a = np.where(y == k, 1 + ALPHA, ALPHA)
        noise = np.log1p(1 / a)
        left.errorbar(X[:, 0], np.log(a) - noise / 2, np.sqrt(noise), fmt=".", color="0.6", lw=0.7)
        half = 1.96 * np.sqrt(variance[:, k])
        left.plot(GRID, mean[:, k])
        left.fill_between(GRID, mean[:, k] - half, mean[:, k] + half, alpha=0.2)
        left.set(ylabel=f"latent, class {k}")
        right.plot(X[:, 0], y == k, ".", color="0.6")
        right.plot(GRID, probs[:, k])
        right.fill_between(GRID, ends[:, k, 0], ends[:, k, 1], alpha=0.2)
        right.set(ylabel=f"P(class {k})", ylim=(-0.05, 1.05))
    return picture


def band_picture(rows: list[Row]) -> Figure:
    """Draw the share of events over the prediction, a panel a set and model."""
    from matplotlib.figure import Figure

    sets = list(dict.fromkeys(row["set"] for row in rows))
    picture = Figure(figsize=(2.3 * len(BANDS), 2.2 * len(sets)), layout="constrained")
    grid = picture.subplots(len(sets), len(BANDS), sharex=True, sharey=True, squeeze=False)
    for name, line in zip(sets, grid, strict=True):
        for which, ax in zip(BANDS, line, strict=True):
            own = [r for r in rows if (r["set"], r["model"]) == (name, which) and "share" in r]
            own = [r for r in own if r["count"] >= ENOUGH]
            ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls="--")
            for curve, style in (("mean", "C0o-"), ("lower", "0.6"), ("upper", "0.6")):
                some = [r for r in own if r["curve"] == curve]
                ax.plot([r["prediction"] for r in some], [r["share"] for r in some], style, ms=3)
            ax.set_title(f"{name}: {which}", fontsize=8)
    picture.supxlabel("mean prediction of class 1")
    picture.supylabel("share of class 1")
    return picture
