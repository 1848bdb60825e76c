"""Results of planning: frames, JSON, intervals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import beta, binomtest

import caltest as ct
from caltest.planning import Power, SampleSize

CURVE = ct.power(beta(2, 5), n=[20, 40], slope=0.5, n_datasets=20, rng=1)
PLANNED = ct.sample_size(
    beta(2, 5), slope=0.3, test="spiegelhalter", null="asymptotic", n_datasets=50, rng=1
)


@pytest.mark.parametrize(("kind", "result"), [(Power, CURVE), (SampleSize, PLANNED)])
def test_json_holds_the_whole_result(kind, result):
    """What is read back prints the same."""
    again = kind.from_dict(json.loads(result.to_json()))
    assert again == result
    assert str(again) == str(result) == repr(result)


def test_json_holds_infinite_numbers():
    """JSON has none, so they are text and become numbers again."""
    result = ct.power([[0.5, 0.5, 0.0]], noise=0.3, n=20, n_datasets=10, rng=1)
    again = Power.from_dict(json.loads(result.to_json()))
    assert again.setting.effect.excess == np.inf


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_frame_has_a_row_for_each_size(backend):
    """The columns of both libraries are the same."""
    frame = CURVE.to_frame(backend=backend)
    assert list(frame["n"]) == [20, 40]
    assert list(frame["power"]) == CURVE.power.tolist()
    assert list(PLANNED.to_frame(backend=backend)["n"])[-1] == PLANNED.n


def test_csv_has_a_line_for_each_size():
    """Under one line of names."""
    lines = CURVE.to_csv().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("test,null,n,power,low,high,")


def test_interval_is_that_of_a_binomial_rate():
    """It covers the error of the simulation."""
    row = CURVE[1]
    expected = binomtest(row.rejections, 20).proportion_ci(0.9, method="exact")
    assert row.interval(0.9) == pytest.approx((expected.low, expected.high))


def test_result_is_a_sequence_of_rows():
    """Sizes and powers are arrays beside them."""
    assert len(CURVE) == len(list(CURVE)) == 2
    assert CURVE.n.tolist() == [20, 40]
    assert [row.power for row in CURVE] == CURVE.power.tolist()
