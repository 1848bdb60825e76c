"""Size and power: as they were planned, and of p-values that were simulated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.checks import as_array, as_numbers, check_strings, listing, read_only
from caltest.errors import invalid, shown
from caltest.planning import Power, SampleSize
from caltest.plots import base
from caltest.predictions import tables
from caltest.types import AnyArray, Axes, Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

SIZE = (5.2, 3.6)
WIDE = 8  # times as many rows, from which on the axis is logarithmic


def power_curve(result: Power | SampleSize, *, ax: Axes | None = None) -> Axes:
    """Draw the power of tests against the number of rows.

    Bars are the 95 % intervals of the simulation, and a line shows the level of the tests. Of
    `sample_size` it shows the sizes that were tried, the power that was asked for, and the number
    of rows with its interval.

    Parameters
    ----------
    result : Power or SampleSize
        What `power` or `sample_size` returns.
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

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy.stats import beta
    >>> curve = ct.power(beta(2, 5), n=[50, 100, 200], slope=0.5, n_datasets=50, rng=1)
    >>> ax = ct.plots.power_curve(curve)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rows (n)', 'power')
    """
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    power = result.search if isinstance(result, SampleSize) else result
    checks.check_instance(power, Power, "result", "pass what ct.power or ct.sample_size gave")
    ax = base.axes(ax, SIZE)
    tests = dict.fromkeys(row.test for row in power.rows)
    for place, test in enumerate(tests):
        rows = sorted((row for row in power.rows if row.test == test), key=lambda row: row.n)
        # What a search looked at is no curve: few data sets here, many there.
        style = "none" if power is not result else base.STYLES[place % len(base.STYLES)]
        powers = np.array([row.power for row in rows])
        low, high = np.transpose([row.interval() for row in rows])
        look: dict[str, Any] = {"color": base.CYCLE[place % len(base.CYCLE)], "linestyle": style}
        look |= {"marker": base.MARKERS[place % len(base.MARKERS)], "markersize": 4}
        look |= {"linewidth": base.LINE, "elinewidth": base.THIN}
        look["label"] = base.name_text(test) if len(tests) > 1 else None
        ax.errorbar([row.n for row in rows], powers, yerr=[powers - low, high - powers], **look)
    level = power.setting.level
    ax.axhline(level, color=base.GREY, linewidth=base.THIN, linestyle=":", label=f"level {level:g}")
    if isinstance(result, SampleSize):  # the power that was asked for, and the rows that have it
        label = f"power {result.target:g}: n = {result.n:,}"
        dashed: dict[str, Any] = {"color": base.VERMILION, "lw": base.THIN, "linestyle": "--"}
        ax.axhline(result.target, **dashed)
        ax.axvline(result.n, **dashed, label=label)
        if result.low is not None and result.high is not None:
            label = f"95 % interval, {result.low:,} to {result.high:,}"
            shade: dict[str, Any] = {"color": base.VERMILION, "alpha": base.BAND, "linewidth": 0}
            ax.axvspan(result.low, result.high, label=label, **shade)
    ax.set_ylim(-0.02, 1.02)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    if power.n.max() > WIDE * power.n.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    base.legend(ax, loc="best")
    return base.label_axes(ax, "rows (n)", power.setting.kind)


# ---- How often tests reject calibrated and other models, at every level -------------------------

Curves = dict[str, dict[str, Floats]]
POINTS = 401
PANEL = 2.7  # inches
COLUMNS = 3


def size_and_power(
    pvalues: object,
    *,
    calibrated: Iterable[str] | None = None,
    errors: bool = False,
    levels: tuple[float, float] = (0.0, 1.0),
    band: float = 0.95,
    fig: Figure | SubFigure | None = None,
) -> AnyArray:
    """Draw how often each test rejects, against its level, a panel for each model.

    For a calibrated model the curve of an exact test is the diagonal, up to the binomial band of
    the number of simulated data sets; above it the test rejects too often. For other models it is
    the power of the test.

    Parameters
    ----------
    pvalues : mapping or data frame
        The p-values over simulated data sets: {test: p-values}, or {model: {test: p-values}}, or a
        data frame with the columns "pvalue", "test" and, if there are several, "model".
    calibrated : list of str, optional
        The models that are calibrated. The panels say so, and only they have a band.
    errors : bool, default False
        Whether to draw test errors: of the first kind for calibrated models, of the second kind,
        1 less the power, for the others. It needs `calibrated`.
    levels : tuple of float, default (0, 1)
        The range of levels.
    band : float, default 0.95
        Probability that the rate of an exact test lies in the band, at each level.
    fig : matplotlib.figure.Figure or SubFigure, optional
        Where to draw; by default a new figure.

    Returns
    -------
    array of matplotlib.axes.Axes
        One for each model.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification, NeurIPS,
    figure 2.

    Examples
    --------
    >>> import caltest as ct
    >>> exact, rough = [0.1, 0.3, 0.5, 0.7, 0.9], [0.01, 0.02, 0.05, 0.3, 0.4]
    >>> panels = ct.plots.size_and_power({"exact": exact, "rough": rough})
    >>> [text.get_text() for text in panels[0].figure.legends[0].get_texts()]
    ['exact', 'rough', '95 % band of 5 data sets']
    """
    curves = _curves(pvalues)
    true = None if calibrated is None else [*map(str, check_strings(calibrated, "calibrated"))]
    if unknown := [name for name in true or () if name not in curves]:
        rule = f"calibrated must be among {listing(curves)}"
        raise invalid(rule, shown(unknown[0]), "pass its name")
    if checks.check_flag(errors, "errors") and true is None:
        rule = "errors needs calibrated=, since a rejection is an error for calibrated models only"
        raise invalid(rule, "no calibrated", "name the calibrated models, or pass [] for none")
    ends = as_array(levels, "levels")
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not 0 <= ends[0] < ends[1] <= 1:
        rule = "levels must be two numbers with 0 <= low < high <= 1"
        raise invalid(rule, shown(levels), "pass (0, 0.2)")
    low, high = map(float, ends)
    band = checks.check_level(band, "band")
    shape = -(-len(curves) // COLUMNS), min(len(curves), COLUMNS)
    inches = max(4.6, PANEL * shape[1] + 0.4), PANEL * shape[0] + 1.1
    fig = base.figure_of(fig, inches, "pass a matplotlib figure")
    axes = fig.subplots(*shape, squeeze=False, sharex=True, sharey=True).ravel()
    for spare in axes[len(curves) :]:
        spare.remove()
    panels = axes[: len(curves)]
    grid = np.linspace(low, high, POINTS)
    tests = list(dict.fromkeys(test for columns in curves.values() for test in columns))
    words = ("type II error", "type I error") if errors else ("power", "size")
    for ax, (model, columns) in zip(panels, curves.items(), strict=True):
        size = None if true is None else model in true
        base.axes(ax)
        for test, values in columns.items():
            i = tests.index(test)
            rate = np.searchsorted(np.sort(values), grid, side="right") / values.size
            drawn = 1.0 - rate if errors and size is False else rate
            line = base.STYLES[(i + i // len(base.CYCLE)) % len(base.STYLES)]
            look: dict[str, Any] = {"color": base.CYCLE[i % len(base.CYCLE)], "linestyle": line}
            ax.plot(grid, drawn, linewidth=base.LINE, label=base.name_text(test), **look)
        ax.set_xlim(low, high)
        if size is not False:
            _band(ax, columns, grid, band)
        name = base.name_text(model) if model else ""
        kind = "" if size is None else words[size]
        base.label_axes(ax, "", "", ": ".join(filter(None, [name, kind])))
    # Rates from 0 to 1, or as far as they go below the largest level.
    top = max(float(line.get_ydata().max()) for ax in panels for line in ax.lines)
    top = 1.0 if errors or high == 1 else min(1.0, max(top, high))
    panels[0].set_ylim(-0.02 * top, 1.02 * top)
    for ax in panels[:: shape[1]]:
        ax.set_ylabel("error rate" if errors else "rejection rate", fontsize=base.TEXT)
    for ax in panels[-shape[1] :]:
        ax.set_xlabel("level", fontsize=base.TEXT)
        ax.tick_params(labelbottom=True)
    handles = base.named_handles(panels)
    order = sorted(handles, key=lambda label: " band of " in label)  # bands last
    style: dict[str, Any] = {"frameon": False, "fontsize": base.SMALL, "handlelength": 2.6}
    style["ncols"] = min(len(order), max(2, int(fig.bbox.width / fig.dpi / 1.9)))
    fig.legend([handles[label] for label in order], order, loc="outside lower center", **style)
    return panels


def _curves(pvalues: Any) -> Curves:
    """Read p-values by model and test."""
    if tables.is_table(pvalues):
        pvalues = _of_table(tables.table_of_frame(pvalues))
    checks.check_instance(pvalues, Mapping, "pvalues", "pass {test: p-values}")
    models = pvalues if check_not_mixed(pvalues) else {"": pvalues}
    for columns in models.values():
        check_not_mixed(columns)
    found: Curves = {}
    for model, columns in models.items():
        named = ((str(test), values) for test, values in columns.items())
        found[str(model)] = {k: check_simulated_pvalues(p, f"pvalues of {k!r}") for k, p in named}
    return found


def _of_table(table: tables.ColumnTable) -> dict[str, Any]:
    if not {"pvalue", "test"} <= set(table.names):
        rule = "pvalues as a data frame must have the columns 'pvalue' and 'test'"
        raise invalid(rule, listing(table.names), "rename its columns")
    names = [name for name in ("pvalue", "test", "model") if name in table.names]
    found: dict[str, dict[str, list[Any]]] = {}
    for value, test, *model in zip(*(table.column(name).tolist() for name in names), strict=True):
        found.setdefault(str(*model), {}).setdefault(str(test), []).append(value)
    return found if len(names) == 3 else found.get("", {})


def _band(ax: Axes, columns: dict[str, Floats], grid: Floats, band: float) -> None:
    """Draw where the rate of an exact test lies, for the fewest data sets of the panel."""
    from scipy.stats import binom

    size = min(values.size for values in columns.values())
    low, high = (binom.ppf(q, size, grid) / size for q in ((1 - band) / 2, (1 + band) / 2))
    label = f"{100 * band:g} % band of {size:,} data sets"
    ax.fill_between(grid, low, high, color=base.PALE, linewidth=0, label=label, zorder=0)
    ax.plot(grid, grid, color=base.GREY, linewidth=base.THIN, zorder=1)


def check_simulated_pvalues(values: object, name: str) -> Floats:
    """Check the p-values of a test over simulated data sets: in [0, 1], at least one."""
    array = as_numbers(values, name).astype(np.float64)
    if array.ndim != 1 or array.size == 0:
        rule = f"{name} must be a column of p-values, one for each data set"
        raise invalid(rule, f"shape {array.shape}", "pass one dimension, at least one value")
    good, remedy = (array >= 0) & (array <= 1), "leave out data sets without a p-value"
    checks.check_all(good, array, f"{name} must lie in [0, 1]", remedy)
    return read_only(array)


def check_not_mixed(values: Mapping[object, object]) -> bool:
    """Tell a mapping of mappings from one of columns; a mixture or nothing is refused."""
    nested = [isinstance(value, Mapping) for value in values.values()]
    if not nested or any(nested) != all(nested):
        rule = "pvalues must map each test, or each model and each test, to its p-values"
        got = "a mixture of both" if nested else "nothing"
        raise invalid(rule, got, "pass {test: p-values} or {model: {test: p-values}}")
    return all(nested)
