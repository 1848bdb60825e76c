"""Arguments of lenses."""

import numpy as np
import pytest

from caltest.errors import InvalidInput
from caltest.lenses.classes import check_classes_of_groups, check_grouping, check_rank


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
