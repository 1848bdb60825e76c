"""Scores of models and their parts, decisions, differences, and ranks over data sets."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from caltest import checks, render
from caltest.errors import invalid, shown
from caltest.lenses import Lens, resolve_lens
from caltest.measures import NetBenefit, ScoreDecomposition, score_decomposition
from caltest.measures.scores.net_benefit import net_benefit as benefit_of
from caltest.plots import base, scales
from caltest.plots.reliability_grid import before_and_after
from caltest.predictions import Predictions, as_measured
from caltest.results import Comparison, HTest, ModelComparison
from caltest.types import Axes, Floats

if TYPE_CHECKING:
    from caltest.comparison import Ranking

CORNERS = ((1, 1), (-1, 1), (1, -1), (-1, -1))  # of a point, where its name may stand
LINES = 7  # of equal scores
LONGEST_LINE = 56  # letters under differences of scores


def mcb_dsc(
    models: Mapping[str, object],
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    score: str = "brier",
    ax: Axes | None = None,
) -> Axes:
    """Draw the miscalibration of models against their discrimination, with lines of equal scores.

    By the CORP decomposition a score is MCB - DSC + UNC, and UNC is that of the labels, the same
    for all models: better models lie nearer to the upper left corner, and along a line all have the
    same score.

    Parameters
    ----------
    models : mapping
        From names to Predictions, or to probabilities with `labels`.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where models are probabilities.
    lens : str or Lens, default "strong"
        A lens that leaves two classes and the same event for all models; "confidence" does not.
    score : {"brier", "log-loss"}
        What is decomposed.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; UNC is in the title.

    Raises
    ------
    InvalidInput
        If there is no model, or the labels of models differ.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Dimitriadis, Gneiting, Jordan, Vogel (2024), Evaluating probabilistic classifiers: the triptych,
    International Journal of Forecasting 40, section 3.3.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> ct.plots.mcb_dsc(models, data.labels).get_xlabel()
    'miscalibration MCB'
    """
    checks.check_instance(models, Mapping, "models", 'pass {"name": probabilities}')
    if not models:
        raise invalid("models must hold one", shown(models), 'pass {"name": probabilities}')
    parts: list[ScoreDecomposition] = []
    first, shown_by = None, resolve_lens(lens)
    for model in models.values():
        given = None if isinstance(model, Predictions) else labels
        predictions = shown_by(as_measured(model, given, mcb_dsc))
        first = predictions if first is None else first
        if not np.array_equal(first.labels, predictions.labels):
            rule = "the models must be of the same labels, in the same order"
            raise invalid(rule, "others", "pass predictions of the same rows, and another lens")
        part = score_decomposition(predictions, score=score)
        parts += part if isinstance(part, list) else [part]
    mcb, dsc = np.array([(part.miscalibration, part.discrimination) for part in parts]).T
    ax = base.axes(ax, (5.2, 4.4))
    width, height = 1.3 * max(float(mcb.max()), 1e-6), 1.15 * max(float(dsc.max()), 1e-6)
    ax.set(xlim=(0, width), ylim=(0, height))
    for gain in np.linspace(-width, height, LINES + 2)[1:-1].tolist():  # with DSC - MCB constant
        x = np.array([max(0.0, -gain), min(width, height - gain)])
        ax.plot(x, x + gain, color=base.PALE, linewidth=base.THIN, zorder=1)
        at_right = width < height - gain
        style: dict[str, Any] = {"ha": "right", "va": "bottom" if at_right else "top"}
        style |= {"fontsize": base.SMALL - 1, "color": base.GREY, "zorder": 2}
        shift, text = (-2, 0) if at_right else (0, -2), f"{parts[0].uncertainty - gain:.3f}"
        base.note(ax, text, (x[1], x[1] + gain), shift, **style)
    texts = [
        f"{name}: MCB {a.miscalibration:.4f}, DSC {a.discrimination:.4f}, score {a.score:.4f}"
        for name, a in zip(models, parts, strict=True)
    ]
    base.set_tips(ax.scatter(mcb, dsc, s=36, color=base.BLUE, zorder=4, clip_on=False), texts)
    _name_points(ax, mcb / width, dsc / height, base.names_text(models))
    names = {"brier": "Brier score", "log-loss": "log loss"}
    title = f"{names[score]}, UNC = {parts[0].uncertainty:.4f}; lines have equal scores"
    return base.label_axes(ax, "miscalibration MCB", "discrimination DSC", title)


def _name_points(ax: Axes, x: Floats, y: Floats, words: list[str]) -> None:
    """Write each name at the first corner of its point, or beyond it, where nothing else is."""
    letter = 0.66 * base.SMALL / (72 * base.inches(ax))
    r, points = 0.012, zip(x, y, strict=True)
    taken: list[tuple[float, ...]] = [(a - r, a + r, b - r, b + r) for a, b in points]
    places = [(right, up * (1 + 2.5 * far), up) for far in range(LINES) for right, up in CORNERS]
    for a, b, word in zip(x.tolist(), y.tolist(), words, strict=True):
        boxes = []
        for right, far, up in places:
            ends = sorted((a + 0.014 * right, a + (0.014 + len(word) * letter) * right))
            low = b + 0.014 * far
            boxes.append((*ends, *sorted((low, low + 0.041 * up))))
        free = [not any(base.overlap(box, other) for other in taken) for box in boxes]
        inside = [min(box[0], box[2]) > 0 and max(box[1], box[3]) < 1 for box in boxes]
        best = next((i for i in range(len(boxes)) if free[i] and inside[i]), 0)
        taken.append(boxes[best])
        right, far, up = places[best]
        style: dict[str, Any] = {"xycoords": "axes fraction", "zorder": 5}
        style |= {"ha": "left" if right > 0 else "right", "va": "bottom" if up > 0 else "top"}
        if best >= len(CORNERS):
            line = {"arrowstyle": "-", "linewidth": base.THIN, "color": base.GREY}
            style["arrowprops"] = line | {"relpos": (right < 0, 0.5)}  # beside the other names
        base.note(ax, word, (a, b), (4 * right, 4 * far), **style)


LOWEST = 0.3  # how far the axes reach below 0, as a share of what they show above


def decision_curve(
    predictions: Predictions | HTest,
    recalibrated: object = None,
    *,
    lens: str | Lens | None = None,
    thresholds: object = None,
    scale: str = "probability",
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the net benefit of treating by the predictions, beside treating all and none.

    At a threshold a decision by the model is worth its net benefit in true positives of each row,
    see `caltest.measures.net_benefit`. Where the curve is below that of treating all or none, the
    model does harm at that threshold.

    Parameters
    ----------
    predictions : Predictions or HTest
        The predictions, or the result of a test of them.
    recalibrated : Predictions or calibrator, optional
        What is drawn beside: predictions after recalibration, or a fitted map of the first ones.
    lens : str or Lens, optional
        One that leaves two classes.
    thresholds : (k,) array, optional
        Threshold probabilities; by default 0.01, 0.02, ... up to the largest prediction.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds.
    confidence : float, default 0.95
        Of the intervals, at each threshold by itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes, or a result has no predictions any more.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models,
    Medical Decision Making 26.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=1)
    >>> ct.plots.decision_curve(data).get_ylabel()
    'net benefit'
    """
    checks.check_confidence(confidence)
    scales.check_scale(scale)
    parts = before_and_after(predictions, recalibrated, lens, "a decision curve")
    if thresholds is None:
        largest = max(float(part.probs[:, 1].max()) for part in parts)
        thresholds = np.arange(1, max(2, min(99, int(100 * largest)) + 1)) / 100
    options: dict[str, Any] = {"thresholds": thresholds, "confidence": confidence}
    found = [cast("NetBenefit", benefit_of(part, **options)) for part in parts]
    ax = base.axes(ax, (5.2, 4.0))
    names = ("before recalibration", "after recalibration") if len(parts) > 1 else ("model",)
    styles = ((base.BLUE, "-"), (base.VERMILION, "--"))
    for one, name, (color, ls) in zip(found, names, styles, strict=False):
        base.band(ax, one.threshold, one.low, one.high, color=color, alpha=base.BAND / 1.5)
        ax.plot(one.threshold, one.model, color=color, ls=ls, linewidth=base.LINE, label=name)
    first = found[0]
    line: dict[str, Any] = {"linewidth": base.THIN * 1.5}
    ax.plot(first.threshold, first.treat_all, color=base.GREY, ls="-.", label="treat all", **line)
    ax.axhline(0.0, color=base.BLACK, linestyle=":", label="treat none", **line)
    top = max(float(one.high.max()) for one in found)
    ax.set(ylim=(-LOWEST * top, 1.05 * top) if top > 0 else None)
    if scale == "log-odds":
        scales.scale_for(first.threshold, scale, zoom=False).apply(ax, "x")
    else:
        ax.set_xlim(float(first.threshold[0]), float(first.threshold[-1]) + 1e-9)
    base.legend(ax, loc="upper right")
    title = f"n = {first.n:,}, {100 * confidence:g} % intervals"
    return base.label_axes(ax, "threshold probability", "net benefit", title)


