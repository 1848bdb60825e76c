"""Calibration maps: curves, the latent function, the simplex, parameters, and what they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import logit

from caltest import checks, render
from caltest.errors import NotApplicable, invalid
from caltest.plots import base, scales
from caltest.predictions import ModelData, Predictions
from caltest.types import AnyArray, Axes, Floats

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator, GPCalibrator

POINTS = 1001  # of a map of two classes
COARSE = 101  # of each class of several
COLOURED = len(base.CYCLE)
LINES = 60  # at most
SAME = 1e-3  # curves that are nearer than this are one


def calibration_map(
    calibrator: Calibrator, *, scale: str = "probability", ax: Axes | None = None
) -> Axes:
    """Draw what a predicted probability becomes.

    For two classes, the probability of the second; for `VennAbers` with its interval. For more, a
    curve for each class: `OneVsRest` and class-wise splines have a map for each, before rows are
    normalised; splines of ranks have one for their score; of other maps it shows the predictions
    that give one class the probability p and all others the same. Of more than 7 classes those
    that change most are coloured, and at most 60 are drawn.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    scale : {"probability", "log-odds"}, default "probability"
        Of both axes; log odds end at 0.0001 and 0.9999.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with the diagonal.

    Raises
    ------
    InvalidInput
        If this is not a calibrator.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 500, 2, rng=1)
    >>> ax = ct.plots.calibration_map(ct.calibrators.IsotonicCalibrator().fit(data))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability of 1', 'calibrated probability of 1')
    """
    from caltest.calibrators import SplineCalibrator, VennAbers

    scales.check_scale(scale)
    calibrator = fitted(calibrator)
    ax = base.axes(ax)
    on = scales.scale_for(np.array([scales.FINEST, 1 - scales.FINEST]), scale, zoom=False)
    scales.diagonal(ax, on)
    on.apply(ax)
    p = on.edges(POINTS - 1)
    if isinstance(calibrator, VennAbers):
        given = logit(p) if calibrator.from_logits else p
        low, high = (on.place(end) for end in calibrator.interval(given).T)
        base.band(ax, p, low, high, label="$p_0$ to $p_1$")
    m, names = calibrator.n_features_in_, [""]
    if m == 2:
        ys = [mapped(calibrator, np.column_stack([1 - p, p]))[:, 1]]
        of = f"probability of {base.name_text(calibrator.classes_.tolist()[1])}"
        words = f"predicted {of}", f"calibrated {of}"
    elif isinstance(calibrator, SplineCalibrator):  # of each score, constant beyond those fitted
        pairs = zip(calibrator.scores_, calibrator.recalibrated_, strict=True)
        ys = [np.interp(p, *pair) for pair in pairs]
        names = base.names_text(calibrator.classes_.tolist()) if len(ys) > 1 else names
        score = "probability" if len(ys) > 1 else f"score, {calibrator.mode}"
        words = f"predicted {score}", "recalibrated score"
    else:
        p = on.edges(COARSE - 1)
        ys, names, words = _several_classes(calibrator, p)
    _draw_curves(ax, p, [on.place(y) for y in ys], names)
    base.legend(ax, loc="best")
    title = calibrator.title + (f" ({len(ys)} of {m} classes)" if len(ys) < m > LINES else "")
    return base.label_axes(ax, *words, title)


def _several_classes(
    calibrator: Calibrator, p: Floats
) -> tuple[list[Floats], list[str], tuple[str, str]]:
    """Return the map of each class where all others are equally probable, and names of the axes."""
    m = calibrator.n_features_in_
    alone = hasattr(calibrator, "maps")
    shown = np.unique(np.linspace(0, m - 1, min(m, LINES)).astype(int))
    ys = []
    for k in shown.tolist():
        rows = np.repeat((1 - p)[:, None] / (m - 1), m, axis=1)
        rows[:, k] = p
        ys.append(mapped(calibrator, rows, alone=alone)[:, k])
    predicted = "predicted probability" + ("" if alone else ", others equal")
    calibrated = "calibrated probability" + (", before normalisation" if alone else "")
    return ys, base.names_text(calibrator.classes_[shown].tolist()), (predicted, calibrated)


def _draw_curves(ax: Axes, x: Floats, ys: list[Floats], names: list[str]) -> None:
    if np.ptp(ys, axis=0).max() < SAME:
        name = "every class" if len(ys) > 1 else None
        ax.plot(x, ys[0], color=base.BLUE, linewidth=base.LINE, label=name)
        return
    ranking = np.argsort([-np.abs(y - x).mean() for y in ys], kind="stable")
    for style, k in enumerate(sorted(ranking[:COLOURED])):
        color, line = base.CYCLE[style], base.STYLES[style]
        ax.plot(x, ys[k], color=color, linestyle=line, linewidth=base.LINE, label=names[k])
    grey: dict[str, Any] = {"color": base.GREY, "linewidth": base.THIN, "alpha": 0.5, "zorder": 1.9}
    for place, k in enumerate(ranking[COLOURED:]):
        ax.plot(x, ys[k], label=None if place else f"{ranking.size - COLOURED} others", **grey)


LOWEST = 500  # of what the largest probability is divided by where the plot starts
SIZE = (5.2, 3.6)


def latent_function(
    calibrator: GPCalibrator, *, confidence: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw the latent function of a `GPCalibrator` with its band, beside that of the identity map.

    Parameters
    ----------
    calibrator : GPCalibrator
        Fitted.
    confidence : float, default 0.95
        Probability of the pointwise band; see `GPCalibrator.latent`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With the inducing inputs as ticks at its foot. Logarithms have no lower end, so that of
        probabilities the plot starts at 1/500 of the largest.

    Raises
    ------
    NotApplicable
        If the calibrator is another.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    figure 2.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 200, 3, rng=0)
    >>> ax = ct.plots.latent_function(ct.calibrators.GPCalibrator().fit(data))
    >>> ax.get_ylabel()
    'latent function $f(z)$'
    """
    from caltest.calibrators import GPCalibrator

    if not isinstance(fitted(calibrator), GPCalibrator):
        raise NotApplicable(f"{calibrator.title} has no latent function", "use GPCalibrator")
    z = places_of_plot(calibrator.score_range_, logarithmic=not calibrator.logarithmic_)
    mean, lower, upper = calibrator.latent(z, confidence=confidence)
    ax = base.axes(ax, SIZE)
    base.band(ax, z, lower, upper, label=f"{100 * confidence:g} % band")
    ax.plot(z, mean, color=base.BLUE, linewidth=base.LINE, label="latent mean")
    identity = z if calibrator.logarithmic_ else np.log(z)
    ax.plot(z, identity, color=base.BLACK, ls="--", linewidth=base.THIN, label="identity")
    rug = list(dict.fromkeys(calibrator.inducing_inputs_.tolist()))
    style: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "label": "inducing inputs"}
    ax.plot(rug, [0.0] * len(rug), "|", color=base.BLACK, markersize=9, clip_on=False, **style)
    base.legend(ax)
    name = "logit" if calibrator.logarithmic_ else "probability"
    return base.label_axes(ax, f"{name} $z$", "latent function $f(z)$", calibrator.title)


