"""Calibration lenses: which aspect of the predictions a test looks at.

A lens maps predictions and labels to those of an induced model, which is calibrated if that aspect
is. Induced binary predictions put the event in column 1. Ties between probabilities are broken by
the order of the classes. A family, such as `Classwise()`, stands for one lens per class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from caltest.errors import InvalidInput, invalid, shown
from caltest.lenses.base import Lens, Strong
from caltest.lenses.classes import Classwise, Confidence, Custom, Grouped, TopLabel
from caltest.lenses.ranks import Largest, TopRank, WithinTop
from caltest.validation.options import not_a_choice

__all__ = [
    "REGISTRY",
    "Classwise",
    "Confidence",
    "Custom",
    "Grouped",
    "Largest",
    "Lens",
    "Strong",
    "TopLabel",
    "TopRank",
    "WithinTop",
    "resolve_lens",
]

REGISTRY: Mapping[str, type[Lens]] = {
    "strong": Strong,
    "confidence": Confidence,
    "classwise": Classwise,
    "top-label": TopLabel,
    "top-R": TopRank,
    "within-top-R": WithinTop,
    "largest-R": Largest,
    "grouped[...]": Grouped,
}


def resolve_lens(lens: object) -> Lens:
    """Find the lens that a key names; a lens stays itself.

    Parameters
    ----------
    lens : str or Lens
        A key such as "confidence", "top-2", "classwise[cat]" or "grouped[cat+dog|bird]".

    Returns
    -------
    Lens
        The lens, or the family.

    Raises
    ------
    InvalidInput
        If there is no such lens.

    Examples
    --------
    >>> resolve_lens("within-top-2")
    WithinTop(r=2)
    >>> resolve_lens("grouped[cat+dog|bird]")
    Grouped(groups=(('cat', 'dog'), ('bird',)))
    """
    if isinstance(lens, Lens):
        return lens
    match = _KEY.fullmatch(lens) if isinstance(lens, str) else None
    if match is None:
        raise _no_lens(lens)
    name, rank, classes = match.groups()
    if rank and name in _WITH_RANK:
        return _WITH_RANK[name](int(rank))
    if classes and name in _WITH_CLASSES:
        return _WITH_CLASSES[name](classes)
    if match[0] in _ALONE:
        return _ALONE[name]()
    raise _no_lens(lens)


_KEY = re.compile(r"([a-z-]+?)(?:-(\d+)|\[(.+)\])?")
_ALONE: Mapping[str, Callable[[], Lens]] = {
    "strong": Strong,
    "confidence": Confidence,
    "classwise": Classwise,
    "top-label": TopLabel,
}
_WITH_RANK: Mapping[str, Callable[[int], Lens]] = {
    "top": TopRank,
    "within-top": WithinTop,
    "largest": Largest,
}
_WITH_CLASSES: Mapping[str, Callable[[str], Lens]] = {
    "classwise": Classwise,
    "top-label": TopLabel,
    "grouped": lambda text: Grouped([group.split("+") for group in text.split("|")]),
}


def _no_lens(lens: object) -> InvalidInput:
    rule = "lens must be a key or an object of caltest.lenses"
    if isinstance(lens, type) and issubclass(lens, Lens):
        return invalid(rule, f"the class {lens.__name__}", "add parentheses and options")
    if callable(lens):
        return invalid(rule, "a function", "wrap it, caltest.lenses.Custom(f)")
    if isinstance(lens, str) and lens in REGISTRY:
        return invalid(rule, shown(lens), "fill it in, as in 'top-2' or 'grouped[cat+dog|bird]'")
    return not_a_choice(lens, REGISTRY, "lens")
