"""The report as a whole: its parts, its formats, what it leaves out."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable


def test_numbers_are_those_of_test_calibration(page, three_classes):
    """On the page and in JSON."""
    alone = ct.test_calibration(three_classes, n_resamples=19, rng=1, level=0.05)
    assert page.content.answer.tests[0] == alone
    values = json.loads(page.to_json())
    tests = ct.HTestTable.from_dict(values["answer"]["tests"])
    assert tests.rows == page.content.answer.tests.rows
    assert values["scores"]["scores"][0]["value"] == page.content.scores.scores[0].value
    assert values["reproduction"]["data_hash"] == page.content.reproduction.data_hash


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_slope_of_some_rows_says_of_which_apart_from_what_it_means(make):
    """And a group of few rows has no diagram, in which there would be nothing to see."""
    p = np.append(np.linspace(0.1, 0.9, 60), [0.0, 1.0])
    y, by = np.append(np.arange(60) % 2, [0, 1]), np.append(["many"] * 60, ["few"] * 2)
    page = make(ct.Predictions(p, y), test=["combined", "calibration-slope"], by=by)
    text = "predictions are too extreme; of the 60 rows with predictions inside (0, 1)"
    assert text in page.to_markdown()
    titles = [figure.title for figure in page.figures]
    assert "Group many" in titles
    assert "Group few" not in titles


@pytest.mark.full
def test_same_seed_gives_the_same_page(make, plain, three_classes):
    """Nothing depends on the clock or on hidden randomness; without a level nothing is rejected."""
    shown = make(three_classes).to_html()
    assert shown == plain.to_html()
    assert "rejected" not in shown


@pytest.mark.full
def test_test_without_meaning_is_left_out_and_said(make, three_classes):
    """A test and a lens that do not go together cost a remark, not the report."""
    made = make(three_classes, test=["skce", "ks"], lens=["strong", "confidence"])
    tested = [(row.test, row.lens) for row in made.content.answer.tests]
    assert tested == [("skce", "strong"), ("skce", "confidence"), ("ks", "confidence")]
    assert made.content.answer.left_out[0].startswith("ks, lens strong: ")


def test_report_that_cannot_be_made_is_an_error(make, three_classes):
    """Where nothing can be tested the message is that of the test; five rows have no halves."""
    with pytest.raises(NotApplicable, match="one-dimensional predictions"):
        make(three_classes, test="ks", lens="strong")
    data = ct.Predictions([0.2, 0.4, 0.6, 0.8, 0.5], [0, 1, 0, 1, 1])
    with pytest.raises(NotApplicable, match="5 rows are too few"):
        make(data, recalibrate="platt")


@pytest.mark.full
def test_binary_map_is_used_one_versus_rest(make, three_classes):
    """Calibrators for two classes serve more of them too."""
    made = make(three_classes, recalibrate=["platt", ct.calibrators.VectorScaling()])
    assert [row.key for row in made.content.comparison.rows] == ["identity", "platt", "vector"]


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


@pytest.mark.full
def test_numbers_of_a_rare_event_do_not_vanish(make):
    """Ten events of 100,000 where two were predicted; a title of blanks is none."""
    labels, wards = (np.arange(100_000) % 10_000 == 0).astype(int), np.arange(100_000) % 2
    made = make(np.full(100_000, 2e-5), labels, by=wards, title=" ", test="brier")
    assert made.content.title == "Are the probabilities calibrated?"
    page = made.to_markdown()
    assert "| 0.008 points | 0.003 to 0.016 | 0 |  | 0.010 % against 0.002 % |" in page
    assert "| +0.018 | +0.008 to +0.035 |" in page
    assert "of 100,000 rows (0.01 %)" in page
    assert "0.0 points" not in page
    assert "| Brier score | 0.0001000 | 0.0000200 | " in page
    assert "which is the same in all rows" in page
    few = make(np.full(100_000, 2e-5), np.arange(100_000) < 2, test="combined")
    assert "a mean prediction that is 0.007 points too low" in few.to_markdown()
    most = make(np.full(100_000, 2e-5), np.arange(100_000) < 5, test="brier").to_markdown()
    assert "| 0.003 points | 0.000 to 0.010 | 0 |" in most


@pytest.mark.parametrize("power", [1, 3])
def test_caption_of_a_group_tells_what_is_shaded(make, power):
    p = np.random.default_rng(1).random(800)
    labels = np.random.default_rng(2).random(800) < p**power
    made = make(p, labels, by=["a", "b"] * 400, test="combined", n_resamples=99)
    said = [one.description for one in made.figures if one.title.startswith("Group")]
    assert len(said) == 2
    assert all(("What is shaded" in text) == (power > 1) for text in said)


def test_forms_of_a_page_are_those_of_its_content(page):
    """A notebook shows a frame, the repr is short, the text is the title and the verdict."""
    shown = page._repr_html_()
    assert shown.startswith("<iframe")
    assert "<!DOCTYPE" not in shown
    assert repr(page).startswith("Report('Are the probabilities of M2(")
    title, verdict = str(page).split("\n\n", maxsplit=1)
    assert title == page.content.title
    assert verdict == str(page.verdict())


# ---- segments -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_segments(make, three_classes):
    columns = {"ward": three_classes.groups, "half": [0] * 50 + [1] * 50}
    return make(three_classes, segments=columns, test="ece", lens="confidence", level=0.5)


@pytest.mark.full
def test_segments_have_a_section(with_segments, three_classes):
    """Sentence, table, what the numbers are, and a figure; after where it is wrong."""
    keys = [section.key for section in with_segments.sections]
    assert keys[keys.index("tests") - 1] == "segments"
    [section] = [one for one in with_segments.sections if one.key == "segments"]
    assert [block.kind for block in section.blocks] == ["text", "sheet", "text", "figure"]
    test = with_segments.content.segments
    columns = {"ward": three_classes.groups, "half": [0] * 50 + [1] * 50}
    assert test == ct.test_segments(
        three_classes, segments=columns, n_resamples=19, rng=1, level=0.5, keep=50
    )
    assert [row[0] for row in section.blocks[1].sheet.rows] == [row.definition for row in test]


@pytest.mark.full
def test_segments_are_in_every_format(with_segments):
    """The sentence in Markdown and HTML, the numbers in JSON."""
    told = "Were the probabilities right in all 9 segments"
    assert told in with_segments.to_markdown()
    assert told in with_segments.to_html()
    values = json.loads(with_segments.to_json())["segments"]
    assert ct.SegmentsTest.from_dict(values) == with_segments.content.segments


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_segments_are_columns_of_the_data_frame():
    """By name, or all of them in a scan."""
    frame = pl.DataFrame({"y": [0, 1] * 40, "risk": [0.4, 0.7] * 40, "site": ["a", "b"] * 40})
    settings = {"label": "y", "probs": "risk", "test": "ece", "n_resamples": 19, "rng": 1}
    for segments in (["site"], True):
        page = ct.report(frame, segments=segments, **settings)
        assert page.content.segments.n_segments == (1, 2)


# ---- profiles, certificate, what the author states ----------------------------------------------


@pytest.fixture(scope="module")
def risks():
    """Return risks that are too high, and outcomes."""
    rng = np.random.default_rng(1)
    p = rng.beta(1.0, 3.0, 400)
    return p, (rng.random(400) < 0.6 * p).astype(int)


def _section(page, key):
    return next(section for section in page.sections if section.key == key)


@pytest.mark.full
def test_clinical_page_has_its_numbers_and_decisions(make, risks):
    """E/O, intercept, slope and ICI with intervals, the belt, and the net benefit."""
    page = make(*risks, profile="clinical", meta={"event": "death"})
    found = {one.name: one for one in page.content.estimates}
    ratio = ct.measures.expected_observed_interval(*risks)
    assert found["expected / observed (E/O)"].value == ratio.ratio
    for name in ("calibration intercept", "calibration slope", "ICI"):
        assert found[name].low < found[name].value < found[name].high
    assert "deaths predicted" in page.to_markdown()
    assert [figure.section for figure in page.figures][:3] == ["answer", "tests", "decisions"]
    assert "<b>GiViTI calibration belt.</b>" in page.to_html()


@pytest.mark.full
def test_credit_page_has_grades_with_lights(make, risks):
    """Grades are tested as `test_master_scale` does, apart from groups."""
    grade = np.searchsorted([0.1, 0.3], risks[0])
    page = make(*risks, by=grade % 2, grades=grade, profile="credit", test="ece")
    assert [row.group for row in page.content.where.groups] == [0, 1]
    table = page.content.grades
    n, defaults = np.bincount(grade), np.bincount(grade, risks[1]).astype(int)
    alone = ct.test_master_scale(
        np.bincount(grade, risks[0]) / n, defaults, n, grades=["0", "1", "2"]
    )
    assert table == alone
    block = _section(page, "grades").blocks[0]
    assert block.lights == alone.traffic_lights
    text = page.to_markdown()
    assert "those of \u201cjeffreys\u201d. The test is one-sided" in text
    assert "(chi^2 limit with 3 degrees of freedom); spiegelhalter, p" in text
    assert "### Test jeffreys: number of defaults, Jeffreys posterior" in text
    tenths = make(*risks, profile="credit", test="ece").to_markdown()
    assert "no grades were given: these are tenths of the rows" in tenths


def test_small_risks_are_told_apart(make):
    """With two digits, in the table of grades, the certificate and the verdict."""
    pd = np.repeat([0.0037, 0.0004, 0.00035], 8000)
    happened = np.arange(24_000) % 500 == 0
    page = make(pd, happened, grades=pd, profile="credit", tolerance=0.002, test="brier")
    text = page.to_markdown()
    assert "0.15 % on average, 0.20 % observed" in text
    for shown in ("8,000 | 0.035 |", "8,000 | 0.04 |", "8,000 | 0.37 |", "gap (KS) | 0.11 |"):
        assert shown in text


def test_certificate_has_both_hypotheses(make, risks):
    """The p-values are those of `test_calibration` with the tolerance and both hypotheses."""
    page = make(*risks, tolerance=0.03, test="ece")
    row = page.content.within.rows[0]
    settings = {"test": "ks", "tolerance": 0.03, "n_resamples": 19, "rng": 1}
    assert row.exceeds == ct.test_calibration(*risks, **settings).pvalue
    assert row.within == ct.test_calibration(*risks, **settings, equivalence=True).pvalue
    assert "3 percentage points" in page.to_markdown()


@pytest.mark.full
def test_certificate_holds_for_each_group(make):
    """Two groups that are off in opposite directions cancel each other in all rows."""
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 1000)
    p = rng.uniform(0.2, 0.8, 1000)
    labels = (rng.random(1000) < p + 0.15 * (2 * group - 1)).astype(int)
    settings = {"tolerance": 0.08, "test": "ece", "n_resamples": 199}
    assert "within 8 percentage points is supported" in make(p, labels, **settings).to_markdown()
    page = make(p, labels, by=group, **settings)
    assert [row.name.partition(", group ")[2] for row in page.content.within.rows[:3]] == [
        "",
        "0",
        "1",
    ]
    (told,) = page.content.within.sentences
    assert "beyond 8 percentage points in one of 2 groups or all rows is supported" in told


@pytest.mark.full
def test_author_states_and_signs(make, risks):
    """Period, adequacy and limitations have a section, the event its name, signatures lines."""
    meta = {"data period": "2024", "limitations": "one site", "signatures": "Ann; Bo"}
    page = make(*risks, meta=meta | {"event": "death"}, test="ece")
    facts = dict(_section(page, "about").blocks[0].sheet.facts)
    assert facts["Data period"] == "2024"
    assert facts["Sample adequacy"].startswith("400 rows with")
    assert page.sections[-1].key == "signatures"
    assert page.to_html().count('class="line"') == 2 * len(("name", "role", "date", "signature"))
    assert page.content.data.classes[1].name == "death"
    assert "P(death)" in page.content.answer.verdict.headline
    plain = make(*risks, test="ece").content
    assert page.content.reproduction.data_hash == plain.reproduction.data_hash


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"profile": "clinic"}, "did you mean 'clinical'"),
        ({"profile": "medical"}, "'ml', 'forecast'; got"),
        (
            {"recalibrate": "beta-pit"},
            "recalibrate must be a calibrator of probabilities; got a Beta",
        ),
        ({"tolerance": 5}, "pass 0.05 for 5 %"),
        ({"on_error": "skp"}, "on_error must be one of 'raise', 'skip'"),
        ({"meta": ["a"]}, "meta must map names to texts"),
        ({"grades": "rating"}, "grades must be values where there is no data frame"),
        ({"grades": [1, 2]}, "grades must have one entry per row"),
    ],
)
def test_bad_argument_of_the_page_is_named(make, risks, arguments, message):
    with pytest.raises(InvalidInput, match=message):
        make(*risks, **arguments)


@pytest.mark.full
def test_nothing_is_wrong_where_nothing_is_rejected(make):
    """A calibrated model has no section of places."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.1, 0.9, 300)
    page = make(p, (rng.random(300) < p).astype(int), test="ece", level=0.05)
    assert page.content.answer.verdict.answer == "not rejected"
    assert "where" not in [section.key for section in page.sections]