def places_of_plot(score_range: Floats, *, logarithmic: bool) -> Floats:
    """Return scores to plot at; logarithms have no lower end, so that one is set.

    Where all scores are equal, they are all probabilities, or the logits around.
    """
    low, high = score_range.tolist()
    if low == high:
        low, high = (0.0, 1.0) if logarithmic else (low - 1, high + 1)
    return np.linspace(max(low, high / LOWEST) if logarithmic else low, high, 501)


def fitted(calibrator: object) -> Calibrator:
    """Check a calibrator and that it is fitted."""
    from sklearn.utils.validation import check_is_fitted

    from caltest.calibrators import Calibrator

    map_: Calibrator = checks.check_calibrator(calibrator, Calibrator)
    check_is_fitted(map_)
    return map_


def mapped(calibrator: Calibrator, probs: Floats, *, alone: bool = False) -> Floats:
    """Return calibrated probabilities of (n, m) probabilities, `alone` before the normalisation.

    A map of logits gets their logarithms.
    """
    from caltest.calibrators.inputs import Inputs

    with np.errstate(divide="ignore"):
        given = np.log(probs) if calibrator.from_logits else probs
    if alone:
        return np.asarray(calibrator.maps(given))
    return calibrator.calibrate(Inputs(given, from_logits=calibrator.from_logits))