def score_differences(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the differences of the scores of a comparison, better ones at the left.

    Of calibrators: from the uncalibrated model, with one standard error each way; what is selected
    is filled. Of models: from the reference, with their intervals; the best is filled. The numbers
    at the right are the scores.

    Parameters
    ----------
    comparison : CalibratorComparison or ModelComparison
        What `compare_calibrators` or `compare_models` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> result = ct.compare_models(models, data.labels, n_resamples=99, rng=1)
    >>> ct.plots.score_differences(result).get_xlabel()
    'log loss, difference from as it is, 95 % intervals'
    """
    remedy = "pass the result of compare_calibrators or compare_models"
    checks.check_instance(comparison, Comparison, "comparison", remedy)
    marks, selected = [], getattr(comparison, "selected", "")
    reference, bars = "identity", "one standard error"
    if isinstance(comparison, ModelComparison):
        reference, selected = comparison.reference, comparison.best
        bars = f"{100 * comparison.confidence:g} % intervals"
    for row in comparison.rows:
        d, ends = row.difference, (None, None)
        if isinstance(comparison, ModelComparison):
            d, ends = (0.0, ends) if d is None else (d.difference, (d.low, d.high))
        elif d is not None and row.stderr is not None:
            ends = d - row.stderr, d + row.stderr
        score = row.scores.get(comparison.score)
        text = "not fitted" if score is None else render.number(score)
        marks.append(base.Difference(row.name, d, *ends, text, row.name == selected))
    ax = base.differences(ax, marks, 5.6)
    name = f"{comparison.score}, difference from {base.name_text(reference)}, {bars}"
    return base.label_axes(ax, textwrap.fill(name, LONGEST_LINE), "")


# ---- Demsar's critical-difference diagram of methods over data sets -----------------------------

WIDTH, LETTER, ROW = 4.6, 0.078, 0.24  # inches
BAR = 0.42  # between bars of groups, in rows
TICK = 0.22
LETTERS = 18  # of the title, an inch


def critical_difference(
    scores: object,
    *,
    names: object = None,
    n_datasets: int | None = None,
    lower_is_better: bool = True,
    control: object = None,
    level: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw the average ranks of methods over data sets, and which of them differ.

    Methods that a bar joins do not differ significantly: their average ranks differ by less than
    the critical difference (Nemenyi). With a control, the bar holds what does not differ from it
    (Bonferroni-Dunn).

    Parameters
    ----------
    scores : (N, k) array, data frame, (k,) array, or Ranking
        The score of each method (column) on each data set (row); the average ranks; or what
        `caltest.comparison.rank_methods` returned, and then no other option.
    names : sequence of str, optional
        The methods; by default the columns of the data frame, or 1, 2, ...
    n_datasets : int, optional
        N, where average ranks are given.
    lower_is_better : bool, default True
        As for losses and calibration errors; False for accuracies. Of no effect on average ranks.
    control : str, optional
        The method that the others are compared with.
    level : float, default 0.05
        Family-wise significance level.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x is the average rank.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, section
    3.2.4 and figure 1; Kull et al. (2019), Beyond temperature scaling, NeurIPS, compares
    calibrators so.

    Examples
    --------
    >>> import caltest as ct
    >>> ax = ct.plots.critical_difference(
    ...     [3.143, 2.0, 2.893, 1.964], names=["C4.5", "C4.5+m", "C4.5+cf", "both"], n_datasets=14
    ... )
    >>> [text.get_text() for text in ax.texts if text.get_text().startswith("critical")]
    ['critical difference 1.25']
    """
    from caltest.comparison import Ranking, rank_methods

    options: dict[str, Any] = {"names": names, "n_datasets": n_datasets, "level": level}
    options |= {"lower_is_better": lower_is_better, "control": control}
    ranking = scores if isinstance(scores, Ranking) else rank_methods(scores, **options)
    k = ranking.ranks.size
    bars = _levels(ranking)
    depth = 0.9 + BAR * (max((row for *_, row in bars), default=-1) + 1)
    rows = (k + 1) // 2
    words = base.names_text(ranking.names)
    width = WIDTH + 2 * LETTER * (max(map(len, words)) + 5)
    ax = base.axes(ax, (width, 1.4 + ROW * (rows + depth)))
    ax.set_axis_off()
    ax.plot([1, k], [0, 0], color=base.BLACK, linewidth=base.THIN)  # of ranks, the best at the left
    step = max(1, round((k - 1) / 12))
    for rank in (*range(1, k - step // 2, step), k):
        ax.plot([rank, rank], [0, TICK], color=base.BLACK, linewidth=base.THIN)
        ax.text(rank, TICK + 0.1, str(rank), ha="center", va="bottom", fontsize=base.SMALL)
    _distance(ax, ranking)
    for low, high, row in bars:
        more, y = 0.006 * (k - 1), -0.5 - BAR * row
        thick: dict[str, Any] = {"linewidth": 4, "solid_capstyle": "butt", "zorder": 4}
        ax.plot([low - more, high + more], [y, y], color=base.BLUE, **thick)
    _methods(ax, ranking, words, depth)
    ax.set(xlim=(1 - 0.02 * (k - 1), k + 0.02 * (k - 1)), ylim=(-depth - rows + 0.5, 2.6))
    return ax


def _distance(ax: Axes, ranking: Ranking) -> None:
    """Draw the critical difference above the axis, from rank 1, and name the procedure."""
    k, cd = ranking.ranks.size, ranking.critical_difference
    end, y = min(1 + cd, k), 1.35
    ax.plot([1, end], [y, y], color=base.BLACK, linewidth=base.LINE)
    ax.plot([1, 1], [y - 0.15, y + 0.15], color=base.BLACK, linewidth=base.LINE)
    mark = ">" if end < 1 + cd else "|"
    ax.plot([end], [y], mark, color=base.BLACK, markersize=6, markeredgewidth=base.LINE)
    text = f"critical difference {render.number(round(cd, 3 - len(str(int(cd)))))}"
    ax.text(1, y + 0.25, text, ha="left", va="bottom", fontsize=base.SMALL)
    against = "" if ranking.control is None else f" against {base.name_text(ranking.control)}"
    together = base.pvalue_text(ranking.pvalue).replace(" ", "\N{NO-BREAK SPACE}")
    test = f"Friedman's test: {together}"
    lines = (
        f"average ranks over {ranking.n_datasets} data sets, 1 is the best ({test})",
        f"bar: no significant difference{against} at level {ranking.level:g} ({ranking.procedure})",
    )
    letters = max(20, int(base.inches(ax) * LETTERS))
    base.label_axes(ax, "", "", "\n".join(textwrap.fill(line, letters) for line in lines))


def _levels(ranking: Ranking) -> list[tuple[float, float, int]]:
    """Return the ends of the bar of each group, and its row, in which no two bars touch."""
    ends: list[float] = []
    bars = []
    for own in (ranking.ranks[list(group)] for group in ranking.groups):
        low, high = float(own.min()), float(own.max())
        room = 0.03 * (ranking.ranks.size - 1)
        row = next((i for i, end in enumerate(ends) if end + room < low), len(ends))
        ends[row : row + 1] = [high]
        bars.append((low, high, row))
    return bars


def _methods(ax: Axes, ranking: Ranking, words: list[str], depth: float) -> None:
    """Lead each rank to its name, the better half at the left."""
    k = ranking.ranks.size
    order = np.argsort(ranking.ranks, kind="stable").tolist()
    half = (k + 1) // 2
    places = [*enumerate(order[:half]), *enumerate(reversed(order[half:]))]
    for count, (row, method) in enumerate(places):
        left, rank = count < half, float(ranking.ranks[method])
        y = -depth - row
        edge = 1 - 0.02 * (k - 1) if left else k + 0.02 * (k - 1)
        chosen = ranking.names[method] == ranking.control
        ax.plot([rank, rank, edge], [0, y, y], color=base.GREY, linewidth=base.THIN)
        ax.plot([rank], [0], "o", color=base.BLACK, markersize=3.5, zorder=5)
        name, value = words[method], f"{rank:.2f}"
        style: dict[str, Any] = {"ha": "right" if left else "left", "va": "center"}
        style |= {"fontsize": base.TEXT, "fontweight": "bold" if chosen else "normal"}
        text = f"{name}  {value}" if left else f"{value}  {name}"
        base.note(ax, text, (edge, y), (-3 if left else 3, 0), **style)
