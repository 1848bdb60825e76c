"""Checks of single arguments: what is taken, and in which form; what is refused, and how."""

import math
from functools import partial

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput
from caltest.calibrators.gp.calibrator import check_scores
from caltest.calibrators.gp.fit import check_interval
from caltest.calibrators.spline.calibrator import check_spline_mode
from caltest.checks import (
    check_choice,
    check_design,
    check_groups,
    check_integer,
    check_level,
    check_light_bounds,
    check_optional_integer,
    check_positive,
    check_power,
    check_seed,
    check_tolerance,
)
from caltest.htests.master_scale import check_counts, check_default_rates, check_grades
from caltest.lenses.classes import check_classes_of_groups, check_grouping, check_rank
from caltest.measures.grades.grade import check_correlation
from caltest.measures.isotonic.confidence_band import check_digits
from caltest.measures.kernel.cme import check_locations, check_points
from caltest.measures.recalibration.belt import CalibrationBelt, check_levels
from caltest.measures.smooth.ici import check_fraction

INF, NAN = math.inf, math.nan
CLASSES = np.array(["ant", "bee", "cat"])
PROBS = [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]


def belt(options):
    """Make a belt, without its print."""
    CalibrationBelt(**dict(zip(("internal", "threshold", "max_degree"), options, strict=True)))


def ranked(rank):
    """Check a rank among three."""
    return check_rank(rank, 3, f"top-{rank}")


integer, positive = (
    partial(check_integer, name="bins", minimum=2),
    partial(check_positive, name="h"),
)
interval, logits = partial(check_interval, name="bounds"), check_scores
logits = partial(logits, probabilities=False)
choice = partial(check_choice, choices=["exact", "bootstrap"], name="null")
lens = partial(check_choice, choices=["strong", "confidence"], name="lens")
optional, groups = partial(check_optional_integer, name="max_bins"), partial(check_groups, n=2)
correlation = partial(check_correlation, classes=("a", "b"))
TAKEN = [
    (partial(check_tolerance, equivalence=True, null=None), [0.5], 0.5),
    (partial(check_tolerance, equivalence=False, null="exact"), [None], None),
    (optional, [None], None),
    (optional, [3], 3),
    (check_digits, [None], None),
    (check_digits, [3], 3),
    (check_power, [2, np.float64(2)], 2),
    (check_power, [1], 1),
    (check_power, [INF], INF),
    (belt, [(True, 0.95, degree) for degree in (2, 3, 4, np.int64(4))] + [(False, 0.9, 1)], None),
    (partial(check_fraction, name="span"), [0.5, np.float32(0.5)], 0.5),
    (partial(check_fraction, name="span"), [1], 1.0),
    (
        check_classes_of_groups,
        [[["a", "b"], ["c"]], (("a", "b"), ("c",)), [["a", "b"], "c"], [np.array(["a", "b"]), "c"]],
        (("a", "b"), ("c",)),
    ),
    (ranked, [3], None),
    (check_locations, [None], None),
    (check_locations, [1, np.int64(1)], 1),
    (check_locations, [(PROBS, [0, 1]), [PROBS, [0, 1]]], (PROBS, [0, 1])),
    (interval, [[1, 2]], (1.0, 2.0)),
    (check_light_bounds, [(0.5, 0.2, 0.05), np.array([0.5, 0.2, 0.05])], (0.5, 0.2, 0.05)),
    (correlation, [0], 0.0),
    (correlation, [np.float32(0.5)], 0.5),
    (correlation, ["a"], "a"),
    (partial(check_grades, size=3), [None], [1, 2, 3]),
    (partial(check_grades, size=2), [np.array(["A", "B"])], ["A", "B"]),
    (integer, [np.int32(3)], 3),
    (positive, [np.float32(3)], 3.0),
    (check_level, [0.5, np.float64(0.5)], 0.5),
    (partial(check_level, name="confidence"), [0.95], 0.95),
    (partial(choice, choices={"exact": 1}), ["exact"], "exact"),
]
REFUSED = [
    (optional, [0], "max_bins must be an integer of at least 1"),
    (
        belt,
        [(False, 0.95, 5)],
        "max_degree must be at most 4, up to which .* is known; got 5; pass ",
    ),
    (belt, [(True, 0.95, 1)], "max_degree must be an integer of at least 2; got 1; pass "),
    (belt, [(False, 1.0, 4)], "threshold must lie strictly between 0 and 1; got 1.0; pass "),
    (belt, [("external", 0.95, 4)], "internal must be True or False; got 'external'; pass "),
    (check_levels, [(), "0.95", (0.8, 95), None], "confidence must"),
    (check_digits, [0, 16, 2.0, True], "digits must be"),
    (check_design, [np.zeros((2, 2, 2)), [], 3.0], "design must have a row for each observation"),
    (
        check_design,
        [[[1.0, 2.0], [np.nan, 3.0]]],
        "design must be finite; got nan at row 1, column 0",
    ),
    (ranked, [4], r"r must be at most 3 .*; got 4 in top-4"),
    (
        partial(check_points, classes=CLASSES),
        [([0.2, 0.5], [0, 1])],
        "must have 3 columns, the classes under the lens; got 2",
    ),
    (
        interval,
        [(2, 1), (1, 1), (1,), (1, 2, 3), "12", None, 3],
        "bounds must be two ascending numbers; got",
    ),
    (
        interval,
        [(0, 1), (-1, 1), (1, INF), (1, "2")],
        "each end of bounds must be a positive number",
    ),
    (logits, [[0.0, INF], [0.0, NAN]], r"z must be finite; got .* at row 1"),
    (
        check_light_bounds,
        [(0.5, 0.2), (0.2, 0.2, 0.1), (1.0, 0.5, 0.1), (0.5, 0.1, 0.0), 0.5, "abc"],
        "must be three descending p-values|must be numbers",
    ),
    (choice, ["exactt", "Exact", "EXACT"], r"got .*; did you mean 'exact'\?"),
    (lens, ["Conf"], r"did you mean 'confidence'\?"),
    (lens, ["c"], "pass one of these"),
    (
        check_level,
        [0, 1, -0.1, 1.5, NAN, "0.05", None, True, 10**400],
        "level must lie strictly between 0 and 1; got ",
    ),
    # Almost every model would be called not calibrated.
    (check_level, [0.95], r"got 0\.95; pass 0\.05 for a confidence of 95 %"),
    (
        positive,
        [0, -1, INF, NAN, "1", None, True, np.timedelta64(3, "D")],
        "h must be a positive number; got ",
    ),
    (
        integer,
        [1, 2.0, "3", None, True, np.timedelta64(3, "D")],
        "bins must be an integer of at least 2; got ",
    ),
    (groups, [["a", None], [1.0, NAN], ["a", NAN]], "groups must not be missing; got .* at row 1"),
    (check_seed, [-1, 1.5, "1", True, np.random], "rng must be None, a non-negative integer"),
    *(
        (partial(check_level, name=name, percent=percent), [value], f"; pass {remedy}")
        for name, percent, value, remedy in (
            ("level", 5, 95, "0.05 for 5 %, which goes with a confidence of 95 %"),
            ("level", 5, 10, "0.1 for 10 %$"),
            ("level", 5, 1, "0.05 for 5 %$"),
            ("confidence", 95, 95, "0.95 for 95 %$"),
            ("confidence", 95, 5, "0.95 for 95 %, which goes with a level of 5 %"),
            ("power", 95, 80, "0.8 for 80 %$"),
        )
    ),
]


