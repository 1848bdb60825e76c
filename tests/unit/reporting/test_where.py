"""Reports on rows that were counted in cells."""

import json
from functools import partial

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.cli.app import run
from caltest.htests.places import CellSearch, Values
from caltest.predictions import ModelData
from caltest.reporting.source import ReportedRows, table_to_count
from caltest.reporting.source import TestPlan as Plan
from caltest.reporting.where import judged, round_cuts
from caltest.sources import count_rows

reported = partial(ReportedRows, plan=Plan(()), logits=None, hashed="")

NAMES = {"label": "y", "probs": "p"}
OPTIONS = {"n_resamples": 99, "rng": 1, "engine": "cells", **NAMES}


@pytest.fixture(scope="module")
def frame():
    """Two groups, of which the second has more events than predicted."""
    rng = np.random.default_rng(1)
    n = 12_000
    p, g = rng.beta(1, 4, n), np.arange(n) % 2
    happened = rng.random(n) < p * np.where(g == 1, 1.2, 1.0)
    return pl.DataFrame({"y": happened.astype(int), "p": p, "g": g})


@pytest.fixture(scope="module")
def page(frame):
    """A page of two classes, by group."""
    return ct.report(None, frame.lazy(), by="g", meta={"event": "death"}, **OPTIONS)


@pytest.mark.full
def test_page_has_the_answer_of_the_tests(page, frame):
    """The verdict and the tests are those of `test_calibration` by cells."""
    expected = ct.test_calibration(
        None, frame, test=["combined", "ece", "cox"], engine="cells", n_resamples=99, rng=1, **NAMES
    )
    tests = {row.test: row for row in page.content.answer.tests}
    for row in expected.rows:
        assert (tests[row.test].statistic, tests[row.test].pvalue) == (row.statistic, row.pvalue)
    assert page.verdict().answer == "some evidence"  # the most that 99 resamples can show of two
    assert "death" in page.verdict().headline
    assert any("slope of the log odds" in text for _, text in page.verdict().sentences)
    groups = page.content.where.groups
    assert [(row.group, row.n) for row in groups.rows] == [(0, 6000), (1, 6000)]
    alone = ct.test_calibration(None, frame, by="g", engine="cells", n_resamples=99, rng=1, **NAMES)
    assert [row.pvalue for row in groups.rows] == [row.pvalue for row in alone.rows]


@pytest.mark.full
def test_page_says_what_is_absent_and_draws_the_rest(page):
    """Every format is written, with the diagrams that cells have."""
    keys = [section.key for section in page.sections]
    assert keys[:5] == ["answer", "details", "estimates", "scores", "groups"]
    assert not {"segments", "comparison", "decisions", "grades"} & set(keys)
    text = page.to_markdown()
    assert "What needs the rows is not on this page" in text
    assert "counted in" in text
    titles = [figure.title for figure in page.figures]
    assert titles[0] == "Reliability diagram of class death"
    assert {"Group 0", "Group 1", "CORP diagram of class death"} < set(titles)
    assert page.left_out == ()
    assert page.to_html().count("<svg") >= len(titles)
    counts = json.loads(page.to_json())["data"]["classes"]
    assert [one["name"] for one in counts] == ["no death", "death"]
    assert sum(one["observed"] for one in counts) == 12_000


def test_numbers_are_those_of_the_rows(page, frame):
    """Estimates, scores and counts of classes, from rows of the same data."""
    rows = ct.report(None, frame, **{**OPTIONS, "engine": "rows"}, meta={"event": "death"})
    found = {one.name: one for one in page.content.estimates}
    expected = {one.name: one for one in rows.content.estimates}
    for name in ("observed less predicted", "expected / observed (E/O)", "calibration slope"):
        for end in ("value", "low", "high"):
            got, wanted = getattr(found[name], end), getattr(expected[name], end)
            assert got == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    scores = {one.name: one for one in rows.content.scores.scores}
    for one in page.content.scores.scores:
        assert one.value == pytest.approx(scores[one.name].value, rel=1e-4)
        if "ECE" not in one.name:
            assert one.expected == pytest.approx(scores[one.name].expected, rel=1e-3)
            assert one.high == pytest.approx(scores[one.name].high, rel=1e-3)
    for one, other in zip(page.content.data.classes, rows.content.data.classes, strict=True):
        assert (one.name, one.observed, one.predicted) == (
            other.name,
            other.observed,
            other.predicted,
        )
        assert one.expected == pytest.approx(other.expected, rel=1e-6)
    named = {place.name: place for place in rows.content.where.places}
    assert {place.name for place in page.content.where.places} == set(named)
    for place in page.content.where.places:
        assert place.n == pytest.approx(named[place.name].n, abs=3)
        assert place.gap == pytest.approx(named[place.name].gap, abs=1e-3)


