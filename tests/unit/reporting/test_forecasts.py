"""The report on forecasts: coverage, quantiles, scores and pictures; nothing of classes."""

import json

import numpy as np
import pytest

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable


@pytest.fixture(scope="module")
def forecasts():
    """Return forecasts that are too sure, in two groups."""
    rng = np.random.default_rng(1)
    mean = rng.normal(size=80)
    y = mean + 1.6 * rng.normal(size=80)
    return ct.Forecasts(y, mean=mean, scale=1.0, groups=["a", "b"] * 40)


@pytest.fixture(scope="module")
def page(make, forecasts):
    return make(forecasts, by=True)


def test_report_of_forecasts_has_what_belongs_to_them(page):
    """The answer with the histogram, coverage, scores, groups; no diagram of classes."""
    keys = [section.key for section in page.sections]
    assert keys[0] == "answer"
    assert {"estimates", "scores", "groups", "tests", "methods"} <= set(keys)
    assert not {"where", "diagrams"} & set(keys)
    assert [figure.title for figure in page.figures] == [
        "PIT histogram",
        "Coverage of central intervals",
        "Quantile reliability",
        "Spread against error",
    ]
    text = page.to_markdown()
    assert "Are the forecasts calibrated?" in text
    assert "Too sure: intervals of 90 % hold" in text
    for word in ("AUC", "Reliability diagram", "confusion"):
        assert word not in text
    assert page.to_html().count("<svg") > 4


def test_number_of_the_component_that_is_farthest_out_has_its_title(make):
    """A chi^2 alone says nothing."""
    y = np.repeat([-1.0, 1.0], 50) + 0.2 * np.random.default_rng(1).normal(size=100)
    page = make(ct.Forecasts(y, mean=0.0, scale=1.0), test="combined")
    assert "cosines of the uniform numbers: chi^2 = " in page.to_markdown()


def test_coverage_and_scores_are_those_of_the_rows(page, forecasts):
    """Shares are counted by NumPy; the score is that of the measure, beyond what is expected."""
    z = (forecasts.outcomes - forecasts.mean) / forecasts.scale
    rows = {row.name: row for row in page.content.estimates}
    cover = rows["central interval of 90 %"]
    assert cover.value == pytest.approx(np.mean(np.abs(z) < 1.6448536269514722))
    assert (cover.ideal, cover.low < cover.value < cover.high) == (pytest.approx(0.9), True)
    below = rows["outcomes at or below the quantile of 75 %"]
    assert below.value == pytest.approx(np.mean(z < 0.6744897501960817))
    crps = page.content.scores.scores[0]
    assert crps.value == pytest.approx(ct.measures.crps(forecasts))
    assert crps.low < crps.expected < crps.high < crps.value
    assert json.loads(page.to_json())["profile"] == "distribution"


@pytest.mark.full
def test_range_of_a_score_by_clusters_is_that_of_redrawn_outcomes(make, forecasts):
    """The null of clusters has a z in place of the score."""
    alone = make(forecasts, test="crps")
    found = make(forecasts, test="crps", cluster=np.arange(80) // 2).content.scores.scores
    assert [one.value for one in found] == [one.value for one in alone.content.scores.scores]
    assert all(0.0 < one.low < one.expected < one.high for one in found)


@pytest.mark.full
def test_levels_of_few_members_are_one_event(make):
    """Of ten members the intervals of 80, 90 and 95 % are the same: they stand in one row."""
    x = np.random.default_rng(2).normal(size=(60, 11))
    page = make(ct.Forecasts(x[:, 0], members=x[:, 1:]), lens="interval", test="ks")
    assert [round(row.ideal, 4) for row in page.content.estimates] == [0.4545, 0.8182]


def test_single_members_have_no_intervals(make):
    """The size that is stated is how often the outcome is below."""
    x = np.random.default_rng(2).normal(size=(60, 2))
    page = make(ct.Forecasts(x[:, 0], members=x[:, 1:]))
    assert [row.ideal for row in page.content.estimates] == [0.5]
    share = 100 * np.mean(x[:, 0] < x[:, 1])
    words = f"P(at or below quantile 0.5) is 50.0 % on average, {share:.1f} % observed"
    assert words in " ".join(page.to_markdown().split())


def test_what_is_of_classes_is_refused(make, forecasts):
    """Each by its name."""
    for name, value in (("tolerance", 0.1), ("grades", [0.1])):
        with pytest.raises(NotApplicable, match=f"{name}= of a report is of predicted"):
            make(forecasts, **{name: value})
    with pytest.raises(InvalidInput, match="profile must be 'distribution'; got 'clinical'"):
        make(forecasts, profile="clinical")


@pytest.mark.full
def test_maps_are_tested_on_rows_that_were_held_out(make, forecasts):
    """By the CRPS, as the verdict does; maps of classes are none of forecasts."""
    page = make(forecasts, recalibrate=["beta-pit", ct.calibrators.VarianceScaling()])
    found = page.content.comparison
    assert [row.key for row in found.rows] == ["identity", "beta-pit", "variance-scaling"]
    assert list(found.rows[0].scores) == ["CRPS", "log score"]
    assert found.rows[0].scores["CRPS"] == pytest.approx(ct.measures.crps(forecasts), rel=1e-9)
    assert "difference: of the CRPS" in page.to_markdown()
    with pytest.raises(InvalidInput, match="must be a calibrator of forecasts; got a Temperature"):
        make(forecasts, recalibrate="temperature")
