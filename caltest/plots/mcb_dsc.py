"""Miscalibration against discrimination of several models, Gneiting et al. 2023."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import validation
from caltest.errors import invalid, shown
from caltest.lenses import Lens, resolve_lens
from caltest.measures.scores.decomposition import ScoreDecomposition, score_decomposition
from caltest.plots import base
from caltest.plots.tips import set_tips
from caltest.predictions import Predictions, as_measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SIZE = (5.2, 4.4)
CORNERS = ((1, 1), (-1, 1), (1, -1), (-1, -1))  # of a point, where its name may stand
LINES = 7  # of equal scores


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
    validation.check_instance(models, Mapping, "models", 'pass {"name": probabilities}')
    if not models:
        raise invalid("models must hold one", shown(models), 'pass {"name": probabilities}')
    parts = _parts(models, labels, resolve_lens(lens), score)
    mcb = np.array([part.miscalibration for part in parts])
    dsc = np.array([part.discrimination for part in parts])
    ax = base.axes(ax, SIZE)
    width, height = 1.3 * max(float(mcb.max()), 1e-6), 1.15 * max(float(dsc.max()), 1e-6)
    ax.set(xlim=(0, width), ylim=(0, height))
    _lines(ax, width, height, parts[0].uncertainty)
    dots = ax.scatter(mcb, dsc, s=36, color=base.BLUE, zorder=4, clip_on=False)
    texts = [
        f"{name}: MCB {a.miscalibration:.4f}, DSC {a.discrimination:.4f}, score {a.score:.4f}"
        for name, a in zip(models, parts, strict=True)
    ]
    set_tips(dots, texts)
    _name_points(ax, mcb / width, dsc / height, base.names_text(models))
    names = {"brier": "Brier score", "log-loss": "log loss"}
    title = f"{names[score]}, UNC = {parts[0].uncertainty:.4f}; lines have equal scores"
    return base.label_axes(ax, "miscalibration MCB", "discrimination DSC", title)


def _parts(
    models: Mapping[str, object], labels: object, lens: Lens, score: str
) -> list[ScoreDecomposition]:
    parts: list[ScoreDecomposition] = []
    first: Predictions | None = None
    for model in models.values():
        given = None if isinstance(model, Predictions) else labels
        predictions = lens(as_measured(model, given))
        if first is None:
            first = predictions
        elif not np.array_equal(first.labels, predictions.labels):
            rule = "the models must be of the same labels, in the same order"
            raise invalid(rule, "others", "pass predictions of the same rows, and another lens")
        part = score_decomposition(predictions, score=score)
        parts += part if isinstance(part, list) else [part]
    return parts


def _name_points(ax: Axes, x: Floats, y: Floats, words: list[str]) -> None:
    """Write each name at the first corner of its point that no other name or point is at."""
    letter = 0.6 * base.SMALL / (72 * base.inches(ax))
    taken: list[tuple[float, ...]] = [
        (a - 0.012, a + 0.012, b - 0.012, b + 0.012) for a, b in zip(x, y, strict=True)
    ]
    for a, b, word in zip(x.tolist(), y.tolist(), words, strict=True):
        boxes = [_box(a, b, len(word) * letter, *corner) for corner in CORNERS]
        free = [not any(_overlap(box, other) for other in taken) for box in boxes]
        inside = [box[0] > 0 and box[1] < 1 and box[2] > 0 for box in boxes]
        fits = [i for i in range(len(boxes)) if free[i] and inside[i]]
        best = fits[0] if fits else 0
        taken.append(boxes[best])
        right, up = CORNERS[best]
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": base.SMALL, "zorder": 5}
        style |= {"ha": "left" if right > 0 else "right", "va": "bottom" if up > 0 else "top"}
        ax.annotate(word, (a, b), (4 * right, 4 * up), xycoords="axes fraction", **style)


def _box(x: float, y: float, width: float, right: int, up: int) -> tuple[float, ...]:
    ends = sorted((x + 0.014 * right, x + (0.014 + width) * right))
    return (*ends, *sorted((y + 0.014 * up, y + 0.055 * up)))


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    across = one[0] < other[1] and other[0] < one[1]
    return across and one[2] < other[3] and other[2] < one[3]


def _lines(ax: Axes, width: float, height: float, uncertainty: float) -> None:
    """Draw lines of equal scores, DSC - MCB constant, with the score at their ends."""
    for gain in np.linspace(-width, height, LINES + 2)[1:-1].tolist():
        x = np.array([max(0.0, -gain), min(width, height - gain)])
        ax.plot(x, x + gain, color=base.PALE, linewidth=base.THIN, zorder=1)
        text = f"{uncertainty - gain:.3f}"
        at_right = width < height - gain
        ax.annotate(
            text,
            (x[1], x[1] + gain),
            (-2, 0) if at_right else (0, -2),
            textcoords="offset points",
            ha="right",
            va="bottom" if at_right else "top",
            fontsize=base.SMALL - 1,
            color=base.GREY,
            zorder=2,
        )
