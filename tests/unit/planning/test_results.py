"""Results of planning: frames, JSON, intervals."""

import json
from functools import cache

import numpy as np
import pytest
from scipy.stats import beta

import caltest as ct
from caltest.planning import Power


@cache
def curve():
    return ct.power(beta(2, 5), n=[20, 40], slope=0.5, n_datasets=20, rng=1)


@cache
def planned():
    asked = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 50, "rng": 1}
    return ct.sample_size(beta(2, 5), slope=0.3, **asked)


def test_json_holds_infinite_numbers():
    """JSON has none, so they are text and become numbers again."""
    result = ct.power([[0.5, 0.5, 0.0]], noise=0.3, n=20, n_datasets=10, rng=1)
    again = Power.from_dict(json.loads(result.to_json()))
    assert again.setting.effect.excess == np.inf


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_frame_has_a_row_for_each_size(backend):
    """The columns of both libraries are the same."""
    frame = curve().to_frame(backend=backend)
    assert list(frame["n"]) == [20, 40]
    assert list(frame["power"]) == curve().power.tolist()
    assert list(planned().to_frame(backend=backend)["n"])[-1] == planned().n


def test_result_is_a_sequence_of_rows_with_a_line_of_csv_each():
    lines = curve().to_csv().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("test,null,n,power,low,high,")
    assert len(curve()) == len(list(curve())) == 2
    assert curve().n.tolist() == [20, 40]
    assert [row.power for row in curve()] == curve().power.tolist()


def test_data_sets_of_a_search_are_those_of_its_rows():
    """Some sizes were looked at less often than others."""
    counts = [row.n_datasets for row in planned().search]
    assert f"data sets:        {min(counts)} to {max(counts)} at each n" in str(planned().search)
    assert "data sets:        50, seed" in str(planned())
