"""A portfolio of statistics of the same labels, combined into one exact p-value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack, cast

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid
from caltest.forecasts.container import Forecasts, PitCounts
from caltest.kernels import MatrixKernel
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import Evaluated
from caltest.measures.base import REGISTRY, Measure
from caltest.measures.bound import BoundCells, BoundChunks, BoundGroups, BoundMeasure, in_words
from caltest.measures.combined import component, forecasts
from caltest.measures.combined.chunks import CombinedChunks
from caltest.measures.combined.component import BINARY, Component, combine
from caltest.measures.combined.context import KEPT, LANDMARKS, ORDERED, Context, OrderedEvents
from caltest.measures.combined.one_event import EventCells, ObservedRows, OneEvent
from caltest.measures.combined.tails import SCALE, Combining, parameters_of
from caltest.measures.outcome import Part
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.bins import event_counts, order_of_probs
from caltest.numerics.joint import ROUNDING as TIED
from caltest.numerics.joint import tail_scores
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions, Rows
from caltest.predictions.tables import design_columns
from caltest.sources import Cells, ManyCells, cells_in_memory
from caltest.sources.chunks import Survey
from caltest.sources.weights import LARGEST
from caltest.types import Floats, Hashes, Ints, Labels

if TYPE_CHECKING:
    from caltest.measures.base import Measure


FIRST, SECOND = 299, 4999  # redrawn labels of all groups, and of those with a small p-value
SMALL, SMALLER = 0.02, 0.001  # the largest p-values that are found anew
WORK = 2 * 10**9  # labels that are redrawn beyond, at most
AT_A_TIME = 1 << 19  # labels


class CombinedGroups(BoundGroups):
    r"""The portfolio of one event, bound to each of very many groups.

    The statistic of a group is that of the group by itself. Its p-value comes in stages: that of B
    redrawn labels, and if it is small, one of more and fresh ones in its place, twice. In a stage
    each component is ranked among its B + 1 values, the observed one among them, and so is the
    combination of these ranks, so that the p-value of a stage, :math:`p_s`, is exact. The one that
    stays is exact too: with :math:`c_s` the largest p-value of stage s that is found anew, it is at
    most t, for :math:`c_s \le t < c_{s-1}`, only where :math:`p_s \le t`.

    The p-values of the last stage are :math:`2 \min(p, p_{KS})`: that of KS is computed and not
    redrawn, so that one far out has digits that no number of redrawn labels gives. The B of this
    stage grows with the number of all groups, and falls with that of the others which come so far.
    """

    observed: Floats | None = None

    def __init__(self, measure: Measure, many: ManyCells) -> None:
        self.measure, self.many, self.parameters = measure, many, parameters_of(BINARY)
        self.blind = np.zeros(len(many), np.bool_)
        self.error = 0.0 if many.cells.is_point.all() else None
        self.caution = "statistics at the mean prediction of each cell"

    def values(self) -> Floats:
        """Return the statistics (G,) of the observed events."""
        if self.observed is None:
            self._stage(np.arange(len(self.many)), 1, (0,))
        return cast("Floats", self.observed)

    def pvalues(self, *, n_resamples: int, seed: int) -> Floats:
        """Return the p-values (G,), each exact by itself, and independent of each other.

        Parameters
        ----------
        n_resamples : int
            The most redrawn labels of a group.
        seed : int
            Of what is redrawn.
        """
        out = self._stage(np.arange(len(self.many)), FIRST, (seed, 0))
        few = np.flatnonzero(out <= SMALL)
        out[few] = self._stage(few, SECOND, (seed, 1))
        few = few[out[few] <= SMALLER]
        most = min(n_resamples, WORK // max(1, int(np.diff(self.many.start)[few].sum())))
        if most > SECOND:
            out[few] = self._stage(few, most, (seed, 2))
        ks = REGISTRY["ks"]().bind_groups(self.many)
        tails = ks.pvalues(n_resamples=n_resamples, seed=seed)[few]
        out[few] = np.minimum(1.0, 2.0 * np.minimum(out[few], tails))
        redrawn = "numbers of events of cells" if self.many.rows is None else "labels"
        self.null_text = (
            f"{redrawn} redrawn from the predictions, B = {FIRST}; p <= {SMALL} found anew with "
            f"B = {SECOND:,}, p <= {SMALLER} with B = {max(most, SECOND):,} and the exact law of "
            f"KS, seed = {seed}"
        )
        return out

    def _stage(self, groups: Ints, size: int, seed: tuple[int, ...]) -> Floats:
        """Return the p-values of some groups, each among labels that are redrawn for it."""
        pairs = map_threads(partial(self._tested, size, seed), zip(groups.tolist()))
        values, pvalues = np.array(list(pairs)).reshape(-1, 2).T
        if self.observed is None:
            self.observed = values
        return np.asarray(pvalues)

    def _tested(self, size: int, seed: tuple[int, ...], group: int) -> tuple[float, float]:
        """Return statistic and p-value of a group."""
        first, stop = self.many.start[group : group + 2].tolist()
        rows = self.many.rows_of(group)
        bound: Any = (
            self.measure.bind_cells(self.many.cells.between(first, stop))
            if rows is None
            else self.measure.bind(rows)
        )
        observed = bound.statistics(bound.observed[np.newaxis])
        keys, step = resample_keys((*seed, group), size), max(8, AT_A_TIME // (stop - first))
        redrawn = [bound.statistics(bound.redraw(keys[k : k + step])) for k in range(0, size, step)]
        pairs = zip(bound.portfolio, np.concatenate([observed, *redrawn], axis=1), strict=True)
        scores = [
            tail_scores(values, bound.scale, two_sided=component.two_sided, by_rank=True)
            for component, values in pairs
        ]
        joint = combine(bound.portfolio, np.stack(scores))
        return float(bound.combine(observed)[0]), float(np.mean(joint >= joint[0] - TIED))


__all__ = ["Combined", "combined"]

Name = str | Measure | tuple[str | Measure, str | Lens]

MANY_CELLS = 1 << 14  # of which fewer are cheaper
MANY, MANY_OF_SEVERAL = 100_000, 50_000  # rows from which cells, or chunks, are cheaper
HELD = 1 << 24  # sums of chunks that are held, of one kind
KEYS = {kind.key for kind in (*BINARY, *component.SEVERAL, *ORDERED, *forecasts.EVERY)}


@dataclass(frozen=True, kw_only=True)
class Combined(Measure):
    """The combination with its portfolio; see `combined`."""

    components: Sequence[Name] | None = None
    design: object = None

    key, title, symbol = "combined", "combination of several statistics", "C"

    def __post_init__(self) -> None:
        if self.design is not None:
            object.__setattr__(self, "design", design_columns(self.design))
        if self.components is None:
            return
        given = checks.check_strings(self.components, "components")
        names = tuple(checks.check_not_empty(given, "components"))
        for name in names:
            _check(name)
        object.__setattr__(self, "components", names)

    drawn_as: ClassVar[str] = "reliability"
    nulls: ClassVar[tuple[str, ...]] = ("exact",)

    intervals: ClassVar[tuple[str, ...]] = ()

    interval_instead: ClassVar[str] = "test='skce', or the test that is named after a component"

    @property
    def witness_kernel(self) -> MatrixKernel | None:
        """That of the SKCE with its default kernel, whatever the components are."""
        return REGISTRY["skce"]().witness_kernel

    of = Rows

    @property
    def is_usual(self) -> bool:
        """Whether the portfolio is the usual one, which needs no rows."""
        return self.components is None and self.design is None

    @property
    def needs_rows(self) -> str:
        option = "components" if self.design is None else "design"
        return "" if self.is_usual else f"it was given {option}="

    def context_of(self, rows: Rows) -> Any:
        """Return what the components of some rows share."""
        if isinstance(rows, Forecasts):
            return forecasts.ForecastContext(rows, self.design)
        if self.design is not None:
            reason = "design= of the default test is of forecasts of numbers"
            raise NotApplicable(reason, "use by= or segments= for probabilities of classes")
        return Context(rows)  # type: ignore[arg-type]

    def bind(self, predictions: Rows) -> BoundCombined:
        return BoundCombined(self.context_of(predictions), self.components)

    def bind_cells(self, cells: Cells, *, alone: bool = False) -> BoundCells:
        if not self.is_usual:
            return super().bind_cells(cells)
        if alone and len(cells) > MANY_CELLS:
            return CombinedCells(cells.coarser, EventCells(cells))
        return CombinedCells(cells)

    pit_groups: ClassVar[int] = 144

    def bind_pits(self, counts: PitCounts) -> BoundMeasure:
        if not self.is_usual:
            return super().bind_pits(counts)
        bound, each = BoundCombined(forecasts.CountedContext(counts)), counts.cells.widths.size
        of = f"{each} for each of {counts.weights.size} groups alike in mean and scale"
        bound.parameters = {**bound.parameters, "cells of the PIT": of}
        return bound

    def bind_counted(self, predictions: Any, *, alone: bool = True) -> BoundMeasure | None:
        if not predictions.m:
            return super().bind_counted(predictions, alone=alone)
        if predictions.m > 2 or predictions.n < MANY or not self.is_usual:
            return None
        p, weight = np.ascontiguousarray(predictions.probs[:, -1]), predictions.weights
        counts = weight >= 1.0 / LARGEST
        if np.count_nonzero((p > 0.0) & (p < 1.0) & counts) < MANY:
            return None
        order = order_of_probs(p)
        if not counts.all():
            order = order[counts[order]]
        p, happens, weight = p[order], (predictions.labels == 1)[order], weight[order]
        weight /= weight.mean()
        own, names = weight if np.ptp(weight) > 0 else None, list(map(str, predictions.classes))
        kept = order[:0].copy() if alone else order  # who redraws labels takes them in this order
        del order
        rows = ObservedRows(names[1], p, 1.0 - p, weight, happens, kept)
        cells = cells_in_memory(p, happens, (names[1], names[0]), own)
        return CombinedCells(cells, rows) if alone else CountedLabels(predictions, cells, rows)

    def takes_chunks_of(self, predictions: Predictions, n_resamples: int) -> bool:
        n, m = predictions.n, predictions.m
        is_simple = self.is_usual and predictions.sample_weight is None
        usual = is_simple and m > 2 and not predictions.ordinal
        return usual and n >= MANY_OF_SEVERAL and n_resamples * m * max(m, LANDMARKS) <= HELD

    def bind_chunks(
        self, survey: Survey, names: Sequence[str], rows: Predictions | None = None
    ) -> BoundChunks:
        if not self.is_usual:
            return super().bind_chunks(survey, names)
        return CombinedChunks(survey, names, None if rows is None else Context(rows))

    def bind_groups(self, many: ManyCells) -> BoundGroups:
        return CombinedGroups(self, many) if self.is_usual else super().bind_groups(many)

    def residual_statistics(self, predictions: Predictions) -> list[ResidualStatistic]:
        """Return the components as statistics of the residuals."""
        some = portfolio(self.context_of(predictions), self.components)
        return [one.residual_statistic() for one in some]

    def findings(self, predictions: Predictions) -> tuple[Part, ...]:
        """Return what the observed labels show of each component; its p-values are left open."""
        some = portfolio(self.context_of(predictions), self.components)
        return tuple(one.part(np.empty(0)) for one in some)


def _check(name: object) -> None:
    """Raise InvalidInput unless a component, a registered test or one under a lens is named."""
    test = name[0] if isinstance(name, tuple) and len(name) == 2 else name
    known = KEYS | {key for measure in REGISTRY.values() for key in measure.declared_tests()}
    if isinstance(test, Measure) or (isinstance(test, str) and test in known):
        return
    rule = "components must be keys of components or of tests, measures, or pairs (test, lens)"
    raise invalid(rule, repr(name), f"use some of {', '.join(sorted(known))}")


class BoundCombined(Combining):
    """The portfolio, bound to predictions, with the scale of each component."""

    scale = SCALE

    def __init__(self, context: Any, names: Sequence[Name] | None = None) -> None:
        super().__init__(context.predictions)
        self.context, self.order = context, context.order
        components = portfolio(self.context, names)
        self.prepare(components, context.reference(), context.n, context.references)
        if "features" in vars(self.context) and context.n > LANDMARKS:
            width = self.context.features.shape[1]
            features = f"{width} feature{'s' * (width > 1)} of the kernel"
            of = f"the SKCE is that of {features}, not of all pairs"
            self.notes = (of,)
        exact = self.context.observed_rows
        if exact is not None:
            off = self.distance([one.values(exact) for one in self.portfolio])
            self.notes = (f"sums over cells of the PIT; error by cells {in_words(off)}",)


class CombinedCells(Combining, BoundCells):
    """The portfolio of two classes, bound to cells, with the scale of each component.

    Parameters
    ----------
    cells : Cells
        Of one event.
    rows : OneEvent, optional
        Rows that were counted, where they are in memory, or cells of which these are unions: how
        far the statistic is from theirs is computed.
    """

    def __init__(self, cells: Cells, rows: OneEvent | None = None) -> None:
        BoundCells.__init__(self, cells)
        self.rows = rows
        self.own = "" if cells.has_equal_weights else ", pairs at its mean weight"
        self.caution = f"statistics at the mean prediction of each cell{self.own}"
        source = EventCells(cells).source
        self.prepare([kind.of(source) for kind in BINARY], cells.redrawn, cells.drawn)

    def error(self) -> float | None:
        is_exact = self.cells.has_equal_weights and self.cells.is_point.all()
        if self.rows is None or is_exact:
            return 0.0 if is_exact else None
        seen = [kind.of(self.rows.source).values(self.rows.observed) for kind in BINARY]
        return self.distance(seen)

    def error_in_words(self) -> str:
        """Say what cells change, and what the cells do that these are unions of."""
        said, rows = super().error_in_words(), self.rows
        if rows is None or not (rows.least < rows.most).any():
            return said
        return (
            f"{said} from that of {rows.p.size:,} cells, at the mean prediction of each{self.own}"
        )


class CountedLabels(CombinedCells):
    """The portfolio of rows of two classes in memory, whose redrawn labels are counted in cells.

    Parameters
    ----------
    predictions : Predictions
        The rows, whose labels other tests see too.
    cells, rows : Cells, OneEvent
        As they are counted.
    """

    def __init__(self, predictions: Predictions, cells: Cells, rows: OneEvent) -> None:
        super().__init__(cells, rows)
        self.predictions, self.order = predictions, rows.order
        self.weight = None if cells.weights is None else rows.weight
        self.redrawn_text = f"{predictions.redrawn_text}, counted in cells"
        self.start = np.append(0, np.cumsum(cells.counts))

    def redraw(self, keys: Hashes) -> Floats:
        step = max(8, AT_A_TIME // self.predictions.n)
        parts = (keys[i : i + step] for i in range(0, keys.size, step))
        drawn = (self._redrawing.labels(part) for part in parts)
        return np.concatenate([event_counts(labels, self.weight, self.start) for labels in drawn])


class OfMeasure(Component):
    """The value of a measure under a lens."""

    def __init__(self, rows: Context, test: str | Measure, lens: str | Lens) -> None:
        measure = test if isinstance(test, Measure) else measure_of(test)
        if "exact" not in measure.nulls:
            reason = f"{measure.description} has no exact null"
            raise NotApplicable(reason, "name another component")
        seen = resolve_lens(lens)
        if not rows.predictions.m and str(seen) != "strong":
            reason = f"a component of forecasts has no lens, and {seen} was named"
            raise NotApplicable(reason, "give the lens to the test")
        if seen.is_family:
            raise NotApplicable(f"the lens {seen} stands for several lenses", "name one of them")
        self.measure, predictions = measure, rows.predictions
        self.bound = measure.bind(seen(predictions))
        super().__init__(
            source=rows,
            sums=self,
            value=self.bound.comparable,
            finding=self._finding,
            two_sided=measure.alternative == "two-sided",
            key=test if isinstance(test, str) else measure.key,
            title=measure.title,
            lens=str(seen),
        )
        # What the lens makes of each label of each row.
        self.table = None
        if self.lens != "strong":
            codes = [np.full(predictions.n, k) for k in range(predictions.m)]
            tables = [seen(predictions.relabelled(code)).labels for code in codes]
            self.table = np.column_stack(tables).astype(np.uint16)

    def of(self, observed: Labels) -> Floats:
        """Return the value for labels (B, n), or uniform numbers, as the measure sees them."""
        observed = self.source.numbers(observed)
        if self.source.order is not None:
            observed = observed[:, np.argsort(self.source.order)]
        if self.table is not None:
            observed = self.table[np.arange(len(self.table)), observed]
        if self.bound.order is not None:
            observed = observed[:, self.bound.order]
        own = np.ascontiguousarray(observed).astype(self.bound.observed.dtype)
        return self.bound.values(self.bound.drawn(own))

    def residual_statistic(self) -> ResidualStatistic:
        """Return the statistic of the measure, whose rows are in the order of the predictions."""
        (found,) = self.measure.residual_statistics(self.bound.predictions)
        found.key, found.title = self.key, self.title
        return found

    def _finding(self) -> component.Finding:
        estimate = self.bound.estimate(float(component.observed_sums(self.source, self)))
        return component.plain(self.measure.estimate_symbol, estimate)


def measure_of(key: str) -> Measure:
    """Return the measure of the test with a key."""
    kinds = ((kind, kind.declared_tests()) for kind in REGISTRY.values())
    return next(kind(**tests[key]) for kind, tests in kinds if key in tests)


def portfolio(rows: Any, names: Sequence[Name] | None) -> Iterator[Component]:
    """Yield the components: those of the rows of a context, or those that are named.

    Of several classes that are ordered, those of their order take the place of those of the
    confidence.
    """
    own = {kind.key: kind for kind in rows.kinds}
    ordered = {kind.key: kind for kind in (ORDERED if rows.predictions.m > 2 else ())}
    if names is None:
        names = [*KEPT, *ordered] if ordered and rows.predictions.ordinal else list(own)
    events = OrderedEvents(rows) if ordered.keys() & set(names) else None
    for name in names:
        if isinstance(name, str) and name in own:
            yield own[name].of(rows.source)
        elif isinstance(name, str) and name in ordered:
            yield ordered[name].of(lambda _: events)
        else:
            if isinstance(name, str) and name in KEYS:
                some = ", ".join(map(repr, (*own, *ordered)))
                reason = f"the component {name!r} has no meaning for these predictions"
                raise NotApplicable(reason, f"name one of {some}, or a test")
            test, lens = name if isinstance(name, tuple) else (name, "strong")
            yield OfMeasure(rows, test, lens)


def combined(
    probs: object,
    labels: object = None,
    *,
    components: Sequence[Name] | None = None,
    design: object = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Combine several statistics of calibration into one.

    With :math:`p_k` the tail probability of component k under calibration, estimated from outcomes
    redrawn from the predictions, it is

    .. math:: C = \log \frac{\sum_k w_k / p_k}{\sum_k w_k},

    minus the log of their weighted harmonic mean: about as large as the most extreme
    component, less :math:`\log K`. The weights are 1, and 2 of the temperature; of several classes
    also 2 of frequencies, levels and slopes of the classes, of ranks, and of the narrow kernel of
    the confidence, and 0.5 of what these find too. Where the classes are ordered
    (`ordinal=True`), components of the mean class number and of all P(Y <= k) take the place of
    those of the confidence; of level, slope and curve of the order the weights are 2. Forecasts of
    numbers have components of bias (weight 3), of outcomes that scatter too widely (2) or not
    widely enough (4), of skewness and tails, of these along mean and scale of the forecasts, and of
    the distribution of F(y); where F has steps, functions of F(y) are replaced by their means over
    the step of y.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array. A lens
        that leaves two classes has the components of two classes.
    components : sequence, optional
        Another portfolio: keys of components ("temperature"), of tests ("ece"), measures, or pairs
        of a test and a lens, ("ks", "confidence").
    design : (n, k) or (n,) array, data frame or dict of columns, optional
        Features of the rows of forecasts of numbers: two components more look whether level and
        spread are off along these, by scores of normal numbers along the ranks of each. For
        `test_calibration` and `verdict` also names of columns of the data.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0. Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a component that is named has no meaning for the predictions.

    References
    ----------
    Biggs, Schrab, Gretton (2023), MMD-FUSE: Learning and combining kernels for two-sample testing
    without data splitting, NeurIPS 36 (log-mean-exp of standardised statistics); Wilson (2019),
    The harmonic mean p-value for combining dependent tests, PNAS 116; Pesarin, Salmaso (2010),
    Permutation tests for complex data, chapter 4 (combination of dependent tests); Czado, Gneiting,
    Held (2009), Predictive model assessment for count data, Biometrics 65 (means over steps).

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", n=100, m=3, rng=1)
    >>> ct.measures.combined(predictions) > 3
    True
    """
    return Combined(components=components, design=design).evaluate(probs, labels, **rows)
