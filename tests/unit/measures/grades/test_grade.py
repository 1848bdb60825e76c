"""Measures of one rating grade: the number of defaults, its PD, notes and degenerate grades."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest import test_master_scale as master_scale_test
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


def test_weights_count_an_obligor_several_times():
    """In the value, in units of the mean weight, the PD and the default rate."""
    bound = Binomial().bind(Predictions([0.1, 0.4], [1, 0], sample_weight=[3, 1]))
    assert (bound.value(), bound.estimate(1.5), bound.parameters["PD"]) == (
        1.5,
        0.75,
        pytest.approx(0.175),
    )


@every_measure
def test_weights_have_no_formula(measure):
    """The message names the test that takes them."""
    with pytest.raises(NotApplicable, match="takes no weights; use the test 'binomial' and null"):
        calibration_test(grade(0.1, 9, 1, sample_weight=np.ones(9)), test=measure)


@every_measure
def test_unknown_alternative_is_refused(measure):
    """Options are checked where they are given."""
    with pytest.raises(InvalidInput, match="alternative must be one of 'greater', 'two-sided'"):
        type(measure)(alternative="less")


def test_predictions_that_differ_within_a_grade_are_noted():
    """PD is their mean, and the exact null takes them as they are."""
    mixed = Predictions([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    result = calibration_test(mixed, test="binomial", null="closed-form")
    assert "predictions of the grade differ, 0.1 to 0.4" in result.notes[0]
    assert result.parameters["PD"] == pytest.approx(0.25)
    assert calibration_test(grade(0.1, 5, 1), test="binomial", null="closed-form").notes == ()


@every_measure
def test_note_on_predictions_that_differ_names_no_null_without_meaning(measure):
    """Correlated defaults are not those of labels that are redrawn one by one."""
    mixed = Predictions([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    note = calibration_test(mixed, test=measure).notes[0]
    assert ("null='exact' takes them as they are" in note) == ("exact" in measure.nulls)


@pytest.mark.parametrize("key", ["binomial", "jeffreys", "normal", "vasicek"])
def test_default_null_is_the_law_that_the_test_is_named_after(key):
    """As in a master scale, to the last bit; a redrawn p-value has another law."""
    result = calibration_test(grade(0.03, 100, 7), test=key)
    (row,) = master_scale_test([0.03], [7], [100], test=key, portfolio=())
    assert (result.null, result.pvalue) == (row.null, row.pvalue)


@pytest.mark.parametrize("alternative", ["greater", "two-sided"])
def test_exact_null_says_which_alternative_it_takes(alternative):
    """One side is all that a p-value near 1 is about."""
    options = {"null": "exact", "alternative": alternative, "n_resamples": 19, "rng": 1}
    result = calibration_test(grade(0.1, 40, 0), test="binomial", **options)
    assert f"alternative:  {alternative}" in str(result)


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
