"""Overlapping segments of rows that are counted in cells."""

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

from caltest import GroupsTest, InvalidInput, NotApplicable, SegmentsTest, test_segments
from caltest import test_calibration as calibration_test
from caltest.cli.list_ import bundled
from caltest.sources import sources


def people(n=6000, off=0.0, seed=0):
    """Return predictions of people, of whom some have more events by `off`."""
    rng = np.random.default_rng(seed)
    region, age = rng.choice(["north", "south", "east"], n), rng.integers(0, 6, n)
    p = rng.beta(1, 4, n)
    y = rng.random(n) < np.minimum(p + off * ((region == "north") & (age == 3)), 1.0)
    site = np.where(region == "east", "e", "w")  # the same rows as a region
    return pl.DataFrame({"region": region, "age": age, "site": site, "p": p, "y": y})


def run(data, **options):
    asked = {"label": "y", "probs": "p", "engine": "cells", "rng": 1, **options}
    return calibration_test(None, data, **asked)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_segments_are_those_of_rows(depth):
    """Values and their intersections of enough rows, none the same as with a condition less."""
    data = people()
    columns = ["region", "age", "site"]
    cells = run(data, segments=columns, depth=depth, min_size=50)
    rows = test_segments(
        data,
        segments=columns,
        depth=depth,
        min_size=50,
        keep=1000,
        label="y",
        probs="p",
        n_resamples=9,
        rng=1,
    )
    # site = e and region = east are the same rows, and each way of naming them is counted.
    names = {cells.name(g): (int(cells.sizes[g]), cells.gap[g]) for g in range(len(cells))}
    found = {row.definition: (row.n, row.gap) for row in rows}
    assert names.keys() == found.keys()
    for name, (n, gap) in names.items():
        assert n == found[name][0]
        assert gap == pytest.approx(found[name][1], abs=1e-9)


def test_segment_that_is_off_leads():
    """With its rows and its adjusted p-value, valid whatever the overlap."""
    result = run(people(off=0.2), segments=["region", "age"], level=0.05)
    assert isinstance(result, GroupsTest)
    assert result.overlap
    assert result.worst(1)[0].name == "region = north & age = 3"
    assert result.pvalue == result.adjusted.min() <= 1e-4
    assert result.n == 6000
    text = str(result)
    assert "segments:  28 of region x age" in text
    assert "Holm, 28 segments, which may share rows; redrawn" in " ".join(text.split())
    assert "[1]: region = north & age = 3" in text
    values = json.loads(result.to_json())
    assert not list(jsonschema.Draft202012Validator(bundled("groups")).iter_errors(values))
    assert str(GroupsTest.from_dict(values)) == text


@pytest.mark.full
def test_calibrated_segments_are_not_rejected():
    """At 10 %, within what 30 tables may show."""
    least = [run(people(1000, seed=seed), segments=["region", "age"]).pvalue for seed in range(30)]
    assert np.mean(np.array(least) <= 0.1) <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / 30)


def test_what_needs_rows_is_refused():
    """Numbers to be cut, values that are no columns, and options of their own."""
    data = people(500)
    with pytest.raises(NotApplicable, match=r"'p2' has 500 numbers.*engine='rows'"):
        run(data.with_columns(p2="p"), segments=["p2"])
    with pytest.raises(NotApplicable, match="columns of the data, by name"):
        run(data, segments={"age": data["age"].to_numpy()})
    with pytest.raises(InvalidInput, match="statistic has no effect"):
        run(data, segments="age", statistic="mean")
    with pytest.raises(NotApplicable, match="no segment has at least 400 rows"):
        run(data, segments="age", min_size=400)


def test_auto_takes_cells_of_many_rows_that_lie(monkeypatch, tmp_path):
    """Rows where there are few, and where a number has to be cut."""
    path = tmp_path / "people.parquet"
    people(800).with_columns(risk="p").write_parquet(path)
    asked = {"engine": "auto", "segments": ["region"]}
    assert isinstance(run(path, **asked, n_resamples=9), SegmentsTest)
    monkeypatch.setattr(sources, "ROWS", 500)
    monkeypatch.setattr("caltest.htests.ways.ROWS", 500)
    assert isinstance(run(path, **asked), GroupsTest)
    asked["segments"] = ["risk"]
    assert isinstance(run(path, **asked, n_resamples=9), SegmentsTest)