# ---- A calibration map of three classes as arrows on the simplex, Kull et al. 2019, figure 2a ---

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
MOST_DOTS = 2000  # of predictions
EPSILON = 1e-6  # of the interpretation points
SIMPLEX = (4.8, 4.6)


def simplex_map(
    calibrator: Calibrator, predictions: object = None, *, points: int = 12, ax: Axes | None = None
) -> Axes:
    """Draw a calibration map of three classes: arrows from predictions to calibrated ones.

    The arrows start at an even grid, and have the colour of the class that is most probable where
    they end. For maps that are linear in log probabilities, the interpretation points are drawn in
    black: the middles of the sides and the centre, with open circles at their images.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted, for three classes. A map of logits is shown for the logarithms of probabilities.
    predictions : Predictions or (n, 3) array, optional
        Probabilities to show as dots under the arrows; of more than 2000 rows, such as are evenly
        far apart.
    points : int, default 12
        Arrows along a side.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    NotApplicable
        If the map is not of three classes.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2a.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 500, 3, rng=1)
    >>> calibrator = ct.calibrators.DirichletCalibrator().fit(data)
    >>> ax = ct.plots.simplex_map(calibrator, data)
    """
    calibrator = fitted(calibrator)
    if calibrator.n_features_in_ != 3:
        rule = f"a map on the simplex needs 3 classes, and the map has {calibrator.n_features_in_}"
        raise NotApplicable(rule, "use parameter_heatmap or calibration_map")
    checks.check_count(points, "points", 2)
    ax = base.axes(ax, SIMPLEX)
    _draw_frame(ax, calibrator.classes_.tolist())
    if predictions is not None:
        values = checks.as_array(getattr(predictions, "probs", predictions), "predictions")
        if values.ndim != 2 or values.shape[1] != 3:
            rule = "predictions must have 3 columns, as the map has classes"
            raise invalid(rule, f"shape {values.shape}", "pass what the map was fitted to")
        probs = checks.check_probs(values)
        even = np.linspace(0, len(probs) - 1, min(len(probs), MOST_DOTS)).astype(np.intp)
        dots: dict[str, Any] = {"color": base.GREY, "markersize": 2.5, "alpha": 0.4, "zorder": 1}
        ax.plot(*(probs[np.unique(even)] @ CORNERS).T, ".", linestyle="none", **dots)
    start = _grid(points)
    end = mapped(calibrator, start)
    colors = np.array(base.CYCLE[:3])[end.argmax(axis=1)]
    x, y = (start @ CORNERS).T
    ax.scatter(x, y, s=3.0, color=colors, zorder=2)
    _draw_arrows(ax, start, end, color=colors, width=0.004, alpha=0.85)
    if hasattr(calibrator, "interpretation_points") and hasattr(calibrator, "canonical_"):
        start, end = calibrator.interpretation_points(EPSILON)
        _draw_arrows(ax, start, end, color=base.BLACK, width=0.007, zorder=4)
        for ends, face in ((start, base.BLACK), (end, "white")):
            mark: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": base.BLACK}
            ax.plot(*(ends @ CORNERS).T, "o", markersize=6, zorder=5, clip_on=False, **mark)
    ax.set_title(calibrator.title, fontsize=base.TEXT, loc="left")
    return ax


def _grid(points: int) -> Floats:
    """Return an even grid inside of the simplex, `points` along a side."""
    first, second = np.nonzero(np.add.outer(np.arange(points), np.arange(points)) < points)
    return (np.column_stack([points - 1 - first - second, first, second]) + 1 / 3) / points