@pytest.mark.full
def test_ranges_of_calibrated_predictions_are_seldom_rejected():
    """The smallest of the adjusted p-values is at most 0.2 in a fifth of the data sets."""
    rng = np.random.default_rng(2)
    smallest = []
    for _ in range(60):
        p = rng.beta(1, 4, 800)
        search = CellSearch(count_rows(p, rng.random(800) < p), round_cuts)
        smallest.append(min(place.pvalue for place in judged(search, n_resamples=99, seed=1)))
    assert 0.04 < np.mean(np.array(smallest) <= 0.2) < 0.36  # 3 standard errors of 0.052


@pytest.mark.full
def test_classes_have_a_diagram_each():
    """More than two classes: the confidence, and each class against the rest."""
    rng = np.random.default_rng(4)
    probs = rng.dirichlet([1, 2, 3], 3000)
    labels = (probs.cumsum(axis=1) > rng.random(3000)[:, None]).argmax(axis=1)
    three = pl.DataFrame({"y": labels, **{f"p{k}": probs[:, k] for k in range(3)}})
    page = ct.report(three, **OPTIONS)
    lenses = [row.lens for row in page.content.answer.tests.rows]
    assert lenses == ["confidence"] * 2 + [f"classwise[{k}]" for k in range(3)]
    assert [one.predicted for one in page.content.data.classes] == [None] * 3
    assert {"Class 0", "Class 1", "Class 2"} < {figure.title for figure in page.figures}
    page.to_html()
    one = ct.report(three, lens="classwise[1]", test="ks", **OPTIONS)
    assert len(one.content.answer.tests) == 1


@pytest.mark.full
def test_engine_follows_the_number_of_rows(frame, monkeypatch):
    """Above the limit cells, unless something needs the rows."""
    monkeypatch.setattr("caltest.reporting.source.ROWS", 1000)

    def counts(data, engine="auto", **needs):
        return table_to_count(engine, ModelData(None, data), needs, skips=False)[1]

    assert counts(frame)
    assert counts(iter([frame.head(600), frame.tail(600)]))
    assert not counts(frame.head(900).lazy())
    assert not counts(frame, "rows")
    assert not counts(frame, recalibrate=["platt"])
    assert not counts((frame["p"].to_numpy(), frame["y"].to_numpy()))
    options = {**OPTIONS, "engine": "auto", "test": "ks"}
    read = ct.report(None, frame.head(900).lazy(), **options)
    assert read.content.data.n == 900
    assert "counted in" not in read.to_markdown()


@pytest.mark.full
def test_what_needs_the_rows_is_refused(frame):
    with pytest.raises(ct.NotApplicable, match="recalibrate= needs the rows"):
        ct.report(None, frame, recalibrate="platt", **OPTIONS)
    with pytest.raises(ct.NotApplicable, match="engine='rows' for arrays"):
        ct.report(frame["p"].to_numpy(), frame["y"].to_numpy(), engine="cells")
    with pytest.raises(ct.NotApplicable, match="needs the rows"):
        ct.report(None, frame, test="classwise-ece", **OPTIONS)
    page = ct.report(None, frame, test=["ks", "classwise-ece"], **OPTIONS)
    assert "classwise-ece is not tested" in page.to_markdown()


