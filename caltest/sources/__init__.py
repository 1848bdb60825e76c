"""Very many rows, counted in cells where they lie: by Polars, DuckDB, Ibis, Dask or Spark."""

from caltest.sources.cells import Cells, ManyCells, cells_in_memory
from caltest.sources.query import Counting, count_rows, counted
from caltest.sources.weights import Weights

__all__ = ["Cells", "Counting", "ManyCells", "Weights", "cells_in_memory", "count_rows", "counted"]
