"""Pictures of forecasts: what calibrated ones show stands as a band behind what was observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.forecasts import Forecasts
from caltest.numerics.joint import tail_scores
from caltest.numerics.labels import resample_keys
from caltest.plots import base
from caltest.results import HTest, htest
from caltest.types import Axes, Floats, Ints
from caltest.units import rounding_scale

SEED = (1952, 471)
DRAWS = 1999  # of numbers of rows, which take no longer for many rows
FEWEST, MOST = 99, 999  # of the rows themselves
NUMBERS = 4e7  # redrawn outcomes of a picture
LEVELS = np.arange(1, 100) / 100
LEAST_ROWS = 10  # of a bin of the spread


def pit_histogram(
    forecasts: Forecasts | HTest,
    *,
    bins: int = 10,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Show how the probability integral transform of the outcomes is spread.

    It is uniform if the forecasts are calibrated. Bars that are high at both ends speak of outcomes
    outside of what was predicted: the forecasts are too sure. A hump says that they are not sure
    enough, a slope that they are too high (to the left) or too low. Where the distributions have
    steps, and of ensembles between ranks, the transform is randomised as the tests "pit-..." have
    it, so that all bins are equally probable whatever their number.

    Parameters
    ----------
    forecasts : Forecasts or HTest
        The forecasts, or the result of a test of them, whose p-value is shown then.
    bins : int, default 10
        Number of bins, of equal width.
    confidence : float, default 0.95
        The probability that all bars of calibrated forecasts end in the band, in (0, 1); it holds
        at every number of rows, with weights too, of rows that are independent.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a result holds no forecasts any more.

    References
    ----------
    Gneiting, Balabdaoui, Raftery (2007), Probabilistic forecasts, calibration and sharpness, JRSS B
    69; Myllymaki et al. (2017), Global envelope tests for spatial processes, JRSS B 79.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> ct.plots.pit_histogram(forecasts, bins=4).get_ylabel()
    'share of outcomes'
    """
    rows, result = _given(forecasts)
    count = checks.check_count(bins, minimum=2)
    ends = np.arange(count + 1) / count
    shares = _shares(rows, ends[1:-1])
    low, high = joint_band(shares, checks.check_confidence(confidence), alike=True)
    outside = (shares[0] < low) | (shares[0] > high)
    ax = base.axes(ax)
    style: dict[str, Any] = {"width": 1.0 / count, "align": "edge", "edgecolor": "white"}
    ax.bar(ends[:-1][~outside], shares[0][~outside], color=base.SKY, **style)
    if outside.any():
        style |= {"color": base.VERMILION, "hatch": "///", "label": OUTSIDE}
        ax.bar(ends[:-1][outside], shares[0][outside], **style)
    _band(ax, [0.0, 1.0], [low[0]] * 2, [high[0]] * 2, confidence, color=base.GREY, zorder=2)
    ax.plot([0, 1], [1 / count] * 2, **_IF_CALIBRATED)
    ax.set(xlim=(0, 1), ylim=(0, 1.25 * max(shares[0].max(), high.max())))
    return _finished(ax, ("PIT histogram", _PIT, "share of outcomes"), rows, result)


