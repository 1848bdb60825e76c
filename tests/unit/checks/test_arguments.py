"""Checks of single arguments: what is taken, and in which form."""

import math

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput
from caltest.calibrators.gp.calibrator import check_scores
from caltest.calibrators.gp.fit import check_interval
from caltest.calibrators.spline.calibrator import check_spline_mode
from caltest.checks import check_design, check_light_bounds, check_optional_integer, check_tolerance
from caltest.htests.master_scale import check_counts, check_default_rates, check_grades
from caltest.lenses.classes import check_classes_of_groups, check_grouping, check_rank
from caltest.measures.binning import check_power
from caltest.measures.grades.grade import check_correlation
from caltest.measures.isotonic.confidence_band import check_digits
from caltest.measures.kernel.cme import check_locations, check_points
from caltest.measures.recalibration.belt import CalibrationBelt, check_levels
from caltest.measures.smooth.ici import check_fraction


def test_argument_that_may_be_missing():
    """None leaves out a tolerance, an integer and the digits."""
    assert check_tolerance(0.5, equivalence=True, null=None) == 0.5
    assert check_tolerance(None, equivalence=False, null="exact") is None
    assert check_optional_integer(None, "max_bins") is None
    assert check_optional_integer(3, "max_bins") == 3
    with pytest.raises(InvalidInput, match="max_bins must be an integer of at least 1"):
        check_optional_integer(0, "max_bins")
    assert check_digits(None) is None
    assert check_digits(3) == 3


@pytest.mark.parametrize("p", [1, 1.5, 2, np.float64(3), math.inf])
def test_power_may_be_any_number_from_one(p):
    assert check_power(p) == p


NAMES = ("internal", "threshold", "max_degree")


@pytest.mark.parametrize("max_degree", [2, 3, 4, np.int64(4)])
def test_belt_takes_degrees_up_to_four(max_degree):
    """From 2 in the development sample, from 1 else."""
    CalibrationBelt(internal=True, threshold=0.95, max_degree=max_degree)
    CalibrationBelt(internal=False, threshold=0.9, max_degree=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            (False, 0.95, 5),
            "max_degree must be at most 4, up to which the null distribution is known; got 5",
        ),
        ((True, 0.95, 1), "max_degree must be an integer of at least 2; got 1"),
        ((False, 1.0, 4), "threshold must lie strictly between 0 and 1; got 1.0"),
        (("external", 0.95, 4), "internal must be True or False; got 'external'"),
    ],
)
def test_belt_refuses_options(options, message):
    with pytest.raises(InvalidInput, match=f"^{message}; pass "):
        CalibrationBelt(**dict(zip(NAMES, options, strict=True)))


@pytest.mark.parametrize("levels", [(), "0.95", (0.8, 95), None])
def test_levels_that_are_none_are_refused(levels):
    with pytest.raises(InvalidInput, match="confidence must"):
        check_levels(levels)


@pytest.mark.parametrize("digits", [0, 16, 2.0, True])
def test_digits_are_those_of_a_double(digits):
    with pytest.raises(InvalidInput, match="digits must be"):
        check_digits(digits)


@pytest.mark.parametrize("share", [0.01, 0.5, 1, np.float32(1)])
def test_fraction_is_returned_as_a_float(share):
    assert isinstance(check_fraction(share, "span"), float)


def test_design_is_a_table_of_finite_numbers():
    design = check_design([1, 2, 3])
    assert design.shape == (3, 1)
    assert not design.flags.writeable
    with pytest.raises(InvalidInput, match="design must be finite; got nan at row 1, column 0"):
        check_design([[1.0, 2.0], [np.nan, 3.0]])


@pytest.mark.parametrize("design", [np.zeros((2, 2, 2)), [], 3.0])
def test_design_of_another_shape_is_refused(design):
    with pytest.raises(InvalidInput, match="design must have a row for each observation"):
        check_design(design)


@pytest.mark.parametrize(
    "groups",
    [[["a", "b"], ["c"]], (("a", "b"), ("c",)), [["a", "b"], "c"], [np.array(["a", "b"]), "c"]],
    ids=["lists", "tuples", "single", "array"],
)
def test_groups_may_be_any_sequences_and_single_classes(groups):
    """Groups become tuples; a class by itself is a group of one."""
    assert check_classes_of_groups(groups) == (("a", "b"), ("c",))


def test_check_grouping_counts_the_rest_as_the_last_group():
    """Classes that no group names come after the groups."""
    group_of = check_grouping((("d",), ("a", "b")), np.array(["a", "b", "c", "d"]))
    assert group_of.tolist() == [1, 1, 2, 0]


