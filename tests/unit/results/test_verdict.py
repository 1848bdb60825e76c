"""Verdicts: what they say belongs to the results, and nothing contradicts itself."""

import io
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import kstest

import caltest as ct
from caltest.errors import NotApplicable, SuspectInputWarning
from caltest.results import wording
from caltest.results.verdict import detectable

CALIBRATED = ct.datasets.generative_model("M1", n=300, m=3, rng=1)
WRONG = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
WARDS = np.repeat(["a", "b", "c"], 100)


@pytest.mark.parametrize("data", [CALIBRATED, WRONG], ids=["calibrated", "wrong"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"level": 0.05},
        {"test": "skce"},
        {"by": WARDS},
        {"lens": "classwise"},
        {"segments": {"ward": WARDS}},
    ],
    ids=str,
)
def test_first_line_of_a_print_is_that_of_the_verdict(data, options):
    result = ct.test_calibration(data, n_resamples=99, rng=1, **options)
    headline = result.verdict().headline
    printed = " ".join(str(result).split("\n\n")[0].split())
    assert printed == headline
    assert headline in result.to_markdown().splitlines()[0].replace("\\", "")
    assert result.to_html().splitlines()[1].startswith("<p><strong>")


@pytest.mark.parametrize("data", [CALIBRATED, WRONG], ids=["calibrated", "wrong"])
def test_places_are_named_only_where_something_is_rejected(data):
    """And what helps; what could have been found only where nothing is."""
    verdict = ct.test_calibration(data, n_resamples=99, rng=1).verdict()
    kinds = {kind for kind, _ in verdict.sentences}
    rejected = verdict.pvalue <= 0.05
    assert bool(verdict.places) == rejected == ("helps" in kinds) == ("detectable" not in kinds)
    assert all(place.is_clear and place.pvalue <= 0.05 for place in verdict.places)


def test_rows_are_called_what_they_are():
    """Two families of three classes are six lenses; of groups the accuracy is compared."""
    options = {"test": "brier", "n_resamples": 19, "rng": 1}
    both = ct.test_calibration(CALIBRATED, lens=["classwise", "top-label"], **options)
    alone = ct.test_calibration(CALIBRATED, lens="classwise", **options)
    assert (both.noun, alone.noun) == ("lenses", "classes")
    groups = ct.test_calibration(CALIBRATED, by=WARDS, **options)
    assert "is not ruled out for " in " ".join(str(groups).split())


def test_groups_count_in_the_headline():
    """Two groups that are off in opposite directions, calibrated together."""
    rng = np.random.default_rng(1)
    p, group = rng.beta(2, 3, 600), np.repeat([-1, 1], 300)
    y = rng.random(600) < np.clip(p + 0.12 * group, 0, 1)
    verdict = ct.verdict(p, y.astype(int), by=group, rng=1)
    assert verdict.answer == "strong evidence"
    assert {place.kind for place in verdict.places} == {"group"}
    gaps = {place.name: place.gap for place in verdict.places}
    assert gaps["-1"] < 0 < gaps["1"]


def test_pvalues_of_several_questions_are_adjusted():
    """By Holm's method: twice that of the groups."""
    whole = ct.test_calibration(WRONG, n_resamples=99, rng=1)
    verdict = ct.verdict(WRONG, by=WARDS, n_resamples=99, rng=1)
    assert whole.pvalue == 0.01
    assert verdict.pvalue == 0.02