def coverage_curve(
    forecasts: Forecasts | HTest, *, confidence: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Show how often central prediction intervals hold the outcome, against how often they should.

    A curve below the diagonal says that intervals hold fewer outcomes than they promise: the
    forecasts are too sure. Where the distributions have steps, the ends of the intervals are
    randomised.

    Parameters
    ----------
    forecasts : Forecasts or HTest
        As for `pit_histogram`.
    confidence : float, default 0.95
        The probability that the whole curve of calibrated forecasts lies in the band.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a result holds no forecasts any more.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> ct.plots.coverage_curve(forecasts).get_ylabel()
    'observed coverage'
    """
    rows, result = _given(forecasts)
    halves = LEVELS / 2
    below = _shares(rows, np.concatenate([0.5 - halves[::-1], 0.5 + halves])).cumsum(axis=1)
    inside = below[:, LEVELS.size : -1] - below[:, LEVELS.size - 1 :: -1]
    ax = _curve(LEVELS, inside, checks.check_confidence(confidence), ax)
    names = "nominal coverage of central intervals", "observed coverage"
    return _finished(ax, ("Coverage of central intervals", *names), rows, result)


def quantile_reliability(
    forecasts: Forecasts | HTest,
    *,
    levels: Sequence[float] | None = None,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Show the share of outcomes up to predicted quantiles against the levels of these.

    Above the diagonal more outcomes than promised are up to a quantile: it is too high. Where the
    distributions have steps, those of the transform are randomised.

    Parameters
    ----------
    forecasts : Forecasts or HTest
        As for `pit_histogram`.
    levels : sequence of float, optional
        Levels in (0, 1), each with a point; by default a curve over all per cents.
    confidence : float, default 0.95
        The probability that all shares of calibrated forecasts lie in the band.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a result holds no forecasts any more.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> ct.plots.quantile_reliability(forecasts, levels=[0.1, 0.5, 0.9]).get_xlabel()
    'level of the quantile'
    """
    rows, result = _given(forecasts)
    some = np.atleast_1d(LEVELS if levels is None else np.asarray(levels)).tolist()
    at = np.asarray([checks.check_share(one, "levels") for one in some])
    if not at.size or at.min() <= 0 or at.max() >= 1 or (np.diff(at) <= 0).any():
        rule = "levels must be between 0 and 1, and increase"
        raise invalid(rule, shown(levels), "pass [0.05, 0.5, 0.95], for instance")
    below = _shares(rows, at).cumsum(axis=1)[:, :-1]
    marks = {} if levels is None else {"marker": "o", "markersize": 4}
    ax = _curve(at, below, checks.check_confidence(confidence), ax, **marks)
    names = "level of the quantile", "share of outcomes at or below it"
    return _finished(ax, ("Quantile reliability", *names), rows, result)


def spread_against_error(
    forecasts: Forecasts | HTest,
    *,
    bins: int = 10,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Show the root mean squared error of the means against the predicted standard deviation.

    Rows are binned by their standard deviation, as many in each bin. Points above the band err more
    than they predict. Of ensembles the deviation is that of the members, which outcomes of the same
    law exceed: the dashed line is where calibrated forecasts are.

    Parameters
    ----------
    forecasts : Forecasts or HTest
        As for `pit_histogram`; of quantiles, outcomes beyond the outer ones count as equal to them.
    bins : int, default 10
        Most bins, of at least ten rows each.
    confidence : float, default 0.95
        The probability that all points of calibrated forecasts lie in their bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a result holds no forecasts any more, or the distributions have no finite variance.

    References
    ----------
    Leutbecher, Palmer (2008), Ensemble forecasting, J. Comput. Phys. 227, section 3.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> ct.plots.spread_against_error(forecasts).get_ylabel()
    'root mean squared error'
    """
    rows, result = _given(forecasts)
    count = checks.check_count(bins)
    if not (np.isfinite(rows.scale).all() and rows.scale.max() > 0):
        reason = "the spread is that of distributions with a finite variance above 0"
        raise NotApplicable(reason, "use caltest.plots.coverage_curve")
    rows = rows.without(rows.weights == 0)  # a bin could have no others
    count = min(count, max(1, rows.n // LEAST_ROWS), np.unique(rows.scale).size)
    rng = np.random.default_rng(SEED)
    draws = int(np.clip(NUMBERS / rows.n, FEWEST, MOST))
    bin_of = _bins_of(rows.scale, count)
    off = rows.law.held(rows.outcomes) - rows.mean
    spread, error = _spread_and_error(rows.weights, rows.scale, off, bin_of)
    ratios, redrawn = [error / spread], rows.law.errors_of(rows.outcomes)
    for _ in range(draws):
        off, scale = redrawn(rng.random(rows.n))
        # The members of ensembles change places with their outcomes.
        own = bin_of if scale is rows.scale else _bins_of(scale, count)
        predicted, seen = _spread_and_error(rows.weights, scale, off, own)
        ratios.append(seen / predicted)
    drawn = np.array(ratios)
    low, high = joint_band(drawn, checks.check_confidence(confidence)) * spread
    usual = np.sqrt(np.square(drawn[1:]).mean(axis=0)) * spread
    ax = base.axes(ax)
    if count > 1:
        _band(ax, spread, low, high, confidence)
        ax.plot(spread, usual, **_IF_CALIBRATED)
    else:
        bar: Any = {"color": base.BLUE, "alpha": base.BAND, "label": BAND.format(100 * confidence)}
        ax.set_xlim(0, 2 * spread[0])
        ax.vlines(spread, low, high, linewidth=8, **bar)
    _points(ax, spread, error, (error < low) | (error > high), linestyle="none", marker="o")
    names = "predicted standard deviation", "root mean squared error"
    ax.set_ylim(0, 1.15 * float(max(error.max(), high.max())))
    return _finished(ax, ("Spread against error", *names), rows, result)


# ---- what is observed, and what calibrated forecasts show ----------------------------------------


def _given(source: object) -> tuple[Forecasts, HTest | None]:
    """Return forecasts, and the result that they are of, if it is one."""
    result = source if isinstance(source, HTest) else None
    rows: Any = source
    if result is not None:
        rows = htest.required(result, "a picture of forecasts").predictions
    remedy = "pass ct.Forecasts(...), or the result of a test of them"
    return checks.check_instance(rows, Forecasts, "forecasts", remedy), result


def _shares(rows: Forecasts, ends: Floats) -> Floats:
    """Return the shares of rows between ends of the PIT, (1 + B, K + 1), the observed ones first.

    The numbers of redrawn rows are multinomial; with weights the rows themselves are redrawn.
    """
    weight = rows.sample_weight

    def counted(uniform: Floats) -> Floats:
        codes = np.searchsorted(ends, uniform, side="right")
        return np.array([np.bincount(row, weight, ends.size + 1) for row in codes], np.float64)

    observed = counted(rows.pit[None])
    if weight is None:
        probs = np.diff(ends, prepend=0.0, append=1.0)
        redrawn = np.random.default_rng(SEED).multinomial(rows.n, probs, DRAWS).astype(np.float64)
    else:
        keys = resample_keys(SEED, int(np.clip(NUMBERS / rows.n, FEWEST, MOST)))
        step = max(1, int(NUMBERS / 40) // rows.n)
        some = (keys[start : start + step] for start in range(0, keys.size, step))
        redrawn = np.concatenate([counted(rows.uniforms.labels(one)) for one in some])
    counts = np.concatenate([observed, redrawn])
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def joint_band(values: Floats, confidence: float, *, alike: bool = False) -> Floats:
    r"""Return the ends (2, K) of a band that holds all K values of calibrated rows at once.

    Each value has its tail probability among all 1 + B of its column, each row the smallest of its
    own; the band spans the values that are no farther out than the quantile of these. So what was
    observed leaves it with probability :math:`1 - \mathrm{confidence}` at most, whatever B.

    Parameters
    ----------
    values : (1 + B, K) array
        Observed values, then B redrawn ones.
    confidence : float
        In (0, 1).
    alike : bool, default False
        Whether all columns have one distribution under calibration, and so one band.
    """
    columns = [values.T.ravel()] if alike else list(values.T)
    scale = rounding_scale(len(values))
    scores = np.array([tail_scores(one, scale, two_sided=True) for one in columns])
    scores = scores.reshape(values.shape[1], -1)
    worst = np.sort(scores.max(axis=0))
    inside = scores <= worst[int(np.ceil(confidence * worst.size)) - 1]
    low = np.where(inside, values.T, np.inf).min(axis=1)
    ends = np.array([low, np.where(inside, values.T, -np.inf).max(axis=1)])
    if alike:
        ends[:] = [[ends[0].min()], [ends[1].max()]]
    return ends


def _bins_of(scale: Floats, count: int) -> Ints:
    """Return the bin of each row, (n,): as many in each, in ascending order of their spread."""
    bins = np.empty(scale.size, np.int64)
    ends = np.arange(1, count + 1) * scale.size // count
    bins[np.argsort(scale, kind="stable")] = np.repeat(np.arange(count), np.diff(ends, prepend=0))
    return bins


def _spread_and_error(weight: Floats, scale: Floats, off: Floats, bins: Ints) -> Floats:
    """Return root mean predicted variance and root mean squared error, (2, K), of bins."""
    squares = np.square([scale, off])
    size, *sums = (np.bincount(bins, part) for part in (weight, *(weight * squares)))
    return np.sqrt(np.maximum(np.array(sums) / size, np.finfo(float).tiny))


# ---- how they are drawn --------------------------------------------------------------------------

OUTSIDE = "outside the band"
BAND = "{:g} % band, simultaneous"
_PIT = "probability integral transform of the outcome"
_IF_CALIBRATED: dict[str, Any] = {"color": base.BLACK, "linestyle": (0, (4, 3)), "linewidth": 1}
_IF_CALIBRATED |= {"label": "if calibrated", "zorder": 3}


def _band(ax: Axes, x: Any, low: Any, high: Any, confidence: float, **style: Any) -> None:
    base.band(ax, x, low, high, label=BAND.format(100 * confidence), **style)


def _curve(x: Floats, values: Floats, confidence: float, ax: Axes | None, **style: Any) -> Axes:
    """Draw shares at levels with their band around the diagonal."""
    low, high = joint_band(values, confidence)
    ends = np.array([0.0, 1.0])
    ax = base.axes(ax)
    x0, y0, y1 = (np.concatenate([ends[:1], one, ends[1:]]) for one in (x, low, high))
    _band(ax, x0, y0, y1, confidence)
    ax.plot(ends, ends, **_IF_CALIBRATED)
    _points(ax, x, values[0], (values[0] < low) | (values[0] > high), **style)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    return ax


def _points(ax: Axes, x: Floats, y: Floats, outside: Any, **style: Any) -> None:
    """Draw what was observed, and in another colour what is outside of the band."""
    style = {"linewidth": base.LINE, "zorder": 4, "markersize": 5} | style
    ax.plot(x, y, color=base.BLUE, label="observed", **style)
    if outside.any():
        own = style | {"linewidth": 2 * base.LINE}
        ax.plot(x, np.where(outside, y, np.nan), color=base.VERMILION, label=OUTSIDE, **own)


def _finished(ax: Axes, names: tuple[str, str, str], rows: Forecasts, result: HTest | None) -> Axes:
    """Name axes and figure, and write the number of rows, and the p-value of a result."""
    ax.set_label(names[0])
    base.label_axes(ax, *names[1:])
    lines = [f"n = {rows.n:,}"]
    if result is not None:
        lines.append(f"{base.pvalue_text(result)} ({base.name_text(result.test)})")
    base.corner_text(ax, "\n".join(lines))
    base.legend_below(ax, columns=2)
    return ax
