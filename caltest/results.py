"""Results of tests: frozen values, each number held once.

A result holds what was computed and nothing else. Every printed form comes from
`caltest.render`, so that text, Markdown, HTML and LaTeX cannot disagree, and printing neither
computes nor draws anything.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from caltest import render
from caltest.errors import invalid
from caltest.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

    from caltest.render import Sheet

_QUANTILES = {"min": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "max": 1.0}

_COLUMNS = (
    "data_name",
    "group",
    "test",
    "lens",
    "null",
    "n",
    "m",
    "estimate_name",
    "estimate",
    "statistic_name",
    "statistic",
    "pvalue",
)


class Parameters(Mapping[str, object]):
    """A read-only mapping that keeps the order it was given.

    Unlike `types.MappingProxyType` it can be pickled, so that results travel between processes.

    Examples
    --------
    >>> Parameters({"kernel": "exponential", "bandwidth": 0.9})
    Parameters({'kernel': 'exponential', 'bandwidth': 0.9})
    """

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, object] | None = None) -> None:
        self._items = dict(items or {})

    def __getitem__(self, key: str) -> object:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"Parameters({self._items!r})"


class Printable(ABC):
    """The printed forms of a result, all made from the sheet that `_sheet` returns."""

    __slots__ = ()

    @abstractmethod
    def _sheet(self) -> Sheet:
        """Return the one table behind all printed forms."""

    def __str__(self) -> str:
        return render.text(self._sheet())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return render.html(self._sheet())

    def to_html(self) -> str:
        """Return the result as an HTML fragment in which every value is escaped."""
        return render.html(self._sheet())

    def to_markdown(self) -> str:
        """Return the result as Markdown (GitHub's tables)."""
        return render.markdown(self._sheet())

    def to_latex(self) -> str:
        """Return the result as a LaTeX table that needs no extra package."""
        return render.latex(self._sheet())


class Result(Printable):
    """A print that is also data."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold."""

    def to_json(self, *, include_null: bool = False, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON."""
        values = self.to_dict(include_null=include_null)
        return json.dumps(values, indent=indent, ensure_ascii=False)


@dataclass(frozen=True, slots=True, repr=False)
class Summary(Printable):
    """The longer print of a result; `HTest.summary` and `HTestTable.summary` return it."""

    sheet: Sheet

    def _sheet(self) -> Sheet:
        return self.sheet


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class HTest(Result):
    """The outcome of one test of calibration.

    Attributes
    ----------
    test : str
        Key of the test, such as "skce".
    method : str
        The title of the print.
    statistic_name, estimate_name : str
        What the two numbers are called in the field, such as "SKCE" and "z".
    statistic, estimate : float
        The value that was judged, and the calibration error it stands for. Often the same.
    pvalue : float
        In [0, 1]; small values speak against calibration.
    null : str
        Key of the null, such as "exact".
    null_text : str
        The null in words, without the number of resamples and the seed.
    n, m : int
        Numbers of observations and of classes of the predictions.
    lens : str
        Key of the lens, such as "classwise[cat]".
    claim : str
        The null hypothesis in words.
    data_name : str
        What was tested: a model, a file, or "arrays".
    parameters : Mapping
        Settings of the measure in the order in which they print, read-only.
    n_resamples, seed : int or None
        How to repeat the resampling; None where nothing is resampled.
    null_distribution : (n_resamples,) array or None
        The resampled statistics, read-only.
    tail_pvalue : float or None
        Gamma tail beyond the resolution of the resampling. Never the p-value.
    notes : tuple of str
        Remarks that a reader of the p-value should see.
    level : float or None
        The significance level, if the caller gave one.
    group : object
        The group of the observations, or None.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", rng=1)
    >>> result = ct.test_calibration(None, predictions, n_resamples=99, rng=1)
    >>> result.pvalue
    0.01
    >>> HTest.from_dict(result.to_dict()) == result
    True
    """

    test: str
    method: str
    statistic_name: str
    statistic: float
    pvalue: float
    estimate_name: str
    estimate: float
    null: str
    null_text: str
    n: int
    m: int
    lens: str
    claim: str
    data_name: str
    parameters: Mapping[str, object] = field(default_factory=Parameters, hash=False)
    n_resamples: int | None = None
    seed: int | None = None
    null_distribution: NDArray[np.float64] | None = field(default=None, compare=False)
    tail_pvalue: float | None = None
    notes: tuple[str, ...] = ()
    level: float | None = None
    group: object = None

    def __post_init__(self) -> None:
        for name in ("statistic", "pvalue", "estimate"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "parameters", Parameters(self.parameters))
        object.__setattr__(self, "notes", tuple(self.notes))
        if self.null_distribution is not None:
            object.__setattr__(self, "null_distribution", _read_only(self.null_distribution))

    @property
    def rejected(self) -> bool:
        """Whether the p-value is at most the level; asks for a level if none was given."""
        return self.pvalue <= _given(self.level)

    def summary(self) -> Summary:
        """Return the longer print: every field, and quantiles of the null distribution."""
        return Summary(render.sheet_of_summary(self, self._null_quantiles()))

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold.

        Parameters
        ----------
        include_null : bool
            Whether to include the null distribution, a list of `n_resamples` numbers.
        """
        names = [f.name for f in fields(self) if include_null or f.name != "null_distribution"]
        return {name: _plain(getattr(self, name)) for name in names}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the result from what `to_dict` or parsed JSON gave."""
        return cls(**values)

    def to_csv(self) -> str:
        """Return one line of values under one line of names, numbers at full precision."""
        return render.csv([_record(self)])

    def _sheet(self) -> Sheet:
        return render.sheet_of_test(self)

    def _null_quantiles(self) -> dict[str, float]:
        if self.null_distribution is None:
            return {}
        values = np.quantile(self.null_distribution, list(_QUANTILES.values()))
        return dict(zip(_QUANTILES, values.tolist(), strict=True))


@dataclass(frozen=True, slots=True, repr=False)
class HTestTable(Result):
    """Several tests of calibration with p-values adjusted for their number.

    Attributes
    ----------
    rows : tuple of HTest
        The tests, in the order in which they print.
    correction : str or None
        Key of the adjustment as in `statsmodels.stats.multitest.multipletests`; "none" is None.
    adjusted : (len(rows),) array
        The adjusted p-values, read-only.
    level : float or None
        The significance level, if the caller gave one.
    notes : tuple of str
        Remarks on the table as a whole, such as what is left out of it.

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", rng=1)
    >>> lenses = ["strong", "confidence"]
    >>> table = ct.test_calibration(None, predictions, lens=lenses, n_resamples=99, rng=1)
    >>> [row.lens for row in table]
    ['strong', 'confidence']
    >>> table.adjusted.tolist()
    [0.02, 0.02]
    """

    rows: tuple[HTest, ...]
    correction: str | None
    adjusted: NDArray[np.float64] = field(compare=False)
    level: float | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "rows", tuple(self.rows))
        if not self.rows:
            raise invalid("a table must have at least one test", "none", "name a test and a lens")
        object.__setattr__(self, "adjusted", _read_only(self.adjusted))
        if self.correction == "none":
            object.__setattr__(self, "correction", None)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[HTest]:
        return iter(self.rows)

    @overload
    def __getitem__(self, index: int) -> HTest: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[HTest, ...]: ...
    def __getitem__(self, index: int | slice) -> HTest | tuple[HTest, ...]:
        return self.rows[index]

    @property
    def pvalues(self) -> NDArray[np.float64]:
        """The p-values before adjustment, a (len(rows),) array."""
        return _read_only([row.pvalue for row in self.rows])

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Where the adjusted p-value is at most the level; asks for a level if none was given."""
        return np.asarray(self.adjusted <= _given(self.level))

    def summary(self) -> Summary:
        """Return the longer print: sizes, statistics and parameters as columns."""
        return Summary(render.sheet_of_table(self, long=True))

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per test, its adjusted p-value included."""
        adjusted = self.adjusted.tolist()
        return [_record(row, p) for row, p in zip(self.rows, adjusted, strict=True)]

    @overload
    def to_frame(self, *, backend: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, *, backend: Literal["pandas"]) -> pd.DataFrame: ...
    def to_frame(self, *, backend: str = "polars") -> pl.DataFrame | pd.DataFrame:
        """Return one row per test as a data frame.

        Parameters
        ----------
        backend : {"polars", "pandas"}
            Which data frame to build. pandas has to be installed for the second.
        """
        if check_choice(backend, ("polars", "pandas"), "backend") == "pandas":
            import pandas as pd

            return pd.DataFrame(self.records())
        import polars as pl

        # strict=False: groups of several types become one column of text.
        return pl.DataFrame(self.records(), infer_schema_length=None, strict=False)

    def to_dict(self, *, include_null: bool = False) -> dict[str, Any]:
        """Return plain Python values that JSON can hold; see `HTest.to_dict`."""
        return {
            "rows": [row.to_dict(include_null=include_null) for row in self.rows],
            "correction": self.correction,
            "adjusted": _plain(self.adjusted),
            "level": self.level,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild the table from what `to_dict` or parsed JSON gave."""
        rows = tuple(HTest.from_dict(row) for row in values["rows"])
        return cls(rows, *(values[name] for name in ("correction", "adjusted", "level", "notes")))

    def to_csv(self) -> str:
        """Return one line of values per test under one line of names."""
        return render.csv(self.records())

    def _sheet(self) -> Sheet:
        return render.sheet_of_table(self)


def _record(row: HTest, adjusted: float | None = None) -> dict[str, Any]:
    """Return one test as a flat dictionary: the columns of data frames and CSV files."""
    record = {name: _plain(getattr(row, name)) for name in _COLUMNS}
    if adjusted is not None:
        record["adjusted"] = adjusted
    return record | {"n_resamples": row.n_resamples, "seed": row.seed}


def _plain(value: object) -> Any:
    """Return plain Python data; JSON has no infinities, so they become "inf", "-inf", "nan"."""
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | str | None) else str(value)


def _read_only(values: NDArray[np.float64] | Sequence[float]) -> NDArray[np.float64]:
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array


def _given(level: float | None) -> float:
    if level is None:
        raise invalid("rejected needs a significance level", "level=None", "pass level=0.05")
    return level