def test_recalibration_is_judged_by_the_same_test_out_of_fold():
    """The sentence has the p-value of `compare_calibrators`."""
    options = {"n_resamples": 99, "rng": 1}
    verdict = ct.verdict(WRONG, recalibrate=["temperature", "vector"], **options)
    compared = ct.compare_calibrators(WRONG, calibrators=["temperature", "vector"], **options)
    told = dict(verdict.sentences)["helps"]
    (row,) = [row for row in compared.rows if told.startswith(f"{row.name}: ")]
    assert f"(p {wording.short(row.tests[0].pvalue)})" in told


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 4])
def test_detectable_error_has_the_power_that_is_said(m):
    """By `caltest.power`, which draws the predictions anew, within 14 points."""
    data = ct.datasets.generative_model("M1", n=300, m=m, rng=2)
    result = ct.test_calibration(data, rng=1)
    (found,) = [one for one in detectable(result) if one.kind in {"temperature", "slope"}]
    truth = {"slope": found.size} if m == 2 else {"temperature": found.size}
    power = ct.power(data, n=300, n_datasets=90, rng=3, **truth).power[0]
    assert power == pytest.approx(0.8, abs=0.14)


def test_too_few_resamples_for_a_level_show_nothing():
    """The least p-value of 99, two-sided, is 0.02: nothing is rejected at 0.01."""
    options = {"test": "brier", "n_resamples": 99, "rng": 1}
    assert detectable(ct.test_calibration(CALIBRATED, level=0.01, **options)) == ()
    assert detectable(ct.test_calibration(CALIBRATED, level=0.02, **options))


def test_of_one_prediction_a_shift_is_all_that_can_be_detected():
    labels = np.arange(100) % 10 < 3
    found = detectable(ct.test_calibration(np.full(100, 0.3), labels, n_resamples=199, rng=1))
    assert [one.kind for one in found] == ["gap"]


@pytest.mark.full
@pytest.mark.parametrize("weighted", [False, True])
def test_detectable_errors_of_counted_rows_are_those_of_the_rows(monkeypatch, weighted):
    """Numbers of events of cells are drawn in place of labels, from what is true of these."""
    rng = np.random.default_rng(5)
    p = rng.beta(0.3, 2.0, 100_100)
    y = rng.random(p.size) < p
    weight = rng.lognormal(size=p.size) if weighted else None
    result = ct.test_calibration(p, y, sample_weight=weight, n_resamples=199, level=0.05, rng=1)
    assert "cells" in result.parameters
    counted = detectable(result)
    measure = type(result.evidence.measure)
    monkeypatch.setattr(measure, "bind_counted", lambda *_: None)
    rows = detectable(result)
    assert [one.kind for one in counted] == ["gap", "slope"]
    for one, other in zip(counted, rows, strict=True):
        assert one.gap == pytest.approx(other.gap, rel=0.15)


def test_detectable_error_is_not_known_without_redrawn_labels():
    """Of an asymptotic null, and of a result without predictions."""
    asymptotic = ct.test_calibration(CALIBRATED, test="skce-linear", null="asymptotic", rng=1)
    with pytest.raises(ct.NotApplicable, match="redrawn labels"):
        detectable(asymptotic)
    read = ct.HTest.from_dict(ct.test_calibration(CALIBRATED, n_resamples=99, rng=1).to_dict())
    with pytest.raises(ct.NotApplicable, match="needs the predictions"):
        detectable(read)
    assert "detectable" not in dict(read.verdict().sentences)


def test_a_group_that_is_not_within_the_tolerance_leads():
    """That all groups are within a tolerance is shown where each is."""
    probs = np.random.default_rng(1).beta(2, 5, 1500)
    labels = (np.random.default_rng(2).random(1500) < probs).astype(int)
    groups = np.repeat(["large", "small"], [1470, 30])
    asked = {"test": "ks", "tolerance": 0.1, "equivalence": True, "level": 0.05, "rng": 1}
    whole, parts = (ct.verdict(probs, labels, by=by, **asked) for by in (None, groups))
    assert whole.answer == "within tolerance"
    assert parts.answer == "not shown within tolerance"
    assert "shown in 1 of 2 groups. Farthest off is small." in parts.headline
    table = ct.test_calibration(probs, labels, by=groups, **asked)
    assert parts.pvalue == table.pvalues.max()
    assert not parts.places


