"""Which tests are made: by cost, never by labels."""

import numpy as np
import pytest

import caltest as ct
from caltest.reporting import source as planned


def keys(plan):
    return [(test, str(lens)) for test, lens in plan.entries]


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
