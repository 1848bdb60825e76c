"""Predicted probabilities with the labels that were observed, and what they are read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import blocks
from caltest.predictions import models, tables
from caltest.predictions.dependence import CLUSTER
from caltest.predictions.options import ClassOptions, FileOptions, check_names, parted
from caltest.predictions.redrawing import Inversion, Redrawing
from caltest.predictions.rows import ABOUT, OF_ROWS, Deviations, Redraws, RowColumns, Rows
from caltest.types import AnyArray, Codes, Flags, Floats, Labels

BLOCK = 1 << 18  # probabilities at a time, 2 MiB: as much as a cache holds


class RowValues(RowColumns, ClassOptions, total=False):
    """Values of rows beside their probabilities, and how numbers are read."""

    classes: object


class TableColumns(RowValues, total=False):
    """The columns of a table that make up predictions, and how their numbers are read."""

    probs: str | Sequence[str] | None


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Predictions(Rows):
    """Predictions of n rows over m classes, with their labels; frozen, all arrays read-only.

    Parameters
    ----------
    probs : array_like, shape (n, m), (n,) or (n, 1)
        Probabilities of the classes, each row with sum 1; in one column, P(class 1) of two, or of
        that of the two that a table or a series names the column after.
    labels : array_like, shape (n,), (n, 1) or (n, m)
        Integers 0 to m - 1, names of classes, booleans, or one-hot rows.
    classes : sequence of length m, optional
        The names of the columns of `probs`. By default those that a table has, else 0 to m - 1,
        or the distinct labels in sorted order where they are text.
    sample_weight : array_like, shape (n,), optional
        Weights of the rows: not negative, and in any unit, as they are divided by the mean of the
        positive ones. Rows of weight 0 take no part in tests and measures.
    groups : array_like, shape (n,), optional
        The group of each row.
    clusters : array_like, shape (n,), optional
        The cluster of each row, such as its patient: rows of one cluster may depend on each other,
        those of different ones do not.
    renormalize : bool
        Whether rows whose sum is off by at most 0.01, as after rounding, may be rescaled.
    from_logits : bool
        Whether `probs` are logits; in one dimension, log odds of class 1.
    ordinal : bool
        Whether the classes are ordered, as the columns of `probs` are. With it the default test
        looks at P(Y <= k) too, and maps that are ordered are compared; with two classes it means
        nothing.
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
    ordinal : bool
        Whether the classes are ordered.

    Raises
    ------
    InvalidInput
        If an argument breaks a rule; the message names the argument, the row and the remedy.

    Warns
    -----
    SuspectInputWarning
        If the columns fit the labels far better in another order, the probabilities are all 0 or 1
        or all right, there is about a group for each row, pandas objects have the same index in
        another order, or classes that are ordered are in the order of the alphabet because nobody
        gave another.

    Examples
    --------
    >>> from caltest import Predictions
    >>> predictions = Predictions([[0.7, 0.3], [0.2, 0.8]], ["cat", "dog"])
    >>> predictions
    Predictions(n=2, m=2, source='arrays')
    >>> predictions.labels, predictions.classes.tolist()
    (array([0, 1]), ['cat', 'dog'])
    """

    outcome_fields: ClassVar[tuple[str, ...]] = ("probs", "labels")
    other_fields: ClassVar[tuple[str, ...]] = ("classes", "ordinal")
    claim = "P(Y = k | p) = p_k for every class k"
    redrawn_text = "labels redrawn from the predictions"
    ruled_out = "a class of probability 0 was observed"
    probs: Floats
    labels: Codes
    classes: AnyArray
    ordinal: bool

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
        ordinal: bool = False,
        source: str = "arrays",
    ) -> None:
        rows = {"sample_weight": sample_weight, "groups": groups, "clusters": clusters}
        library = tables.library_of(probs, labels)
        checks.suspect_index(labels=labels, probs=probs, **rows)
        classes = tables.classes_in_order(classes, tables.classes_of_columns(probs, labels))
        probs = checks.in_one_dimension(checks.as_array(probs, "probs"))
        labels = checks.as_array(labels, "labels")
        checks.check_not_swapped(probs, labels)
        from_logits = checks.check_flag(from_logits, "from_logits")
        renormalize = checks.check_flag(renormalize, "renormalize")
        ordinal = checks.check_flag(ordinal, "ordinal")
        matrix = None
        if probs.ndim == 1 and not from_logits:
            known = self.__dict__["_event"] = checks.check_event_probs(probs, classes=classes)
        else:
            known = matrix = checks.check_probs(
                probs, classes=classes, from_logits=from_logits, renormalize=renormalize
            )
        n, m = len(known), 2 if matrix is None else matrix.shape[1]
        codes, names = checks.check_labels(labels, n, m, classes)
        if ordinal and classes is None:
            checks.suspect_alphabet(names)
        if matrix is not None and classes is None and labels.ndim == 1 and names.dtype.kind in "iu":
            checks.check_not_numbered_from_one(matrix, codes)
        if from_logits:
            checks.suspect_logits(probs)
        checks.suspect_predictions(known, codes, names)
        if probs.ndim == 1 and names.dtype.kind == "U":
            source = f"{source}, event: {names[1]}"
        outcomes = {"probs": matrix, "labels": codes, "classes": names, "ordinal": ordinal}
        self._set(outcomes, n, **rows, source=source, library=library)
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

    def _looked_at(self, groups: AnyArray) -> AnyArray:
        event = self.__dict__.get("_event")
        probs = self.probs if event is None else event
        checks.suspicions.suspect_outcome(groups, probs, self.labels, "group")
        return super()._looked_at(groups)

    # ---- where predictions come from ------------------------------------------------------------

    def with_predicted(self, predicted: Floats) -> Predictions:
        """Give the rows other probabilities, which need no check."""
        return Predictions.trusted(predicted, self.labels, self.classes, like=self)

    @classmethod
    def trusted(
        cls,
        probs: Floats,
        labels: Codes,
        classes: AnyArray,
        *,
        like: Rows,
        redrawing: Redraws = None,
    ) -> Predictions:
        """Build predictions from arrays that need no check, with all else as in `like`.

        The arrays become read-only; the rows are those of `like`, and `redrawing`, or what that
        function returns when it is first needed, makes their labels from the same uniform numbers.
        """
        found = {"probs": probs, "labels": labels, "classes": classes, "ordinal": False}
        if isinstance(like, Predictions):  # or a kind of them
            found["ordinal"] = like.ordinal and np.array_equal(classes, like.classes)
            return like._with(redrawing, **found)  # noqa: SLF001, of the same class
        made = cls._restored(*found.values(), *[getattr(like, name) for name in (*OF_ROWS, *ABOUT)])
        made.__dict__["_redrawing"] = redrawing
        return made

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
            `sample_weight`, `groups`, `clusters`, `classes`, `from_logits`, `renormalize` and
            `ordinal`, as for `Predictions`; the classes are by default those of the model, and
            those of an OrderedModel of statsmodels are ordinal.

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
        of_rows = {name: rows.get(name) for name in OF_ROWS}
        X, y = checks.check_pair((X, y), **of_rows)
        checks.suspect_index(X=X, y=y, **of_rows)
        probs, known = models.predict(model, X)
        if rows.get("classes") is None:
            rows["classes"] = known
            if rows.get("ordinal"):
                checks.suspect_alphabet(np.asarray(known))
        if models.is_ordered(model):
            rows["ordinal"] = True
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
            `probs`, `groups`, `clusters`, `sample_weight`, `classes`, `from_logits`,
            `renormalize` and `ordinal`.

        Returns
        -------
        Predictions
            The predictions.

        Other Parameters
        ----------------
        probs : str or list of str, optional
            A column, P(class 1) of two or a list of all in each row; a prefix; or the columns in
            the order of the classes. By default the columns that begin with `"p_"`, else with
            `"prob_"`, else those that count the classes, as `"p0"`, `"p1"`, else the only one of a
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
        from_logits, renormalize, ordinal : bool
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
        return cls._of_frame(df, label, columns)

    @classmethod
    def multilabel(
        cls,
        probs: object,
        labels: object,
        *,
        names: Sequence[object] | None = None,
        sample_weight: object = None,
        clusters: object = None,
    ) -> Predictions:
        """Take the probabilities of L labels, of which a row may have several or none.

        Each label is a binary prediction of its own, and the labels of a row may depend on each
        other in any way: with `by=True` `test_calibration` tests each label by itself, adjusts the
        p-values by Holm's method, which allows for any dependence, and tests all labels together
        where there are 20 rows or more and no `clusters`.

        Parameters
        ----------
        probs : array_like or data frame, shape (n, L)
            The probability of each label.
        labels : array_like or data frame, shape (n, L)
            1 or True where the row has the label, else 0.
        names : sequence of length L, optional
            The names of the labels; by default the columns of a data frame, else label 0, label 1.
        sample_weight, clusters : array_like, shape (n,), optional
            As for `Predictions`, one for each row.

        Returns
        -------
        Predictions
            n L binary predictions, with the labels as groups, and the rows, or `clusters`, as
            clusters.

        Raises
        ------
        InvalidInput
            If an argument breaks a rule; the message names the row and the label.

        Examples
        --------
        >>> from caltest import Predictions
        >>> Predictions.multilabel([[0.2, 0.9], [0.6, 0.5]], [[0, 1], [1, 1]], names=["a", "b"])
        Predictions(n=4, m=2, source='arrays')
        """
        found, size = stacked(probs, labels, names, sample_weight=sample_weight, clusters=clusters)
        unit = f"row of {size} labels" if clusters is None else CLUSTER
        made = cls(**found)
        made.__dict__.update(unit=unit, library=tables.library_of(probs, labels))
        return made

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
            `probs`, `groups`, `clusters`, `sample_weight`, `classes`, `from_logits`,
            `renormalize` and `ordinal`, as for `from_frame`. In an NPZ file the names are those
            of its arrays, and `probs` may be one array of shape (n, m), by default the one called
            "probs".

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
        how: FileOptions = {"file_format": file_format, "sep": sep, "decimal": decimal}
        how |= {"encoding": encoding, "sheet": sheet}
        return cls._of_file(path, label, how, columns)

    @classmethod
    def _of_table(
        cls, table: tables.ColumnTable, source: str, label: str | None, columns: TableColumns
    ) -> Predictions:
        read_as, named = parted(columns, ClassOptions)
        return cls(**tables.choose_columns(table, label=label, **named), **read_as, source=source)

    # ---- what they become -----------------------------------------------------------------------

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @cached_property
    def m(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def kind(self) -> str:
        """The number of classes, for print."""
        return f"m={self.m}"

    @cached_property
    def predicted(self) -> Codes:
        """Code of the most probable class of each row, the first of equals."""
        codes = np.empty(self.n, dtype=np.int64)
        # Whole, NumPy would copy the read-only matrix.
        for rows in blocks(self.n, max(1, BLOCK // self.m)):
            codes[rows] = self.probs[rows].argmax(axis=1)
        return checks.read_only(codes)

    @property
    def observed(self) -> Labels:
        """The labels in the smallest type that holds them."""
        return self.labels.astype(label_dtype(self.m))

    @property
    def label_probs(self) -> Floats:
        """The probabilities of the labels."""
        return self.probs

    @property
    def hashed(self) -> tuple[tuple[object, ...], Sequence[tuple[AnyArray, str]]]:
        """Sizes and classes, probabilities and labels."""
        return (self.n, self.m, self.classes.tolist()), ((self.probs, "<f8"), (self.labels, "<i8"))

    @property
    def residuals(self) -> Floats:
        """The label as a unit vector less the probabilities, (n, m), times the sample weights."""
        out = -self.probs
        out[np.arange(self.n), self.labels] += 1.0
        return out if self.sample_weight is None else out * self.sample_weight[:, None]

    def deviations_of(self, table: Floats) -> Deviations:
        """Return the deviations of terms (n, m) of the labels from their means if calibrated."""
        apart = np.where(self.probs > 0, table, 0.0)
        mean = np.einsum("ik,ik->i", self.probs, apart)
        own = np.take_along_axis(table, self.labels[:, None], axis=1)[:, 0] - mean
        apart -= mean[:, None]
        product = self.probs * np.square(apart)
        return product.sum(axis=1), np.einsum("ik,ik->i", product, apart), own

    @property
    def deviations(self) -> Sequence[Deviations]:
        """Those of the residuals in the direction of their sum, and of the squared error."""
        weight, total = self.weights, self.residuals.sum(axis=0)
        sums = np.outer(weight, total / max(float(np.abs(total).max()), 1e-300))
        # The terms of the squared error, up to a constant of the row.
        return self.deviations_of(sums), self.deviations_of(weight[:, None] * self.probs)

    @property
    def has_impossible(self) -> bool:
        """Whether a class of probability 0 was observed."""
        return bool((self.probs[np.arange(self.n), self.labels] == 0).any())

    def _own_redrawing(self) -> Redrawing:
        return Inversion(self.probs)

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

    def relabelled(self, labels: Codes) -> Predictions:
        """Give the rows other labels, codes (n,)."""
        return self._with(labels=labels.astype(np.int64))

    def with_order(self) -> Predictions:
        """Say that the classes are ordered, as their columns are."""
        return self._with(ordinal=True)


def event_column(predictions: Predictions) -> Floats:
    """Return the probabilities (n,) of the second of two classes, read-only.

    Where they came as a vector the matrix of both classes is not made for it.
    """
    known: Floats | None = predictions.__dict__.get("_event")
    return predictions.probs[:, 1] if known is None else known


def draw_codes(probs: Floats, rng: np.random.Generator) -> Codes:
    """Draw a code from each row by inversion of the running sums."""
    codes = np.empty(len(probs), dtype=np.int64)
    for rows in blocks(len(probs), max(1, BLOCK // probs.shape[1])):
        sums = probs[rows].cumsum(axis=1)
        uniform = rng.random(len(sums)) * sums[:, -1]  # so that rounding draws no class m
        codes[rows] = np.count_nonzero(sums <= uniform[:, np.newaxis], axis=1)
    return codes


# ---- several labels a row, as one event each, below each other -----------------------------------


def stacked(
    probs: object, labels: object, names: Sequence[object] | None, **rows: object
) -> tuple[dict[str, Any], int]:
    """Return the arguments of `Predictions`, with the rows as clusters, and the number of labels.

    Parameters
    ----------
    probs, labels : array_like, shape (n, L)
        The probability of each label, and whether the row has it.
    names : sequence of length L or None
        The names of the labels.
    **rows
        `sample_weight` and `clusters` of the rows, (n,), or None.
    """
    matrix, given = checks.as_array(probs, "probs"), checks.as_array(labels, "labels")
    if matrix.ndim != 2:
        remedy = "pass a column for each label; of one label, use Predictions"
        raise invalid("probs must have shape (n, L)", f"shape {matrix.shape}", remedy)
    if given.shape != matrix.shape:
        got = f"shape {given.shape} for probs of shape {matrix.shape}"
        remedy = "pass the indicator matrix, as of scikit-learn's MultiLabelBinarizer"
        raise invalid("labels must have a column of 0 and 1 for each column of probs", got, remedy)
    n, size = matrix.shape
    named = [list(tables.as_frame(x).columns) for x in (probs, labels) if tables.is_table(x)]
    if named and named[0] != named[-1] and set(named[0]) == set(named[-1]):
        remedy = "pass labels[probs.columns]"
        raise invalid("labels must have columns in the order of probs", shown(named[-1]), remedy)
    checks.suspect_index(probs=probs, labels=labels, **rows)
    if names is None:
        names = list(map(str, named[0])) if tables.is_table(probs) else None
    width = len(str(size - 1))
    called = [f"label {k:0{width}d}" for k in range(size)] if names is None else list(names)
    if len(called) != size or len(set(called)) < size:
        rule = "names must name each column of probs once"
        raise invalid(rule, f"{shown(called)} for {size} columns", "pass one name per label")
    values = matrix.astype(object)
    is_number = np.array([isinstance(x, int | float | np.number) for x in values.flat])
    numbers = np.where(is_number, values.ravel(), np.nan).astype(np.float64).reshape(n, size)
    _check(matrix, (numbers >= 0) & (numbers <= 1), called, "probs must lie in [0, 1]")
    _check(given, (given == 0) | (given == 1), called, "labels must be 0 or 1")
    columns = {
        name: None if value is None else checks.check_column(value, n, name).repeat(size)
        for name, value in rows.items()
    }
    if columns["clusters"] is None:
        columns["clusters"] = np.arange(n).repeat(size)
    groups = np.tile(np.array(called), n)
    found = {"probs": numbers.ravel(), "labels": given.astype(np.int64).ravel(), "groups": groups}
    return {**found, **columns}, size


def _check(values: AnyArray, good: Flags, names: Sequence[object], rule: str) -> None:
    if not good.all():
        row, k = np.argwhere(~good)[0]
        got = f"{shown(values[row, k : k + 1].tolist()[0])} in row {row}, label {names[k]!r}"
        raise invalid(rule, got, "pass one column per label, with a value in each row")
