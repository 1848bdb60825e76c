"""What a lens is, and the one that shows the predictions as they are."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Later, Redrawing
from caltest.validation.arrays import AnyArray, Codes, Floats
from caltest.validation.options import not_a_choice

KEY = re.compile(r"([a-z-]+?)(?:-(\d+)|\[(.+)\])?")


class Lens(ABC):
    """A map from predictions to the predictions of an induced model.

    Attributes
    ----------
    title : str
        What it looks at, in one line.
    key : str
        How it is written, with its options in braces.
    null : str
        The null hypothesis in words, likewise.
    is_confidence : bool
        Whether the event that it leaves is that the predicted class is right.
    """

    title: ClassVar[str]
    key: ClassVar[str]
    null: ClassVar[str]
    is_confidence: ClassVar[bool] = False

    @abstractmethod
    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the induced predictions and labels."""

    def __str__(self) -> str:
        return self.key.format_map(vars(self))

    @property
    def claim(self) -> str:
        """The null hypothesis in words."""
        return self.null.format_map(vars(self))

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        """Return the lens of a key with these parts, "2" of top-2 or "cat" of classwise[cat].

        None where the lens takes other parts.
        """
        return None if rank or classes else cls()

    @property
    def is_family(self) -> bool:
        """Whether this stands for several lenses."""
        return False

    def members(self, predictions: Predictions) -> list[Lens]:
        """List the lenses of a family; of a single lens, itself."""
        return [self]


@dataclass(frozen=True)
class Strong(Lens):
    """All the probabilities as they are: P(Y = k | p) = p_k for every class k.

    Examples
    --------
    >>> print(Strong().claim)
    P(Y = k | p) = p_k for every class k
    """

    title = "all the probabilities as they are"
    key = "strong"
    null = "P(Y = k | p) = p_k for every class k"

    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the predictions themselves."""
        return predictions


def event_of(predictions: Predictions, codes: Codes, name: str) -> Predictions:
    """Predict that the label of each row is its code, (n,)."""
    value = predictions.probs[np.arange(predictions.n), codes]
    return binary(
        predictions,
        value,
        predictions.labels == codes,
        name,
        Later(lambda: predictions.redrawing.events(codes, predictions.m)),
    )


def binary(
    predictions: Predictions, value: Floats, happens: AnyArray, name: str, redrawing: Redrawing
) -> Predictions:
    """Predict that an event happens with probability `value`."""
    probs = np.column_stack([1 - value, value])
    names = np.array([f"not {name}", name])
    labels = happens.astype(np.int64)
    return Predictions.trusted(probs, labels, names, like=predictions, redrawing=redrawing)


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
    from caltest.lenses import REGISTRY

    if isinstance(lens, Lens):
        return lens
    match = KEY.fullmatch(lens) if isinstance(lens, str) else None
    if match is not None:
        name, rank, classes = match.groups()
        kinds = {re.sub(r"-R$|\[...\]$", "", key): kind for key, kind in REGISTRY.items()}
        found = kinds[name].read(rank, classes) if name in kinds else None
        if found is not None:
            return found
    raise _no_lens(lens, REGISTRY)


def _no_lens(lens: object, known: Mapping[str, type[Lens]]) -> InvalidInput:
    rule = "lens must be a key or an object of caltest.lenses"
    if isinstance(lens, type) and issubclass(lens, Lens):
        return invalid(rule, f"the class {lens.__name__}", "add parentheses and options")
    if callable(lens):
        return invalid(rule, "a function", "wrap it, caltest.lenses.Custom(f)")
    if isinstance(lens, str) and lens in known:
        return invalid(rule, shown(lens), "fill it in, as in 'top-2' or 'grouped[cat+dog|bird]'")
    return not_a_choice(lens, known, "lens")