def test_check_rank_takes_the_limit_itself():
    """The limit is allowed, one more is not."""
    check_rank(3, 3, "top-3")
    with pytest.raises(InvalidInput, match=r"r must be at most 3 .*; got 4 in top-4"):
        check_rank(4, 3, "top-4")


CLASSES = np.array(["ant", "bee", "cat"])
PROBS = [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]


@pytest.mark.parametrize("value", [None, 1, np.int64(10), (PROBS, [0, 1])])
def test_locations_are_a_number_a_pair_or_nothing(value):
    assert check_locations(value) == value


def test_list_of_two_is_a_pair():
    assert check_locations([PROBS, [0, 1]]) == (PROBS, [0, 1])


@pytest.mark.parametrize("labels", [["cat", "ant"], [2, 0], np.eye(3)[[2, 0]]])
def test_points_become_probabilities_and_codes(labels):
    """Labels are names, codes or one-hot rows."""
    probs, codes = check_points((PROBS, labels), CLASSES)
    np.testing.assert_array_equal(probs, PROBS)
    np.testing.assert_array_equal(codes, [2, 0])


def test_points_need_the_classes_under_the_lens():
    """The message says how many there are."""
    with pytest.raises(
        InvalidInput, match="must have 3 columns, the classes under the lens; got 2"
    ):
        check_points(([0.2, 0.5], [0, 1]), CLASSES)


def test_interval_is_two_ascending_positive_numbers():
    assert check_interval([1, 2], "bounds") == (1.0, 2.0)


@pytest.mark.parametrize("value", [(2, 1), (1, 1), (1,), (1, 2, 3), "12", None, 3])
def test_interval_of_another_shape_is_refused(value):
    with pytest.raises(InvalidInput, match="bounds must be two ascending numbers; got"):
        check_interval(value, "bounds")


@pytest.mark.parametrize("value", [(0, 1), (-1, 1), (1, float("inf")), (1, "2")])
def test_interval_has_positive_finite_ends(value):
    with pytest.raises(InvalidInput, match="each end of bounds must be a positive number"):
        check_interval(value, "bounds")


def test_scores_are_read_as_floats():
    """Logits may be anything finite; the result is read-only."""
    values = check_scores([-3, 4], probabilities=False)
    assert values.tolist() == [-3.0, 4.0]
    assert not values.flags.writeable


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_logits_must_be_finite(value):
    with pytest.raises(InvalidInput, match=r"z must be finite; got .* at row 1"):
        check_scores([0.0, value], probabilities=False)


@pytest.mark.parametrize("bounds", [(0.5, 0.2, 0.05), [0.5, 0.2, 0.05], np.array([0.5, 0.2, 0.05])])
def test_light_bounds_are_three_floats(bounds):
    assert check_light_bounds(bounds) == (0.5, 0.2, 0.05)


@pytest.mark.parametrize(
    "bounds", [(0.5, 0.2), (0.2, 0.2, 0.1), (1.0, 0.5, 0.1), (0.5, 0.1, 0.0), 0.5, "abc"]
)
def test_light_bounds_of_another_shape_are_refused(bounds):
    with pytest.raises(InvalidInput, match=r"must be three descending p-values|must be numbers"):
        check_light_bounds(bounds)


@pytest.mark.parametrize(("value", "checked"), [(0, 0.0), (np.float32(0.5), 0.5), ("a", "a")])
def test_correlation_is_a_float_or_a_class(value, checked):
    assert check_correlation(value, ("a", "b")) == checked


def test_columns_of_grades_are_read_only_and_numbered_by_default():
    rates = check_default_rates([0, 1])
    counts = check_counts([3.0, 4.0], 2, "n", minimum=1)
    assert (rates.dtype, counts.dtype) == (np.float64, np.int64)
    assert not any(array.flags.writeable for array in (rates, counts))
    assert check_grades(None, 3) == [1, 2, 3]
    assert check_grades(np.array(["A", "B"]), 2) == ["A", "B"]


P = np.linspace(0.1, 0.9, 20)
Y = np.tile([0, 1], 10)
ODD = np.array(["a", None], dtype=object)
CALLS = {
    "mode of a spline": lambda: check_spline_mode("top-" + "1" * 6000, 3),
    "penalty": lambda: ct.calibrators.MatrixScaling(lam=np.array(0.5j)).fit(P, Y),
    "known names": lambda: ct.plots.size_and_power({"a": P}, calibrated=5),
    "p-value": lambda: ct.plots.reliability_diagram(P, Y, pvalue="x"),
    "correction": lambda: ct.test_master_scale([0.1], [1], [9], correction=ODD),
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_option_is_refused(name):
    """Neither another exception nor a silent default."""
    with pytest.raises(ct.InvalidInput, match="must"):
        CALLS[name]()
