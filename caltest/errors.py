"""Types of errors and warnings, and how they are worded."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WIDTH = 60


class InvalidInput(ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy.

    Parameters
    ----------
    rule : str
        The argument and the rule that it breaks, "probs must lie in [0, 1]".
    got : str, optional
        The offending value and where it stands, "1.2 at row 7, class 'cat'".
    remedy : str, optional
        What to do, "pass probabilities, or from_logits=True".

    Examples
    --------
    >>> error = InvalidInput("bins must be at least 1", "0", "pass a positive integer")
    >>> str(error)
    'bins must be at least 1; got 0; pass a positive integer'
    >>> error.remedy
    'pass a positive integer'
    """

    def __init__(self, rule: str, got: str = "", remedy: str = "") -> None:
        super().__init__(rule, got, remedy)
        self.rule, self.got, self.remedy = rule, got, remedy

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.rule, self.got and f"got {self.got}", self.remedy)))


class NotApplicable(ValueError):
    """A combination of lens, measure and null has no meaning; the message lists alternatives.

    Parameters
    ----------
    reason : str
        What has no meaning and why, "the unbiased SKCE needs at least two observations".
    remedy : str, optional
        What to use instead, "use estimator='biased'".

    Examples
    --------
    >>> error = NotApplicable("T-Cal takes no sample weights", "use the test 'debiased-ece'")
    >>> str(error)
    "T-Cal takes no sample weights; use the test 'debiased-ece'"
    >>> error.reason
    'T-Cal takes no sample weights'
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.reason, self.remedy = reason, remedy

    def __str__(self) -> str:
        return "; ".join(filter(None, (self.reason, self.remedy)))


class DegenerateDataWarning(UserWarning):
    """The data leave a quantity undefined, and a documented default takes its place."""


class ReadAsWarning(UserWarning):
    """A file is written in another way than its suffix says, and was read as what is in it."""


class SuspectInputWarning(UserWarning):
    """The input is valid, and an answer is given, but it looks like a mistake that many make."""


def invalid(rule: str, got: str, remedy: str) -> InvalidInput:
    """Word an error in the three parts that every message has.

    Parameters
    ----------
    rule : str
        The argument and the rule that it breaks, "probs must lie in [0, 1]".
    got : str
        The offending value and where it stands, "1.2 at row 7, class 'cat'".
    remedy : str
        What to do, "pass probabilities, or from_logits=True".

    Returns
    -------
    InvalidInput
        The exception, to be raised by the caller.

    Examples
    --------
    >>> str(invalid("bins must be at least 1", "0", "pass a positive integer"))
    'bins must be at least 1; got 0; pass a positive integer'
    """
    return InvalidInput(rule, got, remedy)


@contextmanager
def rows_named(place: Callable[[int], str] | None) -> Iterator[None]:
    """Name rows in errors by their place in a file, as a person counts it.

    Parameters
    ----------
    place : callable or None
        Names a row that is counted from 0; None leaves it as it is.
    """
    try:
        yield
    except InvalidInput as error:
        if place is None:
            raise
        at = re.sub(r"\bat row (\d+)\b(?! of)", lambda row: f"at {place(int(row[1]))}", error.got)
        raise InvalidInput(error.rule, at, error.remedy) from error.__cause__


def shown(value: object) -> str:
    """Show a value in a message: its repr in one line, cut at 60 characters.

    Addresses, and the types of NumPy's numbers, are left out.

    Examples
    --------
    >>> shown({"a": 1})
    "{'a': 1}"
    """
    text = re.sub(r" at 0x[0-9A-Fa-f]+(?=>)", "", " ".join(repr(value).split()))
    text = re.sub(r"\bnp\.(?:bytes|datetime|float|int|str|uint)\d*_?\(([^()]*)\)", r"\1", text)
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."


def an(name: str) -> str:
    """Put the article before the name of a type.

    Examples
    --------
    >>> an("float"), an("int"), an("HTest")
    ('a float', 'an int', 'an HTest')
    """
    return f"{'an' if re.match('[AEIOaeio]|HT|nd', name) else 'a'} {name}"


def first_line(error: Exception) -> str:
    """Return what an error of another library says first, or its type where it says nothing."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), type(error).__name__)
