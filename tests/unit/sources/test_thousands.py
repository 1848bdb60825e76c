"""The snippet for Spark of the how-to page on very many rows, as it stands there."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from caltest import test_calibration as calibration_test

PAGE = Path(__file__).parents[3] / "docs" / "howto" / "many_rows.md"


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
def test_spark_tests_each_model_by_itself(spark, capsys):
    """One row for each, with the p-value that its rows have here."""
    (snippet,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    rng = np.random.default_rng(2)
    risk = rng.beta(1, 4, 600)
    model = rng.choice(["a", "b", "c"], 600)
    event = rng.binomial(1, np.where(model == "c", risk**2, risk))
    frame = pl.DataFrame({"model": model, "event": event, "risk": risk})
    exec(snippet, {"scores": spark.createDataFrame(frame.to_pandas())})  # noqa: S102 - ours
    shown = dict(re.findall(r"\|\s+(\w)\|\s*([\d.]+)\|", capsys.readouterr().out))
    asked = {"label": "event", "probs": "risk", "test": "ks", "engine": "cells", "rng": 1}
    for name in "abc":
        result = calibration_test(None, frame.filter(pl.col("model") == name), **asked)
        assert float(shown[name]) == result.pvalue
    assert float(shown["c"]) == 0.001
