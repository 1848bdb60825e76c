"""Predicted probabilities with the labels that were observed, and what they are read from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.checks import suspicions
from caltest.errors import invalid, rows_named
from caltest.predictions import files, models, tables
from caltest.predictions.dependence import CLUSTER, cluster_codes
from caltest.predictions.options import NumberOptions, check_names, parted
from caltest.predictions.redrawing import Inversion, Redrawing
from caltest.types import AnyArray, Codes, Flags, Floats

BLOCK = 1 << 18  # probabilities at a time, 2 MiB: as much as a cache holds
LEAST_SHARE = 1e-38  # of the largest weight
ROW_FIELDS = ("probs", "labels", "sample_weight", "groups", "clusters")
FIELDS = ("probs", "labels", "classes", *ROW_FIELDS[2:], "unit", "source", "library")
OF_ROWS = ("sample_weight", "groups", "clusters")
Redraws = Redrawing | Callable[[], Redrawing] | None  # a function makes it when it is needed


class RowValues(NumberOptions, total=False):
    """Values of rows beside their probabilities, and how numbers are read."""

    classes: object
    sample_weight: object
    groups: object
    clusters: object


class TableColumns(RowValues, total=False):
    """The columns of a table that make up predictions, and how their numbers are read."""

    probs: str | Sequence[str] | None


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Predictions:
    """Predictions of n rows over m classes, with their labels; frozen, all arrays read-only.

    Parameters
    ----------
    probs : array_like, shape (n, m), (n,) or (n, 1)
        Probabilities of the classes, each row with sum 1; in one column, P(class 1) of two.
    labels : array_like, shape (n,), (n, 1) or (n, m)
        Integers 0 to m - 1, names of classes, booleans, or one-hot rows.
    classes : sequence of length m, optional
        The names of the columns of `probs`. By default those that a table has, else 0 to m - 1,
        or the distinct labels in sorted order where they are text.
    sample_weight : array_like, shape (n,), optional
        Weights of the rows: not negative, and in any unit, as they are divided by the mean of the
        positive ones.
    groups : array_like, shape (n,), optional
        The group of each row.
    clusters : array_like, shape (n,), optional
        The cluster of each row, such as its patient: rows of one cluster may depend on each other,
        those of different ones do not.
    renormalize : bool
        Whether rows whose sum is off by at most 0.01, as after rounding, may be rescaled.
    from_logits : bool
        Whether `probs` are logits; in one dimension, log odds of class 1.
    source : str
        Where the predictions come from, for print.

    Attributes
    ----------
    probs : ndarray, shape (n, m), float64
        Probabilities.
    labels : ndarray, shape (n,), int64
        Codes 0 to m - 1 of the observed classes.
    classes : ndarray, shape (m,)
        Names of the classes.
    sample_weight : ndarray, shape (n,), float64, or None
        Weights of the rows over the mean of the positive ones: not what was given, but how many
        average rows each counts as. Those of `subset` and of groups keep this unit.
    groups : ndarray, shape (n,), or None
        Groups of the rows.
    clusters : ndarray, shape (n,), int64, or None
        Clusters of the rows, numbered in sorted order.
    unit : str
        What one of them is, for print: "cluster", or "block of about 12 time steps".
    source : str
        Where they come from, and what one column is the probability of, if labels are text:
        "arrays, event: yes".
    library : str
        That of the data frame or the series that was given, in which results answer; else "polars".

    Raises
    ------
    InvalidInput
        If an argument breaks a rule; the message names the argument, the row and the remedy.

    Warns
    -----
    SuspectInputWarning
        If the columns fit the labels far better in another order, the probabilities are all 0 or 1
        or all right, there is about a group for each row, or pandas objects have the same index in
        another order.

    Examples
    --------
    >>> from caltest import Predictions
    >>> predictions = Predictions([[0.7, 0.3], [0.2, 0.8]], ["cat", "dog"])
    >>> predictions
    Predictions(n=2, m=2, source='arrays')
    >>> predictions.labels, predictions.classes.tolist()
    (array([0, 1]), ['cat', 'dog'])
    """

    probs: Floats
    labels: Codes
    classes: AnyArray
    sample_weight: Floats | None
    groups: AnyArray | None
    clusters: Codes | None
    unit: str
    source: str
    library: str

    # Of outcomes that were not seen in all rows: their weights, which depend on each other.
    censoring: ClassVar[Any] = None

    @property
    def described(self) -> Mapping[str, object]:
        """What results say of the rows besides."""
        return {}

    def __init__(
        self,
        probs: object,
        labels: object,
        *,
        classes: object = None,
        sample_weight: object = None,
        groups: object = None,
        clusters: object = None,
        renormalize: bool = False,
        from_logits: bool = False,
        source: str = "arrays",
    ) -> None:
        rows = {"sample_weight": sample_weight, "groups": groups, "clusters": clusters}
        library = tables.library_of(probs, labels)
        suspicions.suspect_index(labels=labels, probs=probs, **rows)
        if classes is None and tables.is_table(probs):
            classes = tables.classes_of_table(probs, labels)
        probs = checks.in_one_dimension(checks.as_array(probs, "probs"))
        labels = checks.as_array(labels, "labels")
        checks.check_not_swapped(probs, labels)
        from_logits = checks.check_flag(from_logits, "from_logits")
        renormalize = checks.check_flag(renormalize, "renormalize")
        matrix = None
        if probs.ndim == 1 and not from_logits:
            known = self.__dict__["_event"] = checks.check_event_probs(probs, classes=classes)
        else:
            known = matrix = checks.check_probs(
                probs, classes=classes, from_logits=from_logits, renormalize=renormalize
            )
        n, m = len(known), 2 if matrix is None else matrix.shape[1]
        codes, names = checks.check_labels(labels, n, m, classes)
        if matrix is not None and classes is None and labels.ndim == 1 and names.dtype.kind in "iu":
            checks.check_not_numbered_from_one(matrix, codes)
        if from_logits:
            suspicions.suspect_logits(probs)
        suspicions.suspect_predictions(known, codes, names)
        if probs.ndim == 1 and names.dtype.kind == "U":
            source = f"{source}, event: {names[1]}"
        weights = None
        if sample_weight is not None:
            share = checks.check_weights(sample_weight, n)
            share = share / share.max()  # no sum of huge ones is infinite
            # Rows without weight take no part, nor do those whose squares vanish, as in cells.
            share = np.where(share < LEAST_SHARE, 0.0, share)
            weights = checks.read_only(share / share[share > 0].mean())
        values = None if groups is None else suspicions.looked_at(checks.check_groups(groups, n))
        dependent = None if clusters is None else cluster_codes(clusters, n)
        found = (matrix, codes, names, weights, values, dependent, CLUSTER, source, library)
        self.__dict__.update(zip(FIELDS, found, strict=True))
        if matrix is None:
            del self.__dict__["probs"]  # made where somebody asks for it

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Floats:
            event = self.__dict__.get("_event")
            if name != "probs" or event is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            matrix = checks.both_columns(event)
            self.__dict__.update(probs=matrix, _event=matrix[:, 1])  # one of them is kept
            return matrix

    def _with(self, redrawing: Redraws = None, **changes: object) -> Predictions:
        """Copy with some fields changed, without a check; the new arrays become read-only."""
        copy = _restore(*[changes.get(name, getattr(self, name)) for name in FIELDS])
        copy.__dict__["_redrawing"] = redrawing
        return copy

    # ---- where predictions come from ------------------------------------------------------------

    @classmethod
    def trusted(
        cls,
        probs: Floats,
        labels: Codes,
        classes: AnyArray,
        *,
        like: Predictions,
        redrawing: Redraws = None,
    ) -> Predictions:
        """Build predictions from arrays that need no check, with all else as in `like`.

        The arrays become read-only; the rows are those of `like`, and `redrawing`, or what that
        function returns when it is first needed, makes their labels from the same uniform numbers.
        """
        return like._with(redrawing, probs=probs, labels=labels, classes=classes)

    @classmethod
    def from_model(
        cls, model: object, X: object, y: object, **rows: Unpack[RowValues]
    ) -> Predictions:
        """Predict the rows of X with a fitted model.

        Parameters
        ----------
        model : object
            A classifier or a pipeline with `predict_proba`, a calibrator, or a function of X.
        X : array_like
            Features that the model was not fitted on.
        y : array_like, shape (n,) or (n, m)
            Labels of the rows of X.
        **rows
            `sample_weight`, `groups`, `clusters`, `classes`, `from_logits` and `renormalize`, as
            for `Predictions`; the classes are by default those of the model.

        Returns
        -------
        Predictions
            The predictions; `source` names the model.

        Raises
        ------
        InvalidInput
            If the model is not fitted or has no `predict_proba`, or (X, y) are swapped.

        Examples
        --------
        >>> from caltest import Predictions
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> X, y = load_iris(return_X_y=True)
        >>> Predictions.from_model(GaussianNB().fit(X[::2], y[::2]), X[1::2], y[1::2])
        Predictions(n=75, m=3, source='GaussianNB()')
        """
        check_names(rows, RowValues, cls.from_model)
        X, y = checks.check_pair((X, y))
        suspicions.suspect_index(X=X, y=y, **{name: rows.get(name) for name in OF_ROWS})
        probs, known = models.predict(model, X)
        if rows.get("classes") is None:
            rows["classes"] = known
        return cls(probs, checks.as_array(y, "y"), **rows, source=models.describe(model))

    @classmethod
    def from_frame(
        cls, df: object, *, label: str | None, **columns: Unpack[TableColumns]
    ) -> Predictions:
        """Take the columns of a pandas, polars or Arrow table.

        Parameters
        ----------
        df : data frame
            A table with one row per prediction.
        label : str
            Column of the labels.
        **columns
            `probs`, `groups`, `clusters`, `sample_weight`, `classes`, `from_logits` and
            `renormalize`.

        Returns
        -------
        Predictions
            The predictions.

        Other Parameters
        ----------------
        probs : str or list of str, optional
            A column, P(class 1) of two; a prefix; or the columns in the order of the classes. By
            default the columns that begin with `"p_"`, else with `"prob_"`, else the only one of a
            usual name, such as `"p"`, `"prob"` or `"risk"`.
        groups : str, list of str or array_like, optional
            A column, several that are crossed, or the values.
        clusters : str or array_like, optional
            A column, or the values.
        sample_weight : str or array_like, optional
            A column, or the values.
        classes : sequence, optional
            The names of the classes, in the order of the columns. By default what follows the
            prefix: "p_cat" is the probability of the label "cat".
        from_logits, renormalize : bool
            As for `Predictions`.

        Raises
        ------
        InvalidInput
            If a column is not there or breaks a rule.

        Examples
        --------
        >>> import polars as pl
        >>> from caltest import Predictions
        >>> df = pl.DataFrame({"y": ["dog", "cat"], "p_dog": [0.9, 0.4], "p_cat": [0.1, 0.6]})
        >>> Predictions.from_frame(df, label="y").classes.tolist()
        ['dog', 'cat']
        """
        check_names(columns, TableColumns, cls.from_frame)
        suspicions.suspect_index(df=df, **{name: columns.get(name) for name in OF_ROWS})
        return cls._of_table(tables.table_of_frame(df), "data frame", label, columns)

    @classmethod
    def read(
        cls,
        path: str | Path | BinaryIO,
        *,
        label: str | None,
        file_format: str | None = None,
        sep: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        **columns: Unpack[TableColumns],
    ) -> Predictions:
        """Read a table: text, JSON, a spreadsheet, Parquet, Feather or Arrow IPC, or NPZ.

        The suffix tells the format, else what is in the file; separator, decimal mark and encoding
        of a text, also compressed by gzip, are found by what is in it.

        Parameters
        ----------
        path : str, Path or binary file
            A file, or a folder or a pattern for several, whose folders k=v are columns.
        label : str
            Column of the labels.
        file_format : {"csv", "tsv", "parquet", "feather", "jsonl", "npz", "excel"}, optional
            To force it.
        sep : str, optional
            What stands between columns, to force it.
        decimal : {".", ","}, optional
            The decimal mark, to force it.
        encoding : str, optional
            The encoding, to force it.
        sheet : str, optional
            The name of the sheet of a spreadsheet, by default the first.
        **columns
            `probs`, `groups`, `clusters`, `sample_weight`, `classes`, `from_logits` and
            `renormalize`, as for `from_frame`. In an NPZ file the names are those of its arrays,
            and `probs` may be one array of shape (n, m), by default the one called "probs".

        Returns
        -------
        Predictions
            The predictions; `source` is the name of the file.

        Raises
        ------
        InvalidInput
            If the file cannot be read, or a column is not there or breaks a rule; rows are named
            as a person counts them in the file, whose header is line 1.
        NotApplicable
            If a spreadsheet is to be read without fastexcel, ``pip install caltest[excel]``.

        Warns
        -----
        ReadAsWarning
            If a text is written in another way than its suffix says, or there are several sheets.

        Examples
        --------
        >>> from caltest import Predictions
        >>> Predictions.read("predictions.csv", label="y", probs="p_")  # doctest: +SKIP
        Predictions(n=899, m=10, source='predictions.csv')
        """
        check_names(columns, TableColumns, cls.read)
        how: Any = {"sep": sep, "decimal": decimal, "encoding": encoding, "sheet": sheet}
        table = files.table_of_file(path, file_format=file_format, **how)
        return cls._of_table(table, files.name_of(path), label, columns)

    @classmethod
    def _of_table(
        cls, table: tables.Table, source: str, label: str | None, columns: TableColumns
    ) -> Predictions:
        read_as, named = parted(columns, NumberOptions)
        with rows_named(table.place):
            raw = tables.choose_columns(table, label=label, **named)
            found = cls(**raw, **read_as, source=source)
        object.__setattr__(found, "library", table.library)
        return found

    # ---- what they become -----------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def m(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def has_dependence(self) -> bool:
        """Whether two rows are of the same cluster."""
        return self.clusters is not None and np.unique(self.clusters).size < self.n

    @cached_property
    def predicted(self) -> Codes:
        """Code of the most probable class of each row, the first of equals."""
        codes = np.empty(self.n, dtype=np.int64)
        for rows in _blocks(self.n, self.m):  # whole, NumPy would copy the read-only matrix
            codes[rows] = self.probs[rows].argmax(axis=1)
        return checks.read_only(codes)

    @cached_property
    def redrawing(self) -> Redrawing:
        """How labels are redrawn from the predictions; a lens keeps to the same ones."""
        own: Redraws = self.__dict__.get("_redrawing")
        return Inversion(self.probs) if own is None else own() if callable(own) else own

    def simulate(self, rng: object = None) -> Predictions:
        """Redraw the labels from the predictions, y* ~ Cat(p), as under calibration.

        Parameters
        ----------
        rng : None, int, Generator or SeedSequence
            Source of randomness.

        Returns
        -------
        Predictions
            The same predictions with new labels.
        """
        return self._with(labels=draw_codes(self.probs, checks.check_generator(rng)))

    def subset(self, rows: object) -> Predictions:
        """Keep some rows, given by a mask, a slice or indices: a data set of its own."""
        kept = checks.check_rows(rows, self.n)
        columns = {name: getattr(self, name) for name in ROW_FIELDS}
        return self._with(**{name: a[kept] for name, a in columns.items() if a is not None})

    def without(self, rows: Flags) -> Predictions:
        """Leave out some rows, given by a mask; the others keep their redrawn labels."""
        kept = np.flatnonzero(~rows)
        part = self.subset(kept)
        part.__dict__["_redrawing"] = lambda: self.redrawing.taken(kept)
        return part

    def relabelled(self, labels: Codes) -> Predictions:
        """Give the rows other labels, codes (n,)."""
        return self._with(labels=labels.astype(np.int64))

    def with_groups(self, groups: object) -> Predictions:
        """Give each row a group."""
        return self._with(groups=suspicions.looked_at(checks.check_groups(groups, self.n)))

    def with_clusters(self, clusters: object, unit: str = CLUSTER) -> Predictions:
        """Give each row a cluster, within which rows may depend on each other."""
        return self._with(clusters=cluster_codes(clusters, self.n), unit=unit)

    def from_source(self, name: str) -> Predictions:
        """Name what the data frame was read from, for print."""
        return self._with(source=self.source.replace("data frame", name, 1))

    def by_group(self) -> dict[object, Predictions]:
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
        return f"Predictions(n={self.n}, m={self.m}, source={self.source!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # Arrays are unpickled writeable, hence not the usual way.
        return _restore, tuple(getattr(self, name) for name in FIELDS)


def event_column(predictions: Predictions) -> Floats:
    """Return the probabilities (n,) of the second of two classes, read-only.

    Where they came as a vector the matrix of both classes is not made for it.
    """
    known: Floats | None = predictions.__dict__.get("_event")
    return predictions.probs[:, 1] if known is None else known


def _restore(*values: object) -> Predictions:
    copy = object.__new__(Predictions)
    locked = (checks.read_only(v) if isinstance(v, np.ndarray) else v for v in values)
    copy.__dict__.update(zip(FIELDS, locked, strict=True))
    return copy


def draw_codes(probs: Floats, rng: np.random.Generator) -> Codes:
    """Draw a code from each row by inversion of the running sums."""
    codes = np.empty(len(probs), dtype=np.int64)
    for rows in _blocks(*probs.shape):
        sums = probs[rows].cumsum(axis=1)
        uniform = rng.random(len(sums)) * sums[:, -1]  # so that rounding draws no class m
        codes[rows] = np.count_nonzero(sums <= uniform[:, np.newaxis], axis=1)
    return codes


def _blocks(n: int, m: int) -> Iterator[slice]:
    step = max(1, BLOCK // m)
    return (slice(start, start + step) for start in range(0, n, step))
