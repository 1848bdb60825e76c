"""What can go wrong, as types, and how it is worded."""

WIDTH = 60


class InvalidInput(ValueError):
    """An argument breaks a rule; the message names the rule, the value and the remedy."""


class NotApplicable(ValueError):
    """A combination of lens, measure and null has no meaning; the message lists alternatives."""


class DegenerateDataWarning(UserWarning):
    """The data leave a quantity undefined, and a documented default takes its place."""


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
    return InvalidInput(f"{rule}; got {got}; {remedy}")


def shown(value: object) -> str:
    """Show a value in a message: its repr in one line, cut after 60 characters.

    Examples
    --------
    >>> shown({"a": 1})
    "{'a': 1}"
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