@pytest.mark.parametrize(
    ("gaps", "each"),
    [((0.2, -0.2), True), ((0.2, 0.0), True), ((0.2, 0.2), False)],
    ids=["opposite", "one", "common"],
)
def test_groups_that_differ_have_a_map_each(gaps, each):
    """One map does not mend what is wrong in a group alone, though it may gain over all rows."""
    rng = np.random.default_rng(3)
    probs, groups = rng.uniform(0.3, 0.7, 1000), np.repeat(["a", "b"], 500)
    labels = (rng.random(1000) < probs + np.repeat(gaps, 500)).astype(int)
    helps = dict(ct.verdict(probs, labels, by=groups, rng=1).sentences)["helps"]
    assert ("of each group named" in helps) is each


def test_a_group_of_few_rows_is_rejected_beside_one_of_many():
    """Its map cannot be compared, that of all rows can."""
    probs = np.r_[np.linspace(0.05, 0.3, 60), np.full(9, 0.5)]
    found = ct.verdict(probs, np.ones(69, int), by=["a"] * 60 + ["b"] * 9, rng=1)
    assert dict(found.sentences)["helps"].startswith("no map can be recommended")


def test_segments_have_no_tolerance_and_no_clusters():
    data = ct.datasets.generative_model("M1", n=60, m=2, rng=1)
    segments = {"s": ["x", "y"] * 30}
    with pytest.raises(ct.errors.InvalidInput, match="tolerance has no effect on segments"):
        ct.verdict(data, test="ks", tolerance=0.1, segments=segments)
    data, clusters = tied()
    segments = {"ward": clusters % 3}
    with pytest.raises(NotApplicable, match="segments take rows as independent"):
        ct.verdict(data.probs, data.labels, segments=segments, cluster=clusters)


def test_segments_count_rows_by_their_weights():
    rng = np.random.default_rng(1)
    p, site, weight = rng.random(400), rng.choice(["a", "b"], 400), rng.integers(0, 4, 400)
    y = rng.random(400) < np.where(site == "a", p**3, p)
    options = {"segments": {"site": site}, "n_resamples": 99, "rng": 1}
    known = ct.Predictions(p, y, sample_weight=weight)
    one, other = ct.verdict(p, y, sample_weight=weight, **options), ct.verdict(known, **options)
    assert str(one) == str(other)
    assert "worst: site = a" in str(one)


@pytest.mark.parametrize("m", [2, 3])
def test_tolerance_is_in_points(m):
    """Without a test it is that of a report: KS, of several classes of the confidence."""
    data = ct.datasets.generative_model("M1", n=300, m=m, rng=1)
    settings = {"tolerance": 0.05, "equivalence": True, "n_resamples": 99, "rng": 1}
    lens = "strong" if m == 2 else "confidence"
    same = ct.test_calibration(None, data, test="ks", lens=lens, **settings).verdict()
    assert ct.verdict(data, **settings).headline == same.headline
    assert "SKCE" in ct.verdict(data, test="skce", **settings).headline


def test_groups_that_are_numbers_are_called_groups():
    """A sentence says "group 1", while the place keeps the name that was given."""
    rng = np.random.default_rng(0)
    probs, groups = rng.random(600), np.arange(600) % 3
    labels = (rng.random(600) < np.clip(probs + 0.2 * (groups == 1), 0, 1)).astype(int)
    table = ct.test_calibration(probs, labels, by=groups, test="ece", n_resamples=99, rng=0)
    found = table.verdict()
    assert "Worst is group 1. " in found.headline
    assert dict(found.sentences)["where"].startswith(
        "P(1) in group 1, at least 9.7 points too low: "
    )
    assert [place.name for place in found.places] == ["1"]
    weak = replace(table, together=0.07).verdict()  # names the place in the same words
    assert (weak.answer, weak.places) == ("weak evidence", ())
    assert dict(weak.sentences)["where"] == dict(found.sentences)["where"]


