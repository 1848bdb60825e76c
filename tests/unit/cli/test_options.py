"""How the values of options are read."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import pytest

from caltest.cli import options


@pytest.mark.parametrize(
    ("value", "parsed"), [(None, None), ("p_", "p_"), ("a,b", ["a", "b"]), ("a b", "a b")]
)
def test_probs_are_a_prefix_or_names(value, parsed):
    """Only a comma makes a list of names."""
    assert options.parse_probs(value) == parsed


@pytest.mark.parametrize(
    ("value", "parsed"),
    [
        (None, None),
        ("cat,dog", ["cat", "dog"]),
        ("1,2,-3,0", [1, 2, -3, 0]),
        ("01,2", ["01", "2"]),
        ("1,cat", ["1", "cat"]),
        ('"no, never", "a,b",c', ["no, never", "a,b", "c"]),
    ],
)
def test_classes_are_integers_where_all_are_written_so(value, parsed):
    """A leading zero makes a name, for 01 and 1 may be two classes; quotes keep a comma."""
    assert options.parse_classes(value) == parsed


@dataclass(frozen=True, kw_only=True)
class Group:
    """Two options, one of them required."""

    label: str
    rng: int | None = 3


def test_fields_of_a_group_become_options():
    """Typer sees the fields, and the command gets the group."""
    seen = []

    def command(*, group: Group, quiet: bool = False) -> None:
        """Do it."""
        seen.append((group, quiet))

    call = options.grouped(command)
    parameters = inspect.signature(call).parameters
    assert {name: one.default for name, one in parameters.items()} == {
        "label": inspect.Parameter.empty,
        "rng": 3,
        "quiet": False,
    }
    assert call.__doc__ == "Do it."
    call(label="y", rng=4, quiet=True)
    assert seen == [(Group(label="y", rng=4), True)]
