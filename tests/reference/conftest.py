"""Real data and stored numbers that several files compare with."""

import json

import numpy as np
import polars as pl
import pytest

from caltest import Predictions


@pytest.fixture(scope="session")
def icu(data_dir):
    """1,000 patients of an intensive care unit with SAPS II (givitiR's icuData)."""
    table = pl.read_csv(data_dir / "forecasts" / "icu_saps2.csv.gz")
    return Predictions(table["probSaps"].to_numpy(), table["outcome"].to_numpy())


@pytest.fixture(scope="session")
def stored(reference_dir):
    """The numbers of measures.json, most of them of R 4.2.2."""
    return json.loads((reference_dir / "measures.json").read_text())


@pytest.fixture(scope="session")
def others(reference_dir):
    """The outputs of other packages on sets of peers.json: Python 3.11 and NumPy 2.4."""
    return json.loads((reference_dir / "peers.json").read_text())


@pytest.fixture(scope="session")
def beta40(others):
    """40 predictions of an event, their labels, and what other packages give for them."""
    values = others["beta40"]
    return np.array(values["p"]), np.array(values["y"]), values["values"]
