"""The report as a whole: its parts, its formats, what it leaves out."""

from __future__ import annotations

import json

import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable

KEYS = [
    "answer",
    "data",
    "diagrams",
    "where",
    "scores",
    "comparison",
    "methods",
    "reproduction",
]


def test_answer_comes_first(page):
    """The sections stand in the order of the issue, each once."""
    assert [section.key for section in page.sections] == KEYS


def test_numbers_are_those_of_test_calibration(page, three_classes):
    """The first row is the test that anybody can make."""
    alone = ct.test_calibration(three_classes, n_resamples=19, rng=1, level=0.05)
    assert page.content.answer.tests[0] == alone


@pytest.mark.full
def test_same_seed_gives_the_same_page(make, three_classes):
    """Nothing in the page depends on the clock or on hidden randomness."""
    first, second = (make(three_classes).to_html() for _ in range(2))
    assert first == second


def test_json_holds_the_same_numbers(page):
    """The JSON has the tests, the scores and the hash, and parses."""
    values = json.loads(page.to_json())
    tests = ct.HTestTable.from_dict(values["answer"]["tests"])
    assert tests.rows == page.content.answer.tests.rows
    assert values["scores"]["scores"][0]["value"] == page.content.scores.scores[0].value
    assert values["reproduction"]["data_hash"] == page.content.reproduction.data_hash


@pytest.mark.parametrize(
    ("suffix", "start"), [(".html", "<!DOCTYPE html>"), (".md", "# Are"), (".json", "{")]
)
def test_save_takes_the_format_of_the_suffix(page, tmp_path, suffix, start):
    """Each suffix has its format."""
    path = page.save(tmp_path / f"report{suffix}")
    assert path.read_text(encoding="utf-8").startswith(start)


def test_save_refuses_another_suffix(page, tmp_path):
    """The message names the suffixes there are."""
    with pytest.raises(InvalidInput, match=r"the suffix of path must be one of '.html'"):
        page.save(tmp_path / "report.pdf")


@pytest.mark.full
def test_verdict_words_need_a_level(make, page, three_classes):
    """Without a level there is no verdict in any format."""
    assert "rejected" in page.to_markdown()
    without = make(three_classes)
    assert "rejected" not in without.to_markdown()
    assert "rejected" not in without.to_html()


@pytest.mark.full
def test_test_without_meaning_is_left_out_and_said(make, three_classes):
    """A test and a lens that do not go together cost a remark, not the report."""
    made = make(three_classes, test=["skce", "ks"], lens=["strong", "confidence"])
    tested = [(row.test, row.lens) for row in made.content.answer.tests]
    assert tested == [("skce", "strong"), ("skce", "confidence"), ("ks", "confidence")]
    assert made.content.answer.left_out[0].startswith("ks, lens strong: ")


def test_report_without_any_test_is_an_error(make, three_classes):
    """Where nothing can be tested the message is that of the test."""
    with pytest.raises(NotApplicable, match="one-dimensional predictions"):
        make(three_classes, test="ks", lens="strong")


@pytest.mark.full
def test_binary_map_is_used_one_versus_rest(make, three_classes):
    """Calibrators for two classes serve more of them too."""
    made = make(three_classes, recalibrate=["platt", ct.calibrators.VectorScaling()])
    assert [row.key for row in made.content.comparison.rows] == ["identity", "platt", "vector"]


@pytest.mark.full
def test_too_few_rows_for_halves_is_an_error(make):
    """Five rows cannot be divided into a part to fit and a part to test."""
    data = ct.Predictions([0.2, 0.4, 0.6, 0.8, 0.5], [0, 1, 0, 1, 1])
    with pytest.raises(NotApplicable, match="5 rows are too few"):
        make(data, recalibrate="platt")


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("probs", "labels"),
    [
        ([[0.3, 0.7]] * 6, [1, 1, 0, 1, 1, 0]),
        ([[0.2, 0.3, 0.5]] * 6, [1] * 6),
        ([[1.0, 0.0], [0.0, 1.0]] * 4, [0, 0] * 4),
        ([[0.6, 0.4], [0.3, 0.7]], [0, 1]),
    ],
    ids=["constant", "one class", "certain", "two rows"],
)
def test_degenerate_data_give_a_page(make, probs, labels):
    """A page is made of what little there is, and no number on it is NaN."""
    made = make(ct.Predictions(probs, labels))
    assert "<h1>" in made.to_html()
    assert "nan" not in made.to_markdown().replace("Finance", "").lower().split()


def test_notebook_shows_a_frame(page):
    """The page stands in a frame, escaped, so that its styles stay inside."""
    shown = page._repr_html_()
    assert shown.startswith("<iframe")
    assert "<!DOCTYPE" not in shown


def test_repr_is_short(page):
    """The repr names the report in a line."""
    assert repr(page).startswith("Report('Are the probabilities of M2(")


# ---- segments -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_segments(make, three_classes):
    """Return a report on the segments of two columns."""
    columns = {"ward": three_classes.groups, "half": [0] * 50 + [1] * 50}
    return make(three_classes, segments=columns, test="ece", lens="confidence", level=0.5)


def test_segments_have_a_section(with_segments, three_classes):
    """Sentence, table, what the numbers are, and a figure; after where it is wrong."""
    keys = [section.key for section in with_segments.sections]
    assert keys[keys.index("scores") - 1] == "segments"
    [section] = [one for one in with_segments.sections if one.key == "segments"]
    assert [block.kind for block in section.blocks] == ["text", "sheet", "text", "figure"]
    test = with_segments.content.segments
    columns = {"ward": three_classes.groups, "half": [0] * 50 + [1] * 50}
    assert test == ct.test_segments(
        three_classes, segments=columns, n_resamples=19, rng=1, level=0.5, keep=50
    )
    assert [row[0] for row in section.blocks[1].sheet.rows] == [row.definition for row in test]


def test_segments_are_in_every_format(with_segments):
    """The sentence in Markdown and HTML, the numbers in JSON."""
    told = "Were the probabilities right in all 9 segments"
    assert told in with_segments.to_markdown()
    assert told in with_segments.to_html()
    values = json.loads(with_segments.to_json())["segments"]
    assert ct.SegmentsTest.from_dict(values) == with_segments.content.segments


def test_segments_are_columns_of_the_data_frame():
    """By name, or all of them in a scan."""
    frame = pl.DataFrame({"y": [0, 1] * 40, "risk": [0.4, 0.7] * 40, "site": ["a", "b"] * 40})
    settings = {"label": "y", "probs": "risk", "test": "ece", "n_resamples": 19, "rng": 1}
    for segments in (["site"], True):
        page = ct.report(frame, segments=segments, **settings)
        assert page.content.segments.n_segments == (1, 2)
