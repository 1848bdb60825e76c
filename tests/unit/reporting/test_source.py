"""What is said of the data before the tests, and which tests are made: by cost, never by labels."""

import numpy as np
import pytest

import caltest as ct
from caltest.reporting import source as planned
from caltest.reporting.about import data_hash
from caltest.reporting.source import ReportedRows, data_blocks, describe_data


def test_counts_are_observed_expected_and_predicted():
    """Of each class the labels, the sum of probabilities and the predicted rows are counted."""
    data = ct.Predictions(
        [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]], ["a", "a", "a"], classes=["a", "b"]
    )
    first, second = describe_data(ReportedRows(data)).classes
    assert (first.name, first.observed, first.expected, first.predicted) == ("a", 3, 1.5, 2)
    assert (second.name, second.observed, second.expected, second.predicted) == ("b", 0, 1.5, 1)


@pytest.mark.parametrize(
    ("probs", "labels", "warning"),
    [
        ([[0.5, 0.5]] * 2, [0, 1], "There are 2 rows only"),
        ([[0.5, 0.5]] * 2, [0, 1], "All rows have the same predictions"),
        ([[0.4, 0.6], [0.5, 0.5]], [1, 1], "Classes that were never observed: 0."),
        ([[1.0, 0.0], [0.5, 0.5]], [1, 1], "In one row a class of predicted probability 0"),
        ([[1.0, 0.0], [0.5, 0.5]], [0, 1], "In one row one class has probability 1"),
    ],
)
def test_warnings_name_what_is_odd(probs, labels, warning):
    """Few rows, constant predictions, unseen classes, impossible labels and certainty are said."""
    found = describe_data(ReportedRows(ct.Predictions(probs, labels))).warnings
    assert any(line.startswith(warning) for line in found)


def test_hash_depends_on_every_value():
    """Another probability, label, class, weight or group gives another hash."""
    probs, labels = [[0.5, 0.5], [0.25, 0.75]], ["a", "b"]
    variants = [
        ct.Predictions(probs, labels),
        ct.Predictions([[0.5, 0.5], [0.5, 0.5]], labels),
        ct.Predictions(probs, ["a", "a"], classes=["a", "b"]),
        ct.Predictions(probs, ["a", "c"]),
        ct.Predictions(probs, labels, sample_weight=[1, 2]),
        ct.Predictions(probs, labels, groups=[1, 2]),
    ]
    assert len({data_hash(data) for data in variants}) == len(variants)
    assert data_hash(variants[0]) == data_hash(ct.Predictions(probs, labels, source="x"))


def test_difference_of_a_class_is_observed_less_expected():
    """As every gap: the class that happens more often than predicted has a positive one."""
    data = describe_data(ReportedRows(ct.Predictions([0.25] * 40, np.arange(40) % 2)))
    (sheet,) = (block.sheet for block in data_blocks(data) if block.sheet.header)
    assert [row[4] for row in sheet.rows] == ["\u221210.0", "+10.0"]
    assert "observed less expected" in sheet.closing[0][1]


def keys(plan):
    """Return tests and lenses of a plan."""
    return [(test, str(lens)) for test, lens in plan.entries]


def test_two_classes_are_tested_as_they_are():
    """The lenses say the same of two classes; tests differ."""
    data = ct.datasets.generative_model("M1", n=20, m=2, rng=1)
    expected = [(test, "strong") for test in ("combined", "skce", "cox")]
    assert keys(planned.default_plan(data, ["skce", "cox"])) == expected


def test_small_data_have_all_lenses_and_no_remark():
    """Three classes: strong, confidence and each class."""
    plan = planned.default_plan(ct.datasets.generative_model("M1", n=20, m=3, rng=1), ())
    assert len(plan.entries) == 7
    assert plan.notes == ()


def test_plan_does_not_depend_on_the_labels():
    """Other labels, same plan: the p-values stay valid."""
    data = ct.datasets.generative_model("M1", n=50, m=30, rng=1)
    other = data.simulate(2)
    assert keys(planned.default_plan(data, ())) == keys(planned.default_plan(other, ()))


def test_most_frequent_classes_are_tested_and_the_others_said():
    """Of 30 classes 20 have a test of their own."""
    data = ct.datasets.generative_model("M1", n=50, m=30, rng=1)
    plan = planned.default_plan(data, ())
    chosen = [lens.k for _, lens in plan.entries if str(lens).startswith("classwise")]
    order = np.argsort(-data.probs.sum(axis=0), kind="stable")[:20]
    assert sorted(chosen) == sorted(data.classes[order].tolist())
    assert plan.notes[0].startswith("10 of 30 classes are not tested one by one")


def test_all_pairs_of_many_rows_are_left_out(monkeypatch):
    """Where they would take too long, the report says so."""
    monkeypatch.setattr(planned, "ALL_PAIRS", 1000)
    plan = planned.default_plan(ct.datasets.generative_model("M1", n=50, m=3, rng=1), ())
    assert ("skce", "strong") not in keys(plan)
    assert ("combined", "strong") in keys(plan)
    assert "all pairs of 50 rows" in plan.notes[0]


@pytest.mark.parametrize("m", [2, 3])
def test_lens_is_chosen_where_only_tests_are_named(m):
    """Every test is made under the lenses that suit the number of classes."""
    data = ct.datasets.generative_model("M1", n=20, m=m, rng=1)
    lenses = [lens for _, lens in keys(planned.plan_of(data, ["ece"], None, lambda _: ()))]
    assert lenses == (["strong"] if m == 2 else ["strong", "confidence"])
