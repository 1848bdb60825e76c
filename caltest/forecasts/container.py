"""Predictive distributions with the outcomes that were observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Unpack, cast

import numpy as np

from caltest import checks
from caltest.numerics.labels import content_hashes, draw_uniforms, row_hashes
from caltest.numerics.pit_cells import VERY_MANY, PitCells
from caltest.predictions import tables
from caltest.predictions.options import FileOptions, ForecastOptions, check_names, parted
from caltest.predictions.redrawing import Redrawing, Uniforms
from caltest.predictions.rows import OF_ROWS, Deviations, RowColumns, Rows
from caltest.types import AnyArray, Flags, Floats, Hashes, Ints

if TYPE_CHECKING:
    from caltest.forecasts.laws.base import Law


LEAST = 2.0**-53  # of a uniform number, and how far it stays below 1
FINEST = PitCells(17, 32)  # what others are compared with
ALONE, GROUPED = PitCells(13, 32), PitCells(8, 4)  # whose numbers are redrawn
SAMPLED = 16  # one row of as many tells where groups are cut


class ForecastColumns(RowColumns, ForecastOptions, total=False):
    """The columns of a table that make up forecasts, and values of rows."""


class ForecastFile(ForecastColumns, FileOptions, total=False):
    """The same, and how the file is read."""


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Forecasts(Rows):
    r"""Predictive distributions of n outcomes that are numbers; frozen, all arrays read-only.

    Calibration in distribution: whatever is known of the forecast F, the outcome Y has the
    distribution F. The probability integral transform F(Y) is then uniform and independent of F,
    and all tests redraw outcomes from the forecasts. Leave-one-out forecasts depend on the outcomes
    of the other rows, and are rejected though the model is right.

    Parameters
    ----------
    outcomes : array_like, shape (n,)
        What was observed.
    mean, scale : array_like, shape (n,), or float
        Of Gaussian distributions: mean and standard deviation.
    distribution : Law or frozen distribution of scipy.stats
        With parameters of n rows.
    members : array_like, shape (n, M)
        Ensembles: the outcome is to be exchangeable with the M members, so that all its M + 1
        ranks among them are equally probable.
    quantiles, levels : array_like, shape (n, q) and (q,)
        Quantiles at levels in ascending order: each part between two levels is to hold the outcome
        as often as it says; nothing is assumed of where in it. Right quantiles of counts do not:
        an outcome is up to them more often than their level says.
    edges, probs : array_like, shape (b + 1,) or (n, b + 1), and (n, b)
        Histograms: the edges of their bins, and the probabilities.
    cdf, quantile : callable
        A distribution function of outcomes (n,), and its inverse, which is found where not given;
        faster where they also take arrays (k, n), as functions of NumPy and SciPy do.
    sample_weight, groups, clusters : array_like, shape (n,), optional
        As for `Predictions`.
    source : str
        Where the forecasts come from, for print.

    Attributes
    ----------
    outcomes : ndarray, shape (n,), float64
        What was observed.
    law : Law
        The distributions.
    sample_weight, groups, clusters, unit, source, library
        As for `Predictions`.

    Raises
    ------
    InvalidInput
        If an argument breaks a rule; the message names the argument, the row and the remedy.

    References
    ----------
    Dawid (1984), Statistical theory: the prequential approach, JRSS A 147; Gneiting, Balabdaoui,
    Raftery (2007), Probabilistic forecasts, calibration and sharpness, JRSS B 69; Widmann,
    Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR.

    Examples
    --------
    >>> from caltest import Forecasts
    >>> forecasts = Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> forecasts
    Forecasts(n=3, Gaussian, source='arrays')
    >>> forecasts.pit.round(3).tolist()
    [0.421, 0.841, 0.345]
    """

    outcome_fields = ("outcomes", "law")
    claim = "P(Y <= y | F) = F(y) for every y"
    redrawn_text = "outcomes redrawn from the forecasts"
    drawn_as = "pit"
    ruled_out = "an outcome of density 0 was observed"
    classes: ClassVar[tuple[str, ...]] = ()  # outcomes are numbers
    outcomes: Floats
    law: Law

    def __init__(
        self,
        outcomes: object,
        *,
        mean: object = None,
        scale: object = None,
        distribution: object = None,
        members: object = None,
        quantiles: object = None,
        levels: object = None,
        edges: object = None,
        probs: object = None,
        cdf: object = None,
        quantile: object = None,
        sample_weight: object = None,
        groups: object = None,
        clusters: object = None,
        source: str = "arrays",
    ) -> None:
        from caltest.forecasts.laws import law_of  # loads SciPy
        from caltest.forecasts.laws.base import read

        rows = {"sample_weight": sample_weight, "groups": groups, "clusters": clusters}
        given: dict[str, Any] = {"mean": mean, "scale": scale, "distribution": distribution}
        given |= {"members": members, "quantiles": quantiles, "levels": levels, "edges": edges}
        given |= {"probs": probs, "cdf": cdf, "quantile": quantile}
        library = tables.library_of(outcomes, *given.values())
        checks.suspect_index(outcomes=outcomes, **given, **rows)
        y = read(outcomes, "outcomes")
        law = law_of(n=y.size, **given)
        law.suspect(y)
        self._set({"outcomes": y, "law": law}, y.size, **rows, source=source, library=library)
        if self.has_impossible:
            at = np.flatnonzero(self.impossible)
            text = "outcomes outside the support of their forecasts"
            checks.suspect(f"{text}: {at.size} of {y.size}, first in row {at[0]}")

    @classmethod
    def from_model(
        cls, model: object, X: object, y: object, **rows: Unpack[RowColumns]
    ) -> Forecasts:
        """Forecast the rows of X with a fitted model.

        Parameters
        ----------
        model : object
            A regressor of scikit-learn whose `predict` takes `return_std=True`, quantile regressors
            by their levels, ``{0.1: model, 0.5: model, 0.9: model}`` (where their quantiles cross,
            they are sorted, with a warning), results of statsmodels with `get_prediction`, or a
            model with `pred_dist`, as of ngboost.
        X : array_like
            Features that the model was not fitted on.
        y : array_like, shape (n,)
            Outcomes.
        **rows
            `sample_weight`, `groups` and `clusters`.

        Returns
        -------
        Forecasts
            The forecasts; `source` names the model.

        Raises
        ------
        InvalidInput
            If the model gives no distribution.

        Examples
        --------
        >>> from caltest import Forecasts
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import BayesianRidge
        >>> X, y = load_diabetes(return_X_y=True)
        >>> Forecasts.from_model(BayesianRidge().fit(X[::2], y[::2]), X[1::2], y[1::2])
        Forecasts(n=221, Gaussian, source='BayesianRidge()')
        """
        from caltest.forecasts.laws import law_of_model

        check_names(rows, RowColumns, cls.from_model)
        of_rows = {name: rows.get(name) for name in OF_ROWS}
        X, y = checks.check_pair((X, y), **of_rows)
        checks.suspect_index(X=X, y=y, **of_rows)
        law, source = law_of_model(model, X)
        return cls(y, distribution=law, **rows, source=source)

    @classmethod
    def from_frame(
        cls, df: object, *, label: str | None, **columns: Unpack[ForecastColumns]
    ) -> Forecasts:
        """Take the columns of a pandas, polars or Arrow table.

        Parameters
        ----------
        df : data frame
            A table with one row per forecast.
        label : str
            Column of the outcomes.
        **columns
            `mean` and `scale`, columns; `members`, a prefix or a list of columns; or `quantiles`, a
            prefix of columns that end in their levels, as "q_0.05", or a mapping of levels to
            columns; and `sample_weight`, `groups` and `clusters` as for `Predictions`.

        Returns
        -------
        Forecasts
            The forecasts.

        Raises
        ------
        InvalidInput
            If a column is not there or breaks a rule.

        Examples
        --------
        >>> import polars as pl
        >>> from caltest import Forecasts
        >>> df = pl.DataFrame({"y": [1.0, 2.5], "mu": [1.1, 2.0], "sd": [0.5, 0.4]})
        >>> Forecasts.from_frame(df, label="y", mean="mu", scale="sd")
        Forecasts(n=2, Gaussian, source='data frame')
        """
        check_names(columns, ForecastColumns, cls.from_frame)
        return cls._of_frame(df, label, columns)

    @classmethod
    def read(
        cls, path: str | Path | BinaryIO, *, label: str | None, **columns: Unpack[ForecastFile]
    ) -> Forecasts:
        """Read a table: text, JSON, a spreadsheet, Parquet, Feather or Arrow IPC, or NPZ.

        Parameters
        ----------
        path : str, Path or binary file
            A file, or a folder or a pattern for several.
        label : str
            Column of the outcomes.
        **columns
            As for `from_frame`, and `file_format`, `sep`, `decimal`, `encoding` and `sheet` as for
            `Predictions.read`.

        Returns
        -------
        Forecasts
            The forecasts; `source` is the name of the file.

        Raises
        ------
        InvalidInput
            If the file cannot be read, or a column is not there or breaks a rule.

        Examples
        --------
        >>> from caltest import Forecasts
        >>> Forecasts.read("wind.csv", label="y", members="m_")  # doctest: +SKIP
        Forecasts(n=899, ensemble of 50 members, source='wind.csv')
        """
        how, named = parted(columns, FileOptions)
        check_names(named, ForecastColumns, cls.read)
        return cls._of_file(path, label, how, named)  # type: ignore[arg-type]  # parted

    @classmethod
    def _of_table(
        cls, table: tables.ColumnTable, source: str, label: str | None, columns: Any
    ) -> Forecasts:
        if label is None:
            checks.check_choice(label, table.names, "label")  # which it is not
        raw = tables.choose_forecasts(table, label=label, **columns)
        return cls(raw.pop("outcomes"), **raw, source=source)

    # ---- what they become -----------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.outcomes.size

    @property
    def kind(self) -> str:
        """What the distributions are, for print."""
        return self.law.title

    @cached_property
    def mean(self) -> Floats:
        """The means of the distributions, (n,)."""
        return self.law.mean

    @cached_property
    def scale(self) -> Floats:
        """Their standard deviations, (n,)."""
        return self.law.sd

    @cached_property
    def limits(self) -> tuple[Floats, Floats]:
        """The uniform numbers that give the observed outcomes: their least and largest, (n,)."""
        return self.law.pit_ends(self.outcomes)

    @cached_property
    def pit(self) -> Floats:
        r"""The probability integral transform of the outcomes, (n,), uniform if calibrated.

        F(y) where F is continuous; where it has a step, uniform between F(y-) and F(y), by numbers
        that the outcomes determine.
        """
        low, high = self.limits
        if low is high:
            return checks.read_only(low)
        # One key for the outcomes of all rows: the same data have the same numbers, others others.
        key = content_hashes(self.outcomes[:, np.newaxis] + 0.0).sum(keepdims=True)
        within = draw_uniforms(self.uniforms.rows, key)[0]
        return checks.read_only(low + within * (high - low))

    def held(self, low: Floats, high: Floats) -> Floats:
        """Return how much of the step of an outcome is between probabilities, (n,).

        That is how probable it is that its PIT is from the lower one on, and below the higher.
        """
        first, last = self.limits
        width = np.where(last > first, last - first, 1.0)
        share = np.maximum(np.minimum(last, high) - np.maximum(first, low), 0.0) / width
        return np.where(last > first, share, (first >= low) & (first < high))

    @property
    def errors(self) -> tuple[Floats, Floats | None]:
        """The mean PIT less 0.5, and the outcomes less the means where these are known."""
        has_means = self.law.has_tails and self.has_crps
        low, high = self.limits
        return (low + high) / 2.0 - 0.5, self.outcomes - self.mean if has_means else None

    @property
    def has_crps(self) -> bool:
        """Whether the CRPS is finite, as all means are."""
        return bool(np.isfinite(self.mean).all())

    @property
    def told_apart(self) -> tuple[Floats, Floats]:
        """The means and standard deviations of the laws that outcomes are redrawn from."""
        law = self.law.drawn_from(self.outcomes)
        return law.mean, law.sd

    @property
    def copies(self) -> Floats:
        """For how many rows each stands: one."""
        return np.ones(self.n)

    def counted(self, groups: int) -> PitCounts | None:
        if self.n < VERY_MANY or self.sample_weight is not None:
            return None
        counts = PitCounts(self.subset(slice(None, None, SAMPLED)), groups)
        counts.add(self)
        return counts

    def numbered_from(self, start: int) -> Forecasts:
        """Give the rows, as some of many, numbers from `start` on, which tell them apart."""
        return self._with(Uniforms(row_hashes(np.arange(start, start + self.n))))

    @property
    def observed(self) -> Floats:
        """What is redrawn, (n,): the probability integral transform."""
        return self.pit

    @property
    def happened(self) -> Floats:
        """The outcomes."""
        return self.outcomes

    @property
    def hashed(self) -> tuple[tuple[object, ...], Sequence[tuple[AnyArray, str]]]:
        """Size and kind, outcomes, the limits of their PIT, means and scales."""
        columns = self.outcomes, *self.limits, self.mean, self.scale
        return (self.n, self.kind), [(values, "<f8") for values in columns]

    @property
    def residuals(self) -> Floats:
        """The normal numbers of the same ranks as the PIT, (n, 1), times the weights."""
        return self.deviations[0][2][:, None]

    @property
    def deviations(self) -> Sequence[Deviations]:
        """Those of the normal numbers, and of their squares."""
        from scipy.special import ndtri  # loads SciPy

        weight = self.weights
        z = ndtri(np.clip(self.pit, LEAST, 1.0 - LEAST))
        square, none = np.square(weight), np.zeros(self.n)
        squares = 2.0 * square, 8.0 * square * weight, weight * (z * z - 1.0)
        return (square, none, weight * z), squares

    @property
    def impossible(self) -> Flags:
        """Which outcomes, (n,), are outside of the support; far in a tail is inside."""
        return self.law.excludes(self.outcomes)

    @property
    def has_impossible(self) -> bool:
        """Whether an outcome outside of the support was observed."""
        return bool(self.impossible.any())

    @property
    def uniforms(self) -> Uniforms:
        """The uniform numbers of which redrawn outcomes are the quantiles."""
        return cast("Uniforms", self.redrawing)  # forecasts have no other

    def _own_redrawing(self) -> Redrawing:
        return Uniforms(row_hashes(np.arange(self.n)))

    def with_predicted(self, predicted: Law) -> Forecasts:
        """Give the rows other distributions."""
        return self._with(law=predicted)

    def simulate(self, rng: object = None) -> Forecasts:
        """Redraw the outcomes from the forecasts, as under calibration.

        Parameters
        ----------
        rng : None, int, Generator or SeedSequence
            Source of randomness.

        Returns
        -------
        Forecasts
            The same forecasts with new outcomes.
        """
        return self.redrawn_at(checks.check_generator(rng).random(self.n))

    def redrawn_at(self, uniform: Floats) -> Forecasts:
        """Replace the outcomes by those that uniform numbers give.

        Parameters
        ----------
        uniform : array, shape (n,)
            In (0, 1); they are uniform under calibration.

        Returns
        -------
        Forecasts
            With these quantiles as outcomes; of an ensemble an outcome and a member change places.
        """
        uniform = np.clip(uniform, LEAST, 1.0 - LEAST)  # that of the last step may be rounded to 1
        outcomes, law = self.law.redrawn(self.outcomes, uniform)
        return self._with(outcomes=outcomes, law=law)


class PitCounts:
    """How many rows have their PIT in each cell, by groups of like forecasts.

    Under calibration the PIT of all rows are independent uniform numbers, so that the numbers of a
    group are multinomial. A row counts with the mean and the scale of its group.

    Parameters
    ----------
    sample : Forecasts or None
        Some rows, whose means and scales are cut into groups of as many.
    groups : int
        The largest number of groups; of 1, neither is looked at.

    Attributes
    ----------
    cells : PitCells
        The cells.
    finest : (K,) array
        The numbers of rows of all groups together in the cells `FINEST`.
    """

    redrawn_text = "numbers of rows in cells of the PIT redrawn from the forecasts"
    label_probs, m = None, 0

    def __init__(self, sample: Forecasts | None, groups: int) -> None:
        self._inner, values = [], [np.zeros(1), np.ones(1)]
        if sample is not None and groups > 1:
            mean, scale = sample.told_apart
            ends, scales = _cut(scale, math.isqrt(groups))
            inner, means = _cut(mean, groups // scales.size)
            self._inner, values = [inner, ends], [means, scales]
        self._mean, self._scale = (x.ravel() for x in np.meshgrid(*values, indexing="ij"))
        self.cells = GROUPED if self._mean.size > 1 else ALONE
        self._counts = np.zeros((self._mean.size, self.cells.widths.size), np.int64)
        self.finest = np.zeros(FINEST.widths.size, np.int64)
        self._off = np.zeros(self._mean.size)

    def add(self, rows: Forecasts) -> None:
        """Count rows."""
        group = np.zeros(rows.n, np.int64)
        if self._inner:
            for inner, values in zip(self._inner, rows.told_apart, strict=True):
                group = group * (inner.size + 1) + np.searchsorted(inner, values)
            pit, off = rows.errors
            self._off += np.bincount(group, pit * np.nan if off is None else off, self._off.size)
        v, width = np.clip(rows.pit, LEAST, 1.0 - LEAST), self.cells.widths.size
        self.finest += np.bincount(FINEST.of(v), minlength=self.finest.size)
        np.add.at(self._counts.reshape(-1), group * width + self.cells.of(v), 1)

    # ---- what is tested -------------------------------------------------------------------------

    @property
    def _some(self) -> Flags:
        return np.asarray(self._counts.any(axis=1))

    @cached_property
    def observed(self) -> Ints:
        """The numbers of rows in cells, of the groups that have some, (G, cells)."""
        return self._counts[self._some]

    @property
    def copies(self) -> Floats:
        """The numbers of rows of these, (G,)."""
        return np.asarray(self.observed.sum(axis=1, dtype=np.float64))

    weights = copies

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.weights.sum())

    @property
    def told_apart(self) -> tuple[Floats, Floats]:
        """The means and the scales of the groups, (G,) each."""
        return self._mean[self._some], self._scale[self._some]

    @property
    def errors(self) -> tuple[Floats, Floats | None]:
        """The PIT less 0.5, and the outcomes less the means where these are known; mean ones."""
        off = self._off[self._some] / self.weights
        levels = self.observed @ self.cells.middles / self.weights - 0.5
        return np.asarray(levels), off if np.isfinite(off).all() else None

    @property
    def width(self) -> int:
        """How many numbers are redrawn."""
        return self.observed.size

    @property
    def redrawing(self) -> PitCounts:
        """What redraws them."""
        return self

    def labels(self, keys: Hashes) -> Ints:
        """Redraw the numbers of rows in cells, (B, G, cells)."""
        return self.cells.redrawn(self.weights.astype(np.int64), keys)


def _cut(values: Floats, count: int) -> tuple[Floats, Floats]:
    """Return the inner ends of parts of as many values, and their medians."""
    finite = values[np.isfinite(values)]
    inner = np.unique(np.quantile(finite, np.arange(1, count) / count)) if finite.size else finite
    inner = inner[inner < finite.max(initial=-np.inf)]  # no part is empty
    place = np.searchsorted(inner, finite)
    parts = [finite[place == k] for k in range(inner.size + 1)]
    return inner, np.array([np.median(part) if part.size else 0.0 for part in parts])


def moved(z: Floats, spread: float = 1.0, shift: float = 0.0) -> Floats:
    r"""Return the uniform numbers of outcomes that are off, :math:`\Phi(s z + b)`.

    Outcomes scatter s times as widely around a mean that is b standard deviations off: that is so
    of Gaussian forecasts, and of others what deviates from uniform as much. z are normal numbers.
    """
    from scipy.special import ndtr  # loads SciPy

    return np.asarray(np.clip(ndtr(spread * z + shift), LEAST, 1.0 - LEAST))
