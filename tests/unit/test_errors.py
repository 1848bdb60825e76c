"""The types of errors and the way they are worded."""

from __future__ import annotations

import pytest

from caltest.errors import DegenerateDataWarning, InvalidInput, NotApplicable, invalid, shown


@pytest.mark.parametrize(
    ("error", "base"),
    [
        (InvalidInput, ValueError),
        (NotApplicable, ValueError),
        (DegenerateDataWarning, UserWarning),
    ],
)
def test_errors_are_caught_as_what_python_calls_them(error, base):
    """Code that catches ValueError, or filters UserWarning, need not know caltest."""
    assert issubclass(error, base)


def test_invalid_puts_rule_value_and_remedy_in_one_line():
    """The three parts follow each other, set apart by semicolons."""
    assert str(invalid("r must be positive", "0", "pass 1")) == "r must be positive; got 0; pass 1"


def test_shown_is_one_short_line():
    """A long repr of several lines is flattened and cut."""
    text = shown([["line"] * 20] * 3)
    assert len(text) == 60
    assert text.endswith("...")