def tied(rows=300):
    """Rows in clusters of 10, and a column of segments that they share."""
    rng = np.random.default_rng(1)
    clusters, p = np.arange(rows) // 10, rng.uniform(0.1, 0.9, rows)
    return ct.Predictions(p, (rng.random(rows) < p).astype(int)), clusters


def test_verdict_takes_weights_of_arrays():
    """As `test_calibration` does; a message said that they have no effect."""
    data, _ = tied()
    p, weight = data.probs[:, 1], np.linspace(0.5, 1.5, data.n)
    own = ct.Predictions(p, data.labels, sample_weight=weight)
    options = {"n_resamples": 99, "rng": 1}
    told = ct.verdict(p, data.labels, sample_weight=weight, **options)
    assert told.headline == ct.verdict(own, **options).headline
    half = ct.verdict(p * 0.5, data.labels, sample_weight=weight, **options)
    assert f"{data.labels @ weight:,.1f} observed by weight;" in str(half)


def test_further_segments_are_named_with_a_clear_interval():
    """The first leads; of the others each interval leaves out 0."""
    rng = np.random.default_rng(1)
    ward, p = np.arange(1200) % 4, rng.beta(1, 2, 1200)
    y = (rng.random(1200) < p + 0.06 * (1 - p)).astype(int)
    found = ct.test_calibration(p, y, segments={"ward": ward}, n_resamples=199, rng=1)
    assert [row.definition for row in found if row.adjusted <= 0.05] == ["all rows", "ward = 0"]
    assert [place.name for place in found.verdict().places] == ["all rows"]


