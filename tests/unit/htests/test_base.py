"""Named tests: which options they take, which they have fixed."""

import pytest

from caltest import InvalidInput
from caltest.htests.run import NamedTest, check_options
from caltest.measures import SKCE

TEST = NamedTest("skce-five", SKCE, {"estimator": "block"})


def test_options_are_those_of_the_measure_that_are_not_fixed():
    """What the name stands for cannot be given again."""
    assert TEST.options == ("block_size", "kernel")


def test_with_options_takes_its_own_and_leaves_the_others():
    """An option of another test in the same call is no business of this one."""
    measure = TEST.with_options({"block_size": 5, "bins": 10})
    assert measure == SKCE(estimator="block", block_size=5)


def test_check_options_accepts_what_one_of_the_tests_takes():
    """Several tests share the options of a call."""
    check_options({"five": TEST, "any": NamedTest("skce", SKCE)}, {"estimator": "biased"})


def test_check_options_refuses_what_no_test_takes():
    """The message lists what can be given."""
    with pytest.raises(InvalidInput, match=r"got 'estimator'; use block_size, kernel"):
        check_options({"five": TEST}, {"estimator": "biased"})
