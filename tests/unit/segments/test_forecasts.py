"""Segments of forecasts of numbers, by the event that an interval holds the outcome."""

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.lenses import Interval

GROUPS = np.tile(["a", "b", "c", "d"], 60)
ASKED = {"segments": {"group": GROUPS}, "n_resamples": 99, "rng": 1}


def forecasts():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=240)
    errors = np.where(GROUPS == "c", 2.0, 1.0) * rng.normal(size=240)
    return ct.Forecasts(mean + errors, mean=mean, scale=1.0)


def test_segments_of_forecasts_are_those_of_the_event_of_an_interval():
    rows = forecasts()
    found = ct.test_segments(rows, **ASKED)
    by_hand = ct.test_segments(Interval(0.9)(rows), **ASKED)
    assert found[0].definition == "group = c"
    assert found.pvalue == by_hand.pvalue
    assert "(n = 240), lens: interval[0.9]" in str(found)
    assert type(found).from_dict(found.to_dict()).pvalue == found.pvalue


def test_verdict_of_columns_names_the_segment():
    rows = forecasts()
    columns = {"y": rows.outcomes, "mu": rows.mean, "sd": rows.scale, "group": GROUPS}
    asked = {"label": "y", "mean": "mu", "scale": "sd", "segments": ["group"], "rng": 1}
    assert "group = c" in str(ct.verdict(pl.DataFrame(columns), n_resamples=99, **asked))


def test_lens_must_leave_an_event():
    with pytest.raises(ct.NotApplicable, match=r"use lens='interval\[0.9\]'"):
        ct.test_segments(forecasts(), lens="pit-5", **ASKED)


def test_lens_of_other_rows_is_refused():
    """One of forecasts on predictions of classes, and the other way round."""
    p = np.full(240, 0.5)
    with pytest.raises(ct.InvalidInput, match="lens must be one of those of Predictions"):
        ct.test_segments(p, np.arange(240) % 2, lens="exceeds[1]", **ASKED)
    with pytest.raises(ct.InvalidInput, match="lens must be one of those of Forecasts"):
        ct.test_segments(forecasts(), lens="confidence", **ASKED)
