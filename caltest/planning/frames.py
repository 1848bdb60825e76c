"""Results that are a table: records as a data frame and as CSV."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Literal, overload

from caltest import render
from caltest.results import Result
from caltest.results.frames import data_frame

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Frame(Result):
    """A result that is one record of plain values after another."""

    __slots__ = ()

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""

    @overload
    def to_frame(self, *, backend: Literal["polars"] = "polars") -> pl.DataFrame: ...
    @overload
    def to_frame(self, *, backend: Literal["pandas"]) -> pd.DataFrame: ...
    def to_frame(self, *, backend: str = "polars") -> pl.DataFrame | pd.DataFrame:
        """Return one row per record as a data frame.

        Parameters
        ----------
        backend : {"polars", "pandas"}
            Which data frame to build. pandas has to be installed for the second.
        """
        frame: pl.DataFrame | pd.DataFrame = data_frame(self.records(), backend)
        return frame

    def to_csv(self) -> str:
        """Return one line of values per record under one line of names."""
        return render.csv(self.records())
