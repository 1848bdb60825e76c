"""One sign: a gap is observed - predicted in every result, table, file, print and plot."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.measures.gap import Gap
from caltest.results.verdict import detectable

SHIFTS = {"too high": -0.15, "too low": 0.15}  # of the frequency from the prediction
OPTIONS: dict[str, Any] = {"n_resamples": 99, "rng": 1}


def frame(word: str, groups: int = 3) -> pl.DataFrame:
    """Return rows of two classes whose predictions are wrong in one direction."""
    rng = np.random.default_rng(groups)
    n = max(2000, 50 * groups)
    p = rng.uniform(0.2, 0.8, n)
    y = (rng.random(n) < p + SHIFTS[word]).astype(int)
    return pl.DataFrame({"p": p, "y": y, "ward": np.arange(n) % groups})


def ask(word: str, groups: int = 3, **options: Any) -> Any:
    asked = {"label": "y", "probs": "p", **OPTIONS, **options}
    return ct.test_calibration(None, frame(word, groups), **asked)


def gaps_in(value: Any) -> Iterator[dict[str, float]]:
    """Yield what has a prediction, an observed share and ends, in plain values at any depth."""
    if isinstance(value, dict):
        if {"predicted", "observed", "low", "high"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from gaps_in(one)


def results(word: str) -> Iterator[tuple[str, Any]]:
    """Yield a result of each kind that has gaps."""
    data = frame(word)
    columns = {"label": "y", "probs": "p"}
    one, segments = ask(word), ask(word, segments=["ward"])
    yield "one test", one
    yield "cells", ask(word, engine="cells")
    yield "groups", ask(word, by="ward")
    yield "many groups", ask(word, 600, by="ward", test="ks", engine="cells")
    yield "segments", segments
    yield "segments of cells", ask(word, segments=["ward"], engine="cells")
    yield "verdict", one.verdict()
    yield "verdict of segments", segments.verdict()
    for engine in ("rows", "cells"):
        asked = {**columns, **OPTIONS, "engine": engine, "by": "ward"}
        yield f"report of {engine}", ct.report(None, data, **asked)
    asked = {**columns, **OPTIONS, "segments": "ward"}
    yield "report of segments", ct.report(None, data, **asked)


@pytest.mark.full
@pytest.mark.parametrize("word", SHIFTS)
def test_gaps_of_every_result_are_observed_less_predicted(word):
    """In their JSON, with ends around them, and the print has the word of their direction."""
    for name, result in results(word):
        has_arrays = isinstance(result, ct.GroupsTest)
        found = list(gaps_in(result.records() if has_arrays else json.loads(result.to_json())))
        assert found, name
        for one in found:
            gap = one["observed"] - one["predicted"]
            assert one.get("gap", gap) == pytest.approx(gap, abs=1e-9), name
            assert one["low"] <= gap <= one["high"], name
            assert np.sign(gap) == np.sign(SHIFTS[word]) or one["low"] < 0 < one["high"], name
        text = " ".join((result.to_markdown() if "report" in name else str(result)).split())
        assert word in text, name
        assert next(iter(SHIFTS.keys() - {word})) not in text, name


@pytest.mark.full
@pytest.mark.parametrize("word", SHIFTS)
def test_few_and_many_groups_have_the_same_sign(word):
    """Tables of 3 groups and of 600, by rows and cells, and the places of a report."""
    few, many = ask(word, by="ward"), ask(word, 600, by="ward", test="ks", engine="cells")
    page = ct.report(None, frame(word), by="ward", label="y", probs="p", **OPTIONS)
    frames = (many.to_frame(), ask(word, segments=["ward"]).to_frame())
    for found in (
        [row.size for row in few],
        few.verdict().places,
        many.worst(3),
        many.verdict().places,
        page.content.where.group_places,
        page.content.where.places[:1],
    ):
        assert {np.sign(one.gap) for one in found} == {np.sign(SHIFTS[word])}
        assert all(one.gap == one.observed - one.predicted for one in found)
    for table in frames:
        np.testing.assert_allclose(table["gap"], table["observed"] - table["predicted"])
        assert ((table["low"] <= table["gap"]) & (table["gap"] <= table["high"])).all()
        assert np.sign(table["gap"].mean()) == np.sign(SHIFTS[word])


@pytest.mark.parametrize("word", SHIFTS)
@pytest.mark.parametrize("m", [2, 4])
def test_components_of_the_default_have_the_sign(word, m):
    """The number of each that finds a gap, by rows; its place; the numbers in its text."""
    rng = np.random.default_rng(m)
    true = rng.dirichlet(np.full(m, 2.0), 3000)
    factor = np.ones(m)
    factor[-1] = 0.6 if word == "too low" else 1.6  # of the last class
    probs = true * factor
    y = (rng.random(3000)[:, None] > true.cumsum(axis=1)).sum(axis=1)
    result = ct.test_calibration(probs / probs.sum(axis=1, keepdims=True), y, **OPTIONS)
    seen = 0
    for part in result.components:
        if not part.estimate_name.startswith(("mean gap", "event rate -", "accuracy -")):
            continue
        text = part.parameters["finding"]
        if found := re.search(r"([\d.]+) % on average, ([\d.]+) % observed", text):
            mean, share = map(float, found.groups())
            assert (part.estimate > 0) == (share > mean), text
            seen += 1
    assert seen >= 2
    for place in result.places:
        assert place.gap == pytest.approx(place.observed - place.predicted)


@pytest.mark.parametrize("word", SHIFTS)
def test_gap_of_a_monitor_and_what_could_be_found_have_the_sign(word):
    """The confidence sequence of the mean, and the error that a calibrated model would show."""
    data = frame(word)
    watch = ct.monitor().update(data["p"].to_numpy(), data["y"].to_numpy())
    low, high = watch.confidence_sequence("mean")
    assert low <= watch.size().gap <= high
    assert np.sign([low, high]).tolist() == [np.sign(SHIFTS[word])] * 2
    assert word in " ".join(str(watch).split())
    p = np.random.default_rng(1).uniform(0.05, 0.3, 300)
    p = 1 - p if word == "too high" else p
    calibrated = ct.test_calibration(p, (np.random.default_rng(2).random(300) < p) * 1, **OPTIONS)
    (found,) = [one for one in detectable(calibrated) if one.kind == "gap"]
    assert np.sign(found.gap) == np.sign(SHIFTS[word])
    assert f"points {word}" in calibrated.verdict().sentences[-1][1]


@pytest.mark.full
def test_a_gap_and_a_slope_have_one_interval_in_a_report():
    """The same group as group and as segment, all rows in the estimates, the slope in both."""
    columns = {"label": "y", "probs": "p", "by": "ward", "segments": "ward"}
    content = ct.report(None, frame("too low"), **columns, **OPTIONS).content
    verdict, groups = content.answer.verdict, content.where.group_places
    segments = {row.definition: (row.low, row.gap, row.high) for row in content.segments}
    for place in groups:
        found = segments[f"ward = {place.name}"]
        assert found == pytest.approx((place.low, place.gap, place.high), abs=1e-12)
    size, estimates = verdict.size, {one.name: one for one in content.estimates}
    gap, slope = estimates["observed less predicted"], estimates["calibration slope"]
    assert (gap.low, gap.value, gap.high) == (size.low, size.gap, size.high)
    assert segments["all rows"] == pytest.approx((size.low, size.gap, size.high), abs=1e-12)
    told = f"{slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f})"
    assert any(told in text for kind, text in verdict.sentences if kind == "events")


def test_plots_say_the_sign():
    many, segments = (
        ask("too low", 600, by="ward", test="ks", engine="cells"),
        ask("too low", segments="ward"),
    )
    labels = [
        many.plot().get_ylabel(),
        many.plot("gaps").get_xlabel(),
        segments.plot().get_xlabel(),
    ]
    assert all(label.startswith("observed - predicted, percentage points") for label in labels)


@pytest.mark.parametrize("kind", ["htest", "htest-table", "verdict"])
def test_json_of_the_earlier_sign_is_refused(kind):
    """By its ends, whatever its schema."""
    result = ask("too low", by="ward") if kind == "htest-table" else ask("too low")
    result = result.verdict() if kind == "verdict" else result
    values = json.loads(result.to_json())
    for one in gaps_in(values):
        one["low"], one["high"] = -one["high"], -one["low"]
    with pytest.raises(ct.InvalidInput, match="must be limits of observed - predicted"):
        type(result).from_dict(values)


def test_gap_names_what_is_wrong_with_its_ends():
    values = {"kind": "event", "name": "1", "n": 9, "predicted": 0.2, "observed": 0.5}
    with pytest.raises(ct.InvalidInput, match=r"observed - predicted \(0.3\); got -0.4 and -0.1"):
        Gap.of_values({**values, "low": -0.4, "high": -0.1, "deviation": 0.1})