@pytest.mark.parametrize(
    ("component", "said"), [("skce", "| SKCE = "), ("class-frequencies", "| farthest is class")]
)
def test_what_was_seen_first_is_said_once(make, three_classes, component, said):
    """A number alone has the title of its component, unless that is its own name."""
    page = make(three_classes, test=ct.measures.Combined(components=(component,)))
    text = page.to_markdown().partition("saw first")[2]
    assert said in text.partition("###")[0]


@pytest.mark.full
def test_other_tests_that_reject_are_named(make):
    """The answer is that of the first test; a reader of the table finds no contradiction."""
    rng = np.random.default_rng(4)
    p = rng.beta(2, 3, 40)
    page = make(p, (rng.random(40) < p).astype(int), n_resamples=199)
    least = page.content.answer.tests.adjusted.min()
    assert page.content.answer.verdict.answer == "too few rows"
    assert least <= 0.05
    note = _section(page, "details").blocks[0]
    assert (note.kind, note.text.split(" (")[0]) == ("note", "By itself ece")
    assert "where" not in [section.key for section in page.sections]


@pytest.mark.full
def test_group_that_is_right_on_average_says_what_is_wrong(make):
    """Its direction is that of its worst range, as in the verdict."""
    rng = np.random.default_rng(2)
    p, group = rng.uniform(0.1, 0.9, 2000), np.repeat(["a", "b"], 1000)
    slope = np.where(group == "a", 0.3, 1.0)
    y = (rng.random(2000) < 1 / (1 + np.exp(-slope * np.log(p / (1 - p))))).astype(int)
    page = make(p, y, by=group, n_resamples=199)
    rows = {row[0]: row for row in _section(page, "groups").blocks[0].sheet.rows}
    assert rows["a"][1] == "P(1) below 28 % too low"
    assert rows["a"][1].endswith((" too high", " too low"))
    assert any(rows["a"][1].rpartition(" too ")[0] in text for text in _texts(page))