def test_argument_is_taken_as_a_plain_value(case):
    for check, given, expected in TAKEN:
        for value in given:
            with case(check, value):
                found = check(value)
                assert found == expected
                assert type(found) is type(expected) or check in {check_power, check_locations}


def test_argument_that_breaks_its_rule_is_refused(case):
    for check, given, message in REFUSED:
        for value in given:
            with case(check, str(value)[:20]), pytest.raises(InvalidInput, match=message):
                check(value)


def test_classes_that_no_group_names_come_after_the_groups():
    group_of = check_grouping((("d",), ("a", "b")), np.array(["a", "b", "c", "d"]))
    assert group_of.tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize("labels", [["cat", "ant"], [2, 0], np.eye(3)[[2, 0]]])
def test_points_become_probabilities_and_codes(labels):
    probs, codes = check_points((PROBS, labels), CLASSES)
    np.testing.assert_array_equal(probs, PROBS)
    np.testing.assert_array_equal(codes, [2, 0])


def test_columns_are_read_only():
    """Of grades, a design, logits."""
    rates = check_default_rates([0, 1])
    counts = check_counts([3.0, 4.0], 2, "n", minimum=1)
    assert (rates.dtype, counts.dtype) == (np.float64, np.int64)
    design, values = check_design([1, 2, 3]), logits([-3, 4])
    assert design.shape == (3, 1)
    assert values.tolist() == [-3.0, 4.0]
    assert not any(array.flags.writeable for array in (rates, counts, design, values))


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
