"""Very many rows, counted in cells where they lie: by Polars, DuckDB, Ibis, Dask or Spark."""

from caltest.scale.cells import Cells
from caltest.scale.many import ManyCells
from caltest.scale.query import Counting, count_rows, counted
from caltest.scale.weights import Weights

__all__ = ["Cells", "Counting", "ManyCells", "Weights", "count_rows", "counted"]