def test_slope_below_zero_is_the_wrong_way_round():
    """It is not said to be too extreme."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.05, 0.95, 300)
    with pytest.warns(SuspectInputWarning, match="fit the labels far better"):
        told = ct.verdict(p, (rng.random(300) < 1 - p).astype(int), n_resamples=99, rng=1)
    assert dict(told.sentences)["events"].endswith(": the wrong way round.")


def test_remedy_for_rows_with_weights_is_fitted_with_them():
    """The line of code that is printed gives the number that is printed."""
    rng = np.random.default_rng(1)
    p, weight = rng.beta(2, 3, 300), rng.integers(1, 9, 300)
    y = (rng.random(300) < np.where(weight > 4, p**3, p)).astype(int)
    helps = dict(ct.verdict(p, y, sample_weight=weight, n_resamples=99, rng=1).card)["helps"]
    assert "PlattScaling(slope=1.0).fit(probs, y, sample_weight)" in helps
    for used, is_printed in ((weight, True), (None, False)):
        fitted = ct.calibrators.PlattScaling(slope=1.0).fit(p, y, used)
        shift = next(one.value for one in fitted.coefficients() if one.name == "intercept")
        assert (f"intercept by {abs(shift):.2f} on" in helps) is is_printed


def test_place_in_a_group_is_not_said_to_be_of_all_rows():
    """Predictions that are all equal, and wrong in one group of two."""
    rng = np.random.default_rng(1)
    labels = np.concatenate([rng.choice(3, 200, p=p) for p in ([0.5, 0.3, 0.2], [0.5, 0.1, 0.4])])
    asked = {"by": np.repeat(["a", "b"], 200), "n_resamples": 99, "rng": 1}
    told = ct.verdict(np.tile([0.5, 0.3, 0.2], (400, 1)), labels, **asked)
    places = [place.name for place in told.places]
    assert places == ["P(1) of all rows", "P(2) of all rows", "b, P(1)"]


def test_card_has_five_lines_whatever_is_asked():
    """Groups and segments: the worst place has its numbers, and those are of its rows."""
    rng = np.random.default_rng(1)
    p, ward = rng.beta(2, 3, 1200), np.arange(1200) % 12
    y = (rng.random(1200) < np.clip(p + np.where(ward == 3, 0.4, -0.03), 0, 1)).astype(int)
    told = ct.verdict(p, y, by=ward, segments={"half": ward % 2}, n_resamples=199, rng=1)
    kinds = [kind for kind, _ in told.card]
    assert kinds == list(dict.fromkeys(kinds))
    assert set(kinds) <= {"answer", "size", "where", "helps", "detectable"}
    assert told.card == told.sentences[: len(kinds)]
    worst, rows = dict(told.card)["where"], ward == 3
    numbers = f"{100 * p[rows].mean():.1f} % predicted, {100 * y[rows].mean():.1f} % observed"
    assert worst.startswith("P(1) in group 3, at least")
    assert f"{numbers} (n = 100, gap {100 * (y - p)[rows].mean():.1f} points" in worst
    printed = " ".join(str(told).split())
    assert printed.index("worst: ") < printed.index("data: ") < printed.index("segments: ")


def test_worst_place_is_worst_of_all_parts():
    """Where all rows lead the answer, a group that is farther off is the worst place."""
    rng = np.random.default_rng(7)
    p, group = rng.beta(2, 4, 1000), np.arange(1000) % 2
    y = (rng.random(1000) < np.clip(p + np.where(group == 1, 0.3, -0.1), 0, 1)).astype(int)
    told = ct.verdict(p, y, by=group, n_resamples=199, rng=1)
    assert dict(told.card)["answer"] == "Strong evidence against calibration (p = 0.01)."
    assert dict(told.card)["where"].startswith("P(1) in group 1, at least")
    assert "groups" in dict(told.sentences)


@pytest.mark.full
def test_verdict_shows_its_diagram_beside_its_sentences():
    """A notebook gets one SVG, whatever a class is called; JSON keeps no rows to draw."""
    probs = np.linspace(0.05, 0.95, 200)
    labels = np.where(probs > 0.7, "<script>", "a")
    verdict = ct.test_calibration(probs, labels, classes=["a", "<script>"], rng=1).verdict()
    assert verdict._repr_html_().count("<svg") == 1
    assert "<script" not in verdict._repr_html_()
    axes = verdict.plot()
    assert "differs beyond chance" in axes.get_legend_handles_labels()[1]
    axes.figure.savefig(io.BytesIO())
    drawn, paper = axes.figure.get_tightbbox(), axes.figure.get_size_inches()
    assert (drawn.min >= 0).all()
    assert (drawn.max <= paper).all()
    read = type(verdict).from_dict(verdict.to_dict())
    assert read == verdict
    assert read._repr_html_() == verdict.to_html()
    with pytest.raises(ct.NotApplicable, match="holds no rows to draw"):
        read.plot()


@pytest.mark.parametrize(("level", "found"), [(0.05, True), (0.0001, False)])
def test_verdict_is_rejected_at_its_level(level, found):
    """As that of a test; without a level it asks for one."""
    result = ct.test_calibration(np.full(200, 0.2), np.ones(200, int), test="brier", rng=1)
    assert replace(result, level=level).verdict().rejected is found
    with pytest.raises(ct.InvalidInput, match="rejected needs a significance level"):
        _ = result.verdict().rejected


@pytest.mark.full
def test_detectable_errors_of_forecasts_have_the_power_that_is_said():
    """Kolmogorov's test of SciPy finds the spread and the shift in about 80 % of data sets."""
    rng, n = np.random.default_rng(3), 100
    forecasts = ct.Forecasts(rng.normal(size=n), mean=np.zeros(n), scale=1.0)
    result = ct.test_calibration(forecasts, test="pit-ks", rng=1)
    spread, shift = detectable(result)
    assert (spread.kind, shift.kind) == ("spread", "shift")
    assert shift.gap == pytest.approx(shift.size)
    for s, b in ((spread.size, 0.0), (1.0, shift.size)):
        drawn = ndtr(s * rng.normal(size=(300, n)) + b)
        found = [kstest(row, "uniform").pvalue <= 0.05 for row in drawn]
        assert np.mean(found) == pytest.approx(0.8, abs=0.12)
    told = dict(result.verdict().sentences)["detectable"]
    assert f"scatter {spread.size:.2f} times as widely as predicted" in told
    assert f"too low by {shift.size:.2f} predicted standard deviations" in told