def _texts(page):
    return [text for _, text in page.content.answer.verdict.sentences]


@pytest.mark.full
def test_help_is_the_sentence_of_the_verdict(make, risks):
    """The report and `verdict` choose one map, and say the same of it."""
    maps = ["platt", "beta"]
    page = make(*risks, recalibrate=maps, test="ece")
    told = ct.verdict(*risks, recalibrate=maps, n_resamples=19, rng=1)
    assert page.content.comparison.helps == dict(told.sentences)["helps"]
    assert page.content.comparison.helps in _texts(page)


@pytest.mark.full
def test_groups_show_their_direction(make):
    """Two groups that are off in opposite directions stand as such, and the headline says so."""
    rng = np.random.default_rng(2)
    p, group = rng.uniform(0.2, 0.8, 1200), np.repeat(["a", "b"], 600)
    y = (rng.random(1200) < p + np.where(group == "a", 0.12, -0.12)).astype(int)
    page = make(p, y, by=group, test="ece")
    rows = {row[0]: row for row in _section(page, "groups").blocks[0].sheet.rows}
    assert (rows["a"][1], rows["b"][1]) == ("too low", "too high")
    assert "groups" in page.content.answer.verdict.headline


@pytest.mark.full
def test_report_tests_by_clusters(make, risks):
    """The answer is that of `ct.verdict`, and the page says what takes rows as independent."""
    cluster = np.arange(400) // 20
    page = make(*risks, test="ece", cluster=cluster)
    result = ct.test_calibration(*risks, test="ece", cluster=cluster, n_resamples=19, rng=1)
    assert page.content.answer.tests[0].pvalue == result.pvalue
    assert page.content.answer.tests[0].null == "cluster"
    assert "there are 20 clusters" in page.to_markdown()
    found = {one.name: one for one in page.content.estimates}["expected / observed (E/O)"]
    gap = result.size
    assert found.low == pytest.approx(gap.predicted / (gap.predicted + gap.high))
    assert found.high == pytest.approx(gap.predicted / (gap.predicted + gap.low))
    text = make(*risks, test="ece", cluster=cluster, grades=[0.1, 0.3]).to_markdown()
    assert "intervals of grades take rows of the same cluster as independent" in text
    with pytest.raises(ct.InvalidInput, match="cluster has no effect with segments"):
        make(*risks, cluster=cluster, segments={"half": cluster < 10})


