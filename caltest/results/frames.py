"""Records as a data frame of the library that the user works with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caltest.validation import check_choice


def data_frame(records: Sequence[Mapping[str, Any]], backend: str) -> Any:
    """Return one row per record, as a data frame of polars or pandas."""
    if check_choice(backend, ("polars", "pandas"), "backend") == "pandas":
        import pandas as pd

        return pd.DataFrame(records)
    import polars as pl

    # strict=False: values of several types become one column of text.
    return pl.DataFrame(records, infer_schema_length=None, strict=False)