def _draw_frame(ax: Axes, classes: list[object]) -> None:
    ax.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color=base.GREY, linewidth=base.THIN, zorder=1)
    # Each middle line ends where two classes are equally probable.
    for k in range(3):
        ends = np.array([CORNERS.sum(axis=0) - CORNERS[k], 2 * CORNERS.mean(axis=0)]) / 2
        ax.plot(*ends.T, color=base.PALE, linewidth=base.THIN, zorder=0)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.1, CORNERS[2, 1] + 0.08))
    places = [(0.0, -0.03, "top"), (1.0, -0.03, "top"), (0.5, CORNERS[2, 1] + 0.03, "bottom")]
    for k, (name, (x, y, side)) in enumerate(zip(base.names_text(classes), places, strict=True)):
        text: dict[str, Any] = {"ha": "center", "va": side, "fontsize": base.TEXT}
        ax.text(x, y, name, color=base.CYCLE[k], fontweight="bold", **text)


def _draw_arrows(ax: Axes, start: Floats, end: Floats, **style: Any) -> None:
    places, moves = start @ CORNERS, (end - start) @ CORNERS
    in_place: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "minlength": 0.1}
    ax.quiver(*places.T, *moves.T, **in_place, **{"zorder": 2, **style})


# ---- A matrix as colours around zero, with names of classes and numbers where there is room ------

NUMBERED = 12  # rows or columns whose cells get their number
NAMED = 40  # rows or columns that are named each; of more, such as are evenly far apart
LONGEST_NAME = 14
ROOM = 40  # letters in a line of names
QUANTILE = 0.98  # of the cells that are not 0: where the colours of a large matrix end
FROM_WHITE = 0.45  # of the largest: from there on numbers are white


