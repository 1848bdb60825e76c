"""The README prints what its code prints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

README = Path(__file__).parents[2] / "README.md"


def write_predictions(names):
    """Write the file that the README's commands read: the classes and the model's probabilities."""
    probs = names["model"].predict_proba(names["X_test"])
    columns = {"digit": names["y_test"]} | {f"p_{k}": probs[:, k] for k in range(10)}
    table = pl.DataFrame({name: np.asarray(value) for name, value in columns.items()})
    table.write_csv("predictions.csv")


@pytest.mark.full
def test_readme_prints_what_it_shows(run_page):
    """Each block of Python and each command is followed by its whole output."""
    shown = run_page(README, before_console=write_predictions)
    assert shown
    for block in shown:
        assert block.printed == block.promised
