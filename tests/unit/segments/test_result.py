"""The result of `test_segments`: prints, JSON, HTML, rejection."""

import json

import numpy as np
import pytest

import caltest as ct
from caltest.errors import InvalidInput

RNG = np.random.default_rng(5)
N = 400
P = RNG.uniform(0.05, 0.2, N)
Y = (RNG.random(N) < P).astype(int)
COLUMNS = {"site": np.arange(N) % 4, "a column with a long name": RNG.normal(size=N)}


@pytest.fixture(scope="module")
def result():
    return ct.test_segments(P, Y, segments=COLUMNS, n_resamples=39, rng=1, level=0.05)


def test_json_round_trip_keeps_the_result(result):
    """Infinite numbers are text."""
    for include in (False, True):
        values = json.loads(result.to_json(include_null=include))
        again = ct.SegmentsTest.from_dict(values)
        assert again == result
        assert (again.null_distribution is None) is not include
    p = np.where(COLUMNS["site"] == 0, 0.0, P)
    with pytest.warns(ct.DegenerateDataWarning):
        result = ct.test_segments(p, 0 * Y + 1, segments=COLUMNS, depth=1, n_resamples=19, rng=1)
    assert '"inf"' in result.to_json()
    assert ct.SegmentsTest.from_dict(json.loads(result.to_json())) == result


def test_prints_hold_both_statistics_and_long_definitions(result):
    """Long definitions stand under the grid."""
    text = str(result)
    assert all(f"[{k}]: {row.definition}"[:70] in text for k, row in enumerate(result[:10], 1))
    assert "site = 3" in str(ct.test_segments(P, Y, segments=COLUMNS, n_resamples=19, depth=1))
    text = str(result.summary())
    assert "ECCE/sigma" in text
    assert f"[{len(result)}]" in text


def test_definitions_are_escaped_in_html():
    columns = {"age": RNG.normal(size=N)}
    found = ct.test_segments(P, Y, segments=columns, n_resamples=19, rng=1)
    assert "age &lt;= " in found.to_html()


def test_rejected_needs_a_level(result):
    assert result.rejected in {True, False}
    with pytest.raises(InvalidInput, match="level=None"):
        _ = ct.test_segments(P, Y, segments=COLUMNS, n_resamples=19, rng=1).rejected
