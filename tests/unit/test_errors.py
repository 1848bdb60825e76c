"""The types of errors and the way they are worded."""

import pickle

import pytest

from caltest.errors import DegenerateDataWarning, InvalidInput, NotApplicable, invalid, shown


@pytest.mark.parametrize(
    ("error", "base"),
    [(InvalidInput, ValueError), (NotApplicable, ValueError), (DegenerateDataWarning, UserWarning)],
)
def test_errors_are_caught_as_what_python_calls_them(error, base):
    """Code that catches ValueError, or filters UserWarning, need not know caltest."""
    assert issubclass(error, base)


def test_invalid_puts_rule_value_and_remedy_in_one_line():
    """The three parts follow each other, set apart by semicolons; a reason may stand alone."""
    assert str(invalid("r must be positive", "0", "pass 1")) == "r must be positive; got 0; pass 1"
    assert str(NotApplicable("r has no limit")) == "r has no limit"


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (InvalidInput("r must be positive", "0", "pass 1"), ("rule", "got", "remedy")),
        (NotApplicable("r has no limit", "use null='exact'"), ("reason", "remedy")),
    ],
)
def test_errors_carry_their_parts(error, parts):
    """Code reads the parts; nobody has to take the message to pieces. They survive pickling."""
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert [getattr(copy, name) for name in parts] == list(error.args)
    assert str(copy) == str(error)
    assert all(part in str(error) for part in error.args)


def test_shown_is_one_short_line():
    """A long repr of several lines is flattened and cut."""
    text = shown([["line"] * 20] * 3)
    assert len(text) == 60
    assert text.endswith("...")
