"""Clusters and blocks of time: how they are given, and what is refused."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.predictions.dependence import Dependence, block_length, time_steps

N = 40
P = np.linspace(0.05, 0.95, N)
Y = np.arange(N) % 3 % 2
FIRST = ct.Predictions(P, Y)
NAMES = [f"patient {i // 4}" for i in range(N)]


def frame(kind):
    """A table with a column of clusters and one of days."""
    days = [str(dt.date(2024, 1, 1) + dt.timedelta(i)) for i in range(N)]
    return kind({"prob": P, "y": Y, "patient": NAMES, "day": days})


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_table(kind):
    """A name takes the column; it is none of the probabilities."""
    found = ct.test_calibration(
        frame(kind), label="y", probs="prob", cluster="patient", test="brier", rng=0
    )
    array = ct.test_calibration(P, Y, cluster=np.arange(N) // 4, test="brier", rng=0)
    assert found.statistic == array.statistic
    assert found.parameters["clusters"] == "10 of 4 rows"


@pytest.mark.parametrize("values", [NAMES, pd.Series(NAMES), pl.Series(NAMES), np.array(NAMES)])
def test_names_become_codes(values):
    """In sorted order, the same for every kind of column."""
    codes = ct.Predictions(P, Y, clusters=values).clusters
    assert codes.tolist() == [i // 4 for i in range(N)]


def test_clusters_are_no_features_of_a_model():
    """A model of a table sees neither clusters nor times, nor weights."""
    seen = []

    def model(X):
        seen.append(list(X.columns))
        return np.column_stack([1 - X["prob"], X["prob"]])

    ct.test_calibration(
        model, frame(pd.DataFrame), label="y", cluster="patient", time="day", lag=0, test="brier"
    )
    features = frame(pd.DataFrame).drop(columns="y").assign(weight=1.0)
    named = {"cluster": "patient", "sample_weight": "weight", "lag": 0, "time": "day"}
    ct.test_calibration(model, features, Y, test="brier", **named)
    assert [seen[0], seen[-1]] == [["prob"], ["prob"]]


def test_times_are_steps():
    """Dates, text and numbers in their order; equal ones are one step."""
    dates = [dt.date(2024, 1, 3), dt.date(2024, 1, 1), dt.date(2024, 1, 3)]
    assert time_steps(dates, 3).tolist() == [1, 0, 1]
    assert time_steps(np.array(dates, "datetime64[D]"), 3).tolist() == [1, 0, 1]
    assert time_steps([2.5, 1.0, 2.5], 3).tolist() == [1, 0, 1]
    with pytest.raises(InvalidInput, match=r"time.*NaT at row 1"):
        time_steps(np.array(["2024-01-01", "NaT"], "datetime64[D]"), 2)


def test_times_of_a_zone_are_steps_of_moments():
    """Also across the hour that an autumn has twice, whose text is in another order."""
    hours = pd.date_range("2024-10-26 23:30", periods=4, freq="h", tz="UTC")
    local = hours.tz_convert("Europe/Berlin")
    for times in (local, list(local), pl.Series(local)):
        assert time_steps(times, 4).tolist() == [0, 1, 2, 3]
    assert time_steps([dt.time(9), dt.time(8)], 2).tolist() == [1, 0]
    day = dt.date(2024, 1, 1)
    for other in ("x", 3):
        with pytest.raises(InvalidInput, match=r"^time must be all strings"):
            time_steps([day, other], 2)
    with pytest.raises(InvalidInput, match=r"^time must not be missing; got NaT at row 0"):
        time_steps(pd.Series([pd.NaT, day], dtype=object), 2)


def test_blocks_are_longer_than_the_dependence():
    """Five reaches where there are enough steps, twice at least, and no more than 50 blocks."""
    assert block_length(1000, 0) == 1
    assert block_length(200, 3) == 16
    assert block_length(400, 3) == 20
    assert block_length(30, 4) == 10
    assert block_length(10_000, 3) == 200
    blocks = Dependence(time=np.arange(400), lag=3).given_to(
        ct.Predictions(np.full(400, 0.5), np.arange(400) % 2)
    )
    assert np.bincount(blocks.clusters).tolist() == [20] * 20
    assert blocks.unit == "block of about 20 time steps"


def test_blocks_of_clusters():
    """A series of one block is a cluster."""
    steps, series = np.tile(np.arange(20), 2), np.repeat([0, 1], 20)
    found = Dependence(series, steps, 1).given_to(FIRST)
    assert np.unique(found.clusters[:20]).tolist() == [0, 1, 2, 3, 4]
    assert not set(found.clusters[:20]) & set(found.clusters[20:])
    found = Dependence(np.repeat([0, 1], 20), np.arange(40), 15).given_to(FIRST)
    assert (found.unit, np.bincount(found.clusters).tolist()) == ("cluster", [20, 20])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster": [np.nan, *range(N - 1)]}, "missing"),
        ({"cluster": [None, *NAMES[1:]]}, "missing"),
        ({"cluster": NAMES[1:]}, "one entry per row"),
        ({"cluster": np.zeros((N, 2))}, "one entry per row"),
        ({"cluster": "patient"}, "cluster must be an array"),
        ({"cluster": [*NAMES[1:], 3]}, "all strings"),
        ({"time": np.arange(N)}, "time and lag must be given together"),
        ({"lag": 2}, "time and lag must be given together"),
        ({"time": np.arange(N), "lag": -1}, "lag must be"),
        ({"time": np.arange(N), "lag": 1.5}, "lag must be"),
        ({"time": np.arange(3), "lag": 1}, "one entry per row"),
        ({"time": np.arange(N), "lag": 15}, "too few for two blocks"),
    ],
)
def test_bad_clusters_and_times_are_refused(given, message):
    """The message names the argument and the remedy."""
    error = NotApplicable if "too few" in message else InvalidInput
    with pytest.raises(error, match=message):
        ct.test_calibration(P, Y, test="brier", rng=0, **given)


@pytest.mark.parametrize("given", [{"time": np.arange(N)}, {"lag": 2}, {"time": Y, "lag": -1}])
def test_options_are_checked_before_the_model_is_asked(given):
    def model(X):
        raise AssertionError

    with pytest.raises(InvalidInput, match="lag must be"):
        ct.verdict(model, P, Y, **given)


def test_few_time_steps_are_counted_in_words_that_fit():
    data = ct.datasets.generative_model("M1", n=4, m=2, rng=1)
    for times, words in (([0, 0, 1, 1], "2 time steps are"), ([0, 0, 0, 0], "1 time step is")):
        with pytest.raises(NotApplicable, match=f"{words} too few .* up to lag 1;"):
            ct.test_calibration(None, data, time=times, lag=1)
