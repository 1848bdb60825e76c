"""Rows with what was observed of them: weights, groups, clusters, and where they come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, TypedDict

import numpy as np

from caltest import checks
from caltest.checks import suspicions
from caltest.errors import NotApplicable, invalid, rows_named
from caltest.predictions import files, tables
from caltest.predictions.dependence import CLUSTER, cluster_codes
from caltest.predictions.options import FileOptions
from caltest.predictions.redrawing import Redrawing
from caltest.types import AnyArray, Codes, Flags, Floats

LEAST_SHARE = 1e-38  # of the largest weight
OF_ROWS = ("sample_weight", "groups", "clusters")
# Variance, third central moment and deviation from the mean of what each row adds to a sum, (n,).
Deviations = tuple[Floats, Floats, Floats]
ABOUT = ("unit", "source", "library", "grouped_by")
Redraws = Redrawing | Callable[[], Redrawing] | None  # a function makes it when it is needed


class RowColumns(TypedDict, total=False):
    """Values of rows beside their predictions and outcomes."""

    groups: object
    clusters: object
    sample_weight: object


class Rows(ABC):
    """Rows whose outcomes were predicted; frozen, all arrays read-only.

    Attributes
    ----------
    outcome_fields : tuple of str
        What a class has besides what is here, one value for each row.
    other_fields : tuple of str
        What it has besides, once.
    claim : str
        That the predictions are calibrated, in words.
    redrawn_text : str
        What is redrawn from what, in words.
    drawn_as : str
        The kind of plot that shows them; empty where that depends on the test.
    ruled_out : str
        That something was observed that has no chance, in words.
    sample_weight, groups, clusters, unit, source, library
        See `Predictions`.
    grouped_by : (names, mapping) or None
        Columns that the groups are made of, where they are known; see `tables.Keys`.
    """

    outcome_fields: ClassVar[tuple[str, ...]] = ()
    other_fields: ClassVar[tuple[str, ...]] = ()
    claim: ClassVar[str]
    redrawn_text: ClassVar[str]
    # Of outcomes that were not seen in all rows: their weights, which depend on each other.
    censoring: ClassVar[Any] = None
    happened_partly: ClassVar[Any] = None  # of an event that a random number decides, its share
    drawn_as: ClassVar[str] = ""
    ruled_out: ClassVar[str]
    sample_weight: Floats | None
    groups: AnyArray | None
    clusters: Codes | None
    unit: str
    source: str
    library: str
    grouped_by: tables.Keys | None = None

    @classmethod
    def _fields(cls) -> tuple[str, ...]:
        return (*cls.outcome_fields, *cls.other_fields, *OF_ROWS, *ABOUT)

    def _set(self, outcomes: Any, n: int, source: str, library: str, **rows: Any) -> None:
        """Set the fields from outcomes that are checked and values of rows that are not."""
        sample_weight, groups, clusters = (rows[name] for name in OF_ROWS)
        weights = None
        if sample_weight is not None:
            share = checks.check_weights(sample_weight, n)
            share = share / share.max()  # no sum of huge ones is infinite
            # Rows without weight take no part, nor do those whose squares vanish, as in cells.
            share = np.where(share < LEAST_SHARE, 0.0, share)
            weights = checks.read_only(share / share[share > 0].mean())
        self.__dict__.update(outcomes)
        values = None if groups is None else self._looked_at(checks.check_groups(groups, n))
        dependent = None if clusters is None else cluster_codes(clusters, n)
        named = tables.named_by_itself(groups)
        about = (weights, values, dependent, CLUSTER, source, library, named)
        self.__dict__.update(zip((*OF_ROWS, *ABOUT), about, strict=True))

    def _looked_at(self, groups: AnyArray) -> AnyArray:
        """Return groups, and warn where they look like a mistake."""
        return suspicions.looked_at(groups)

    def _with(self, redrawing: Redraws = None, **changes: object) -> Self:
        """Copy with some fields changed, without a check; the new arrays become read-only."""
        copy = self._restored(*[changes.get(name, getattr(self, name)) for name in self._fields()])
        copy.__dict__["_redrawing"] = redrawing
        return copy

    @classmethod
    def _restored(cls, *values: object) -> Self:
        copy = object.__new__(cls)
        locked = (checks.read_only(v) if isinstance(v, np.ndarray) else v for v in values)
        copy.__dict__.update(zip(cls._fields(), locked, strict=True))
        return copy

    @classmethod
    @abstractmethod
    def _of_table(
        cls, table: tables.ColumnTable, source: str, label: str | None, columns: Any
    ) -> Self:
        """Make them of the columns of a table."""

    @classmethod
    def _of_frame(cls, df: object, label: str | None, columns: Any) -> Self:
        suspicions.suspect_index(df=df, **{name: columns.get(name) for name in OF_ROWS})
        return cls._made(tables.table_of_frame(df), "data frame", label, columns)

    @classmethod
    def _of_file(cls, path: Any, label: str | None, how: FileOptions, columns: Any) -> Self:
        return cls._made(files.table_of_file(path, **how), files.name_of(path), label, columns)

    @classmethod
    def _made(cls, table: tables.ColumnTable, source: str, label: str | None, columns: Any) -> Self:
        with rows_named(table.place):
            found = cls._of_table(table, source, label, columns)
        return found.named_by(table, columns.get("groups"), library=table.library)

    def named_by(self, table: tables.ColumnTable, groups: object, **about: str) -> Self:
        """Keep which columns of a table the groups are made of."""
        self.__dict__.update(grouped_by=tables.grouped_by(table, groups, self.groups), **about)
        return self

    # ---- what they become -----------------------------------------------------------------------

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of rows."""

    @property
    def m(self) -> int:
        """Number of classes; 0 of other outcomes."""
        return 0

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the outcomes are, for print."""

    @property
    def described(self) -> Mapping[str, object]:
        """What results say of the rows besides."""
        return {}

    @property
    @abstractmethod
    def observed(self) -> AnyArray:
        """What was observed, (n,), as it is redrawn."""

    @property
    def width(self) -> int:
        """How many numbers are redrawn: one for each row."""
        return self.n

    def counted(self, groups: int) -> Any:
        """Return how many rows are in each cell of what is redrawn, by groups of like predictions.

        None where few rows, or those of classes, are redrawn themselves.
        """
        return None

    @property
    def is_weighted(self) -> bool:
        """Whether there are sample weights."""
        return self.sample_weight is not None

    @property
    def weights(self) -> Floats:
        """The sample weights, (n,), or ones."""
        return np.ones(self.n) if self.sample_weight is None else self.sample_weight

    @property
    def happened(self) -> AnyArray:
        """What happened, (n,): labels, or outcomes in their unit."""
        return self.observed

    @property
    def label_probs(self) -> Floats | None:
        """The probabilities (n, m) of what may be observed; None where that is no class."""
        return None

    @property
    @abstractmethod
    def hashed(self) -> tuple[tuple[object, ...], Sequence[tuple[AnyArray, str]]]:
        """What tells them apart but weights and groups: in words, and arrays with their types."""

    @property
    @abstractmethod
    def residuals(self) -> Floats:
        """What was observed less what is expected, (n, k), times the weights."""

    @property
    @abstractmethod
    def deviations(self) -> Sequence[Deviations]:
        """Of the sum of residuals, and of the squared error: what its rows add."""

    @property
    @abstractmethod
    def has_impossible(self) -> bool:
        """Whether something was observed that has the probability 0."""

    @cached_property
    def has_dependence(self) -> bool:
        """Whether two rows are of the same cluster."""
        return self.clusters is not None and np.unique(self.clusters).size < self.n

    @cached_property
    def redrawing(self) -> Redrawing:
        """How outcomes are redrawn from the predictions; a lens keeps to the same ones."""
        own: Redraws = self.__dict__.get("_redrawing")
        return self._own_redrawing() if own is None else own() if callable(own) else own

    @abstractmethod
    def _own_redrawing(self) -> Redrawing:
        """Return the redrawing of rows as they were given."""

    @abstractmethod
    def with_predicted(self, predicted: Any) -> Rows:
        """Give the rows what a calibration map predicts."""

    def subset(self, rows: object) -> Self:
        """Keep some rows, given by a mask, a slice or indices: a data set of its own."""
        kept = checks.check_rows(rows, self.n)
        columns = {name: getattr(self, name) for name in (*self.outcome_fields, *OF_ROWS)}
        # `take` is ten times as fast for rows of two numbers; laws have an index alone.
        some: dict[str, Any] = {
            name: a.take(kept, axis=0) if isinstance(a, np.ndarray) else a[kept]
            for name, a in columns.items()
            if a is not None
        }
        return self._with(**some)

    def without(self, rows: Flags) -> Self:
        """Leave out some rows, given by a mask; the others keep their redrawn outcomes."""
        kept = np.flatnonzero(~rows)
        part = self.subset(kept)
        part.__dict__["_redrawing"] = lambda: self.redrawing.taken(kept)
        return part

    @property
    def drawn_from(self) -> Self:
        """The rows that resamples are drawn from: rows of weight 0 are none."""
        weight = self.sample_weight
        if weight is None or weight.all():
            return self
        if not weight.any():
            raise NotApplicable("all rows have the weight 0", "give some a positive weight")
        return self.without(weight == 0)

    def with_groups(self, groups: object, name: str = "groups") -> Self:
        """Give each row a group; messages name these as they were passed."""
        values = self._looked_at(checks.check_groups(groups, self.n, name))
        return self._with(groups=values, grouped_by=tables.named_by_itself(groups))

    def with_clusters(self, clusters: object, unit: str = CLUSTER) -> Self:
        """Give each row a cluster, within which rows may depend on each other."""
        return self._with(clusters=cluster_codes(clusters, self.n), unit=unit)

    def from_source(self, name: str) -> Self:
        """Name what the data frame was read from, for print."""
        return self._with(source=self.source.replace("data frame", name, 1))

    def by_group(self) -> dict[object, Self]:
        """Split the rows by their group, in sorted order of the groups."""
        if self.groups is None:
            raise invalid("predictions must have groups", "none", "pass groups= or by=")
        order = np.argsort(self.groups, kind="stable")
        values, first = np.unique(self.groups[order], return_index=True)
        rows = np.split(order, first[1:])
        return {value.item(): self.subset(some) for value, some in zip(values, rows, strict=True)}

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, {self.kind}, source={self.source!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays are unpickled writeable, hence not the usual way.
        return self._restored, tuple(getattr(self, name) for name in self._fields())