def heat_map(
    ax: Axes,
    values: Floats,
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    text: Callable[[float], str],
    name: str,
    clipped: bool = False,
) -> Axes:
    """Draw a matrix; `name` is that of the colour bar, and `text` words a cell.

    Of a large `clipped` matrix the colours end at a quantile of the cells.
    """
    from matplotlib.colors import LinearSegmentedColormap

    numbered = max(values.shape) <= NUMBERED
    # Orange for negative numbers, white for 0, blue for positive ones.
    ends = (0.0, "#7A3000"), (0.25, base.VERMILION), (0.5, "white"), (0.75, base.BLUE)
    colours = LinearSegmentedColormap.from_list("around zero", [*ends, (1.0, "#003050")])
    # A few very large cells shall not hide all others.
    sizes = np.abs(values[values != 0])
    share = QUANTILE if clipped and not numbered else 1.0
    largest = float(np.quantile(sizes, share)) if sizes.size else 1.0
    style: dict[str, Any] = {"vmin": -largest, "vmax": largest, "interpolation": "nearest"}
    image = ax.imshow(values, colours, aspect="equal" if numbered else "auto", **style)
    for (i, j), value in np.ndenumerate(values) if numbered else ():
        color = base.ON_DARK if abs(value) > FROM_WHITE * largest else base.ON_PALE
        style = {"ha": "center", "va": "center", "fontsize": base.SMALL, "color": color}
        ax.text(j, i, text(float(value)), **style)
    # Of many names only some are written; the last column may be of its own.
    step = -(-len(rows) // NAMED)
    step = step if step == 1 else 5 * -(-step // 5)
    places = list(range(0, len(rows), step))
    ax.set_yticks(places, base.names_text([rows[i] for i in places], LONGEST_NAME))
    if len(columns) > len(rows):
        places = [*(i for i in places if i <= len(rows) - step / 2), len(columns) - 1]
    words = base.names_text([columns[i] for i in places], LONGEST_NAME)
    ax.set_xticks(places, words, rotation=90 if sum(map(len, words)) > ROOM else 0)
    ax.tick_params(labelsize=base.SMALL, length=0)
    ax.spines[:].set(visible=True, color=base.GREY, linewidth=base.THIN)
    beyond = "both" if np.abs(values).max() > largest else "neither"
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.03, extend=beyond)
    bar.set_label(name, fontsize=base.SMALL)
    bar.ax.tick_params(labelsize=base.SMALL)
    ax.set_anchor("W")  # farther right in its room the names at its left would reach out of it
    return ax


def parameter_heatmap(
    calibrator: Calibrator, *, form: str = "linear", ax: Axes | None = None
) -> Axes:
    """Show the weights and the intercepts of a map that is linear before its softmax.

    Row i has the weights of the class i that is predicted, one for the score of each class, and its
    intercept in the last column. Off the diagonal, a positive weight moves probability to class i
    where class j is probable.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted: Dirichlet calibration, matrix, vector or temperature scaling.
    form : {"linear", "canonical"}
        Whether (W, b) is shown, or the unique form (A, c) of `DirichletCalibrator`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Up to 12 classes have their numbers in the cells.

    Raises
    ------
    NotApplicable
        If the map has no such parameters.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2b.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 500, 4, rng=1)
    >>> ax = ct.plots.parameter_heatmap(ct.calibrators.DirichletCalibrator().fit(data))
    >>> ax.get_title(loc="left")
    'Dirichlet calibration'
    """
    calibrator = fitted(calibrator)
    form = checks.check_choice(form, ("linear", "canonical"), "form")
    pair = getattr(calibrator, f"{form}_", None)
    if pair is None:
        remedy = "use form='linear' with Dirichlet calibration or matrix, vector or temperature"
        rule = f"{calibrator.title} has no {form} parameters here"
        raise NotApplicable(rule, f"{remedy} scaling, or draw calibration_map")
    ax = base.axes(ax, (5.6, 4.6))
    names = calibrator.classes_.tolist()
    last = "intercept" if form == "linear" else "c"
    heat_map(ax, np.column_stack(pair), names, [*names, last], text=_number, name="parameter")
    ax.axvline(len(names) - 0.5, color=base.BLACK, linewidth=base.THIN)
    return base.label_axes(ax, "class of the score", "calibrated class", calibrator.title)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 99.995 else f"{value:.2g}"


def confusion_change(before: Predictions, after: object, *, ax: Axes | None = None) -> Axes:
    """Show the confusion matrix after recalibration less that before.

    Rows have the classes that were observed, columns those that were predicted, the first of
    several most probable ones. A map that keeps the order of the classes changes nothing. The
    accuracies are in the title.

    Parameters
    ----------
    before : Predictions
        Predictions before recalibration.
    after : Predictions or calibrator
        Predictions of the same rows, or a fitted map of the first ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Up to 12 classes have their numbers in the cells; these count rows, or are sums of
        sample weights.

    Raises
    ------
    InvalidInput
        If the labels of the two differ.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2c.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 500, 4, rng=1)
    >>> calibrator = ct.calibrators.DirichletCalibrator().fit(data)
    >>> ax = ct.plots.confusion_change(data, calibrator)
    >>> ax.get_xlabel()
    'predicted class'
    """
    checks.check_instance(before, Predictions, "before", "pass ct.Predictions(probs, labels)")
    if not isinstance(after, Predictions):
        after = ModelData(after, before).predictions()
    check_same_labels(before.classes, after.classes)
    check_same_labels(before.classes[before.labels], after.classes[after.labels])
    first, second = _confusion(before), _confusion(after)
    ax = base.axes(ax, (5.4, 4.6))
    names = before.classes.tolist()
    name = f"change in the {'number' if before.sample_weight is None else 'weight'} of rows"
    change: dict[str, Any] = {"text": lambda value: f"{value:+.3g}" if value else "", "name": name}
    heat_map(ax, second - first, names, names, clipped=True, **change)
    if (first == second).all():
        base.corner_text(ax, "no predicted class changes")
    shares = (render.number(float(np.trace(one) / one.sum())) for one in (first, second))
    title = "accuracy {} before, {} after".format(*shares)
    return base.label_axes(ax, "predicted class", "observed class", title)


def _confusion(predictions: Predictions) -> Floats:
    m = predictions.m
    cell = predictions.labels * m + predictions.probs.argmax(axis=1)
    return np.bincount(cell, predictions.sample_weight, m * m).astype(float).reshape(m, m)


def check_same_labels(before: AnyArray, after: AnyArray) -> None:
    """Check that two predictions are of the same rows, by the names of their labels."""
    rule = "after must hold predictions of the same rows, with the same labels"
    remedy = "predict the rows of the first again"
    if len(before) != len(after):
        raise invalid(rule, f"{len(before)} and {len(after)} rows", remedy)
    differs = np.array([a != b for a, b in zip(before.tolist(), after.tolist(), strict=True)])
    if differs.any():
        raise invalid(rule, f"another label at row {int(np.argmax(differs))}", remedy)