# ---- what stands at the end ---------------------------------------------------------------------


def _sign_off(page):
    return dict(page.sections[-1].blocks[0].sheet.facts)


@pytest.mark.full
def test_report_takes_weights_beside_arrays_and_columns(make, risks):
    """They give the answer of a Predictions that has them."""
    (probs, labels), weight = risks, np.linspace(1.0, 3.0, 400)
    expected = make(ct.Predictions(probs, labels, sample_weight=weight)).verdict().pvalue
    table = pl.DataFrame({"p": probs, "y": labels, "w": weight})
    page = make(probs, labels, sample_weight=weight)
    assert page.verdict().pvalue == expected
    ratio = {one.name: one for one in page.content.estimates}["expected / observed (E/O)"]
    assert ratio.value == pytest.approx(weight @ probs / (weight @ labels))
    assert make(table, label="y", sample_weight="w").verdict().pvalue == expected


def test_page_ends_with_what_was_run_on_what(make, three_classes, tmp_path, monkeypatch):
    """The hash is that of the file, the call can be repeated, the date is that of the build."""
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n" + "0,0.25\n1,0.75\n0,0.5\n" * 10)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    asked = {"label": "y", "probs": "p", "test": "brier", "time": None}
    told = _sign_off(make(None, str(path), **asked))
    assert told["data"] == "rows.csv"
    assert told["SHA-256 of the file"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert told["date of the run"] == "1970-01-02T00:00:00+00:00"
    assert "test='brier', " in told["command or call"]
    assert told["command or call"].endswith("n_resamples=19, rng=1, label='y', probs='p')")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(InvalidInput, match="SOURCE_DATE_EPOCH must be a number of seconds"):
        make(None, str(path), **asked)


@pytest.mark.full
def test_card_has_at_most_five_lines(make, risks):
    """A tolerance takes the place of the power, which goes below."""
    page = make(*risks, by=np.arange(400) % 4, tolerance=0.3, test="brier")
    card = [block for block in _section(page, "answer").blocks if block.kind != "figure"]
    assert {block.kind for block in card} == {"headline", "text"}
    assert len(card) <= 5
    assert card[-1].text.startswith("Tolerance: ")
    below = " ".join(block.text for block in _section(page, "details").blocks)
    assert "Groups: " in below or "All rows: " in below


@pytest.mark.parametrize("name", ["title", "author", "command", "time", "data_file"])
def test_texts_of_a_report_are_texts(name):
    """Found out before rows are read, not where the page is written."""
    with pytest.raises(ct.InvalidInput, match=f"{name} must be a"):
        ct.report([0.2, 0.8], [0, 1], **{name: np.empty(0)})


@pytest.mark.cases(1)
@pytest.mark.parametrize("m", [2, 3])
def test_report_of_equal_predictions_in_small_groups(m):
    """Their AUC has no spread, and a group of one row none of its score."""
    P, groups = np.full((6, m), 1 / m), np.arange(6) % 5
    with pytest.warns(ct.DegenerateDataWarning):
        page = ct.report(P, np.arange(6) % m, by=groups, n_resamples=19, rng=1)
    assert "0.5" in page.to_markdown()


@pytest.mark.full
def test_worst_place_of_the_answer_is_not_denied_where_round_ranges_show_nothing(make):
    """Ranges that the labels choose may stand out where those of round numbers do not."""
    rng = np.random.default_rng(11)
    p = rng.beta(2, 5, 600)
    y = (rng.random(600) < np.clip(1.25 * p, 0, 1)).astype(int)
    page = make(p, y, test="combined", n_resamples=99)
    assert any(one.is_clear for one in page.verdict().places)
    text = page.to_html()
    assert "The worst place is named in the answer. Of classes, and of ranges" in text
    assert "spread over many" not in text
    assert "29.7\xa0% predicted" in text  # no line ends between them


@pytest.mark.full
def test_accuracy_of_rows_that_are_repeated_has_the_interval_of_one_copy(make, three_classes):
    """The copies of a row are a cluster."""
    probs, labels = (
        np.repeat(one, 4, axis=0) for one in (three_classes.probs, three_classes.labels)
    )
    pages = make(three_classes), make(probs, labels, cluster=np.arange(400) // 4)
    once, again = ({one.name: one for one in page.content.estimates}["accuracy"] for page in pages)
    assert (again.low, again.high) == pytest.approx((once.low, once.high), abs=0.005)


def test_page_of_censored_times_names_the_event_and_says_its_note_once(make):
    rng = np.random.default_rng(1)
    risk, time = rng.uniform(0.1, 0.6, 120), rng.exponential(6, 120)
    patients = ct.SurvivalPredictions(risk, time, rng.random(120) < 0.7, horizon=5)
    text = make(patients, test="ks", meta={"event": "death"}).to_markdown()
    assert "P(death by 5)" in text
    assert "event by 5" not in text
    assert text.count("count as") == 1