def test_one_group_alone_is_called_by_its_name():
    """Not "in 1 of 1 tests", and not by the key of the test."""
    p = np.random.default_rng(1).random(100)
    told = ct.test_calibration(p, (p > 0.8).astype(int), by=["u"] * 100, n_resamples=99, rng=1)
    text = str(told.verdict())
    assert text.startswith("Strong evidence against calibration (p = 0.01). P(1) too high")
    assert "worst: u, too high" in text


def test_one_small_group_that_is_rejected_is_not_too_few_rows():
    """Of groups in which 10 points would stay unseen, none of which is rejected, it is."""
    p = np.linspace(0.2, 0.8, 40)
    table = ct.test_calibration(p, p > 0.5, by=[0, 1] * 20, level=0.05, n_resamples=19, rng=1)
    calm = replace(table, adjusted=[0.2, 0.9], together=0.3)
    words = "Calibration is not rejected (p = 0.3, level 0.05)"
    few = f"{words[:-1]}; too few rows to tell, n = 40) in any of 2 groups."
    assert wording.headline_of_table(calm, 0.3) == few
    one = replace(calm, adjusted=[0.03, 0.9])
    assert wording.headline_of_table(one, 0.3) == (
        f"{words} for all together; the adjusted p-value is at most 0.05 in 1 of 2 groups."
    )
    assert (calm.verdict().answer, one.verdict().answer) == ("too few rows", "not rejected")


def test_evidence_that_names_nothing_says_so():
    """Ten classes of which the surest predictions are wrong: no place, class or direction is."""
    rng = np.random.default_rng([7, 15, 0, 1])
    scores = np.exp(1.5 * rng.normal(size=(3000, 10)))
    probs = scores / scores.sum(axis=1, keepdims=True)
    true = np.where(probs.max(axis=1, keepdims=True) > 0.8, 0.8 * probs + 0.02, probs)
    labels = (true.cumsum(axis=1)[:, :-1] < rng.random((3000, 1))).sum(axis=1)
    verdict = ct.test_calibration(probs, labels, rng=0, n_resamples=499).verdict()
    assert (verdict.answer, verdict.places) == ("strong evidence", ())
    told = "no range of predictions, class or direction is clear by itself."
    assert dict(verdict.sentences)["where"] == told


@pytest.mark.parametrize("lens", ["largest-2", "strong"])
def test_the_rest_is_not_what_a_model_predicts(lens):
    """Most rows have a rest above the first rank: too low there, where the model is too sure."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(1500, 100))
    true, probs = (np.exp(scale * scores) for scale in (1.0, 1.25))
    true, probs = (one / one.sum(axis=1, keepdims=True) for one in (true, probs))
    labels = (true.cumsum(axis=1)[:, :-1] < rng.random((1500, 1))).sum(axis=1)
    options = {"classes": range(100), "lens": lens, "n_resamples": 199, "rng": 1}
    verdict = ct.test_calibration(probs, labels, **options).verdict()
    assert verdict.size.predicted == pytest.approx(probs.max(axis=1).mean(), abs=1e-12)
    assert verdict.size.observed == np.mean(labels == probs.argmax(axis=1))
    assert verdict.headline.startswith("Strong evidence against calibration (p = 0.005). Overconf")
    assert not any("the confidence" in place.name for place in verdict.places)
    calm = ct.test_calibration(probs, ct.Predictions(probs, labels).simulate(1).labels, **options)
    assert ("detectable" in dict(calm.verdict().sentences)) == (lens == "strong")