@pytest.mark.full
def test_command_line_takes_patterns(frame, tmp_path, capsys):
    """A page of several files, and rows that are left out."""
    broken = frame.with_columns(p=pl.when(pl.col("p") > 0.8).then(None).otherwise("p"))
    frame.write_parquet(tmp_path / "part-0.parquet")
    broken.write_parquet(tmp_path / "part-1.parquet")
    page = tmp_path / "page.md"
    words = ["report", str(tmp_path / "part-*.parquet"), "--label", "y", "--probs", "p"]
    words += ["--engine", "cells", "--n-resamples", "49", "--test", "ks", "--output", str(page)]
    assert run([*words, "--quiet"]) != 0
    assert "part-1.parquet" in capsys.readouterr().err
    assert run([*words, "--quiet", "--on-error", "skip", "--by", "g"]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Left out:" in text
    assert "| 1 |" in text


@pytest.mark.full
def test_options_of_a_measure_are_kept(frame):
    """A measure that was passed is tested as it is."""
    measure = ct.htests.REGISTRY["ece"].with_options({"bins": 5})
    page = ct.report(None, frame, test=measure, **OPTIONS)
    alone = ct.test_calibration(
        None, frame, test=measure, engine="cells", n_resamples=99, rng=1, **NAMES
    )
    assert page.content.answer.tests[0].statistic == alone.statistic


# ---- places -------------------------------------------------------------------------------------


def find_places(predictions, **options):
    """Return the places of some rows, the worst first."""
    return judged(reported(predictions).search(), **options)


def test_gap_is_observed_less_predicted():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    data = ct.Predictions(p, (rng.random(500) < p**2).astype(int))
    for gap in find_places(data, n_resamples=19, seed=1):
        words = gap.name.removesuffix(" %").replace("up to", "0 to").split()
        ends = [0.01 * float(word) for word in words if word.isdigit()]
        low, high = (*ends, 1.0)[:2]
        some = (p > low) & (p <= high)
        assert gap.n == some.sum()
        assert gap.predicted == pytest.approx(p[some].mean())
        assert gap.observed == pytest.approx(data.labels[some].mean())
        assert gap.gap == gap.observed - gap.predicted
        assert gap.low <= gap.gap < gap.high


@pytest.mark.full
def test_calibrated_places_are_rarely_named():
    """The smallest adjusted p-value is at most 0.1 in about a tenth of calibrated data sets."""
    rng, small = np.random.default_rng(3), 0
    for seed in range(60):
        data = ct.datasets.generative_model("M1", n=300, m=3, rng=rng)
        small += find_places(data, n_resamples=99, seed=seed)[0].pvalue <= 0.1
    assert small <= 12  # P(Bin(60, 0.1) > 12) = 0.01


@pytest.mark.parametrize("lens", ["strong", "confidence"])
def test_overconfident_model_of_two_classes_is_nowhere_underconfident(lens):
    """A small probability that is too low is overconfident, and no confidence with an accuracy."""
    rng = np.random.default_rng(5)
    p = rng.random(900)
    labels = (rng.random(900) < p).astype(int)
    sharp = p**2 / (p**2 + (1 - p) ** 2)
    page = ct.report(ct.Predictions(sharp, labels), profile="ml", lens=lens, n_resamples=99, rng=1)
    text = page.to_markdown()
    assert "| 10 to 20 % | too low |" in text
    assert "underconfident" not in text
    assert "accuracy less confidence" not in text


def test_worst_class_stands_first_with_its_direction():
    """A class that is predicted too often leads, and its ranges have the same direction."""
    rng = np.random.default_rng(4)
    q = rng.dirichlet([2.0, 2.0, 2.0], 3000)
    y = (rng.random(3000)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    p = q * [1.5, 1.0, 1.0]
    data = ct.Predictions(p / p.sum(axis=1, keepdims=True), y)
    places = find_places(data, n_resamples=99, seed=1)
    classes = [gap for gap in places if gap.kind == "class"]
    assert classes[0].name == "0"
    assert classes[0].gap < 0
    named = [gap for gap in places if gap.part and gap.name == "0" and gap.pvalue <= 0.1]
    assert named
    assert all(gap.gap < 0 for gap in named)


def test_clusters_are_not_taken_for_rows():
    """Copies of rows make a small p-value where they are taken for rows, and none as clusters."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.1, 0.9, 300)
    y, cluster = (rng.random(300) < p).astype(int), np.repeat(range(300), 20)
    rows = ct.Predictions(np.repeat(p, 20), np.repeat(y, 20))
    assert find_places(rows, n_resamples=99, seed=1)[0].pvalue < 0.05
    clustered = rows.with_clusters(cluster)
    assert find_places(clustered, n_resamples=99, seed=1)[0].pvalue > 0.05


def test_ranges_have_enough_rows():
    """Each has a twentieth of the rows, and the ends are round."""
    values = np.random.default_rng(7).beta(8, 1, 1000)
    ordered = np.sort(values)
    ends = round_cuts(Values(ordered, ordered, ordered, np.ones(1000), ordered))
    assert np.histogram(values, (0, *ends, 1))[0].min() >= 50
