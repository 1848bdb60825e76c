"""Measures of one rating grade: the number of defaults, its PD, notes and degenerate grades."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures.grades.grade import Binomial, Jeffreys, Normal, Vasicek

MEASURES = [Binomial(), Jeffreys(), Normal(), Vasicek()]
OPTIONS = {"vasicek": {"correlation": 0.01}, "binomial": {}, "jeffreys": {}, "normal": {}}
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=[m.key for m in MEASURES])


def grade(pd, n, defaults, **options):
    return Predictions(np.full(n, pd), (np.arange(n) < defaults).astype(int), **options)


@every_measure
def test_value_is_the_number_of_defaults(measure):
    bound = measure.bind(grade(0.1, 40, 6))
    assert bound.value() == 6
    assert bound.estimate(6) == 0.15
    np.testing.assert_array_equal(bound.values(np.eye(3, 40, dtype=np.uint8)), [1, 1, 1])


@every_measure
def test_weights_have_no_formula(measure):
    """The message names the test that takes them."""
    with pytest.raises(NotApplicable, match="takes no weights; use the test 'binomial' and null"):
        calibration_test(grade(0.1, 9, 1, sample_weight=np.ones(9)), test=measure)


@every_measure
def test_note_on_predictions_that_differ_names_no_null_without_meaning(measure):
    """Correlated defaults are not those of labels that are redrawn one by one."""
    mixed = Predictions([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    note = calibration_test(mixed, test=measure).notes[0]
    assert ("null='exact' takes them as they are" in note) == ("exact" in measure.nulls)


def test_pd_of_equal_predictions_is_that_prediction():
    assert Binomial().closed_form(grade(0.1, 1000, 100)).parameters["PD"] == 0.1


@pytest.mark.parametrize("measure", [Binomial(), Jeffreys(), Vasicek()])
@pytest.mark.parametrize(("pd", "defaults", "possible"), [(0.0, 0, True), (0.0, 1, False)])
def test_certain_grade_has_a_defined_answer(measure, pd, defaults, possible):
    """With PD 0 a default is impossible: p is 1, or the least positive number, with a warning."""
    with pytest.warns(DegenerateDataWarning, match="PD of the grade is 0, so that its number"):
        result = calibration_test(grade(pd, 8, defaults), test=measure, null="closed-form")
    assert result.pvalue == 1.0 if possible else 0 < result.pvalue < 1e-300


def test_normal_limit_needs_a_variance():
    """The message names the test that does not."""
    with pytest.raises(NotApplicable, match="between 0 and 1, and it is 0; use the test 'binomial"):
        Normal().limit(grade(0.0, 8, 0))


@every_measure
def test_one_sided_test_says_its_side(measure):
    """The print names the alternative, and what the test does not look for where that is rare."""
    few = calibration_test(grade(0.2, 400, 30), test=measure.key, **OPTIONS[measure.key])
    assert few.pvalue > 0.9
    assert "alternative hypothesis: the PD is too low: more defaults than predicted" in str(few)
    assert any("fewer defaults than predicted" in note for note in few.notes)
    many = calibration_test(grade(0.2, 400, 120), test=measure.key, **OPTIONS[measure.key])
    assert not any("fewer defaults" in note for note in many.notes)


@every_measure
def test_two_sided_test_has_no_side(measure):
    both = calibration_test(grade(0.2, 400, 60), test=measure.key, alternative="two-sided")
    assert both.side == ""
    assert "alternative hypothesis: the predictions are not calibrated" in str(both)
    assert not any("fewer defaults" in note for note in both.notes)


# ---- the normal test of a rating grade ---------------------------------------------------------


@pytest.mark.parametrize(("pd", "kind"), [(0.001, "defaults"), (0.999, "survivors")])
def test_sparse_grade_is_noted(pd, kind):
    """Below ten expected defaults, or survivors, the limit is rough."""
    result = calibration_test(grade(pd, 100, 3), test="normal", null="asymptotic")
    assert f"fewer than ten {kind} are expected, 0.1: " in result.notes[0]


# ---- the test of a rating grade with correlated defaults ---------------------------------------


@pytest.mark.parametrize(
    ("asset_class", "pd", "expected"),
    [
        ("corporate", 0.01, 0.12 + 0.12 * np.exp(-0.5)),
        ("corporate", 0.0, 0.24),
        ("corporate", 1.0, 0.12),
        ("retail", 0.02, 0.03 + 0.13 * np.exp(-0.7)),
        ("mortgage", 0.3, 0.15),
        ("revolving", 0.3, 0.04),
    ],
)
def test_correlation_is_basels(asset_class, pd, expected):
    """Paragraphs 272 and 328 to 330, where exp(-50) is nothing."""
    assert Vasicek(correlation=asset_class).correlation_at(pd) == pytest.approx(expected, rel=1e-12)


def test_correlation_makes_many_defaults_likelier():
    """The p-value grows with the correlation, and without one is binomial."""
    data = grade(0.02, 500, 20)
    found = [Vasicek(correlation=c).closed_form(data).pvalue for c in (0, 0.01, 0.05, 0.2)]
    assert found == sorted(found)
    assert found[0] == Binomial().closed_form(data).pvalue


@pytest.mark.parametrize("correlation", [-0.1, 1.0, "bank", True, None])
def test_correlation_must_be_a_number_or_an_asset_class(correlation):
    with pytest.raises(InvalidInput, match=r"must lie in \[0, 1\) or be an asset class"):
        Vasicek(correlation=correlation)


@pytest.mark.parametrize(("pd", "correlation"), [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0)])
def test_limit_needs_a_factor(pd, correlation):
    """Without one, or with a certain grade, the closed form answers."""
    with pytest.raises(NotApplicable, match=r"positive correlation, .* use null='closed-form'"):
        Vasicek(correlation=correlation).limit(grade(pd, 10, 0))


def test_limit_of_an_infinite_grade_says_where_it_is_rough():
    """Of 8 obligors with a PD of 30 % it rejects 11 % of calibrated grades at 1 %."""
    text = "fewer than ten defaults or survivors are expected, 2.4: the limit of an infinite"
    few, many = (
        calibration_test(grade(0.3, n, 3), test="vasicek", null="asymptotic") for n in (8, 80)
    )
    assert few.notes[0].startswith(text)
    assert not any(note.startswith("fewer") for note in many.notes)


@pytest.mark.parametrize("defaults", [0, 40])
def test_rate_that_no_infinite_grade_has_is_tested_in_closed_form(defaults):
    """No default of 40 obligors with a PD of 1 % is usual; the limit would give it p = 0."""
    data, measure = grade(0.01, 40, defaults), Vasicek(alternative="two-sided")
    nulls = ("asymptotic", "closed-form")
    limit, own = (calibration_test(data, test=measure, null=null) for null in nulls)
    assert limit.pvalue == own.pvalue
    assert f"no default rate of {defaults / 40:g}: the p-value is that of n = 40" in limit.notes[0]
