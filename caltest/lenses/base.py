"""What a lens is, and the one that shows the predictions as they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.predictions import Predictions
from caltest.validation.arrays import AnyArray, Floats


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
    """

    title: ClassVar[str]
    key: ClassVar[str]
    null: ClassVar[str]

    @abstractmethod
    def __call__(self, predictions: Predictions) -> Predictions:
        """Return the induced predictions and labels."""

    def __str__(self) -> str:
        return self.key.format_map(vars(self))

    @property
    def claim(self) -> str:
        """The null hypothesis in words."""
        return self.null.format_map(vars(self))

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


def event_of(predictions: Predictions, value: Floats, happens: AnyArray, name: str) -> Predictions:
    """Predict that an event happens with probability `value`."""
    probs = np.column_stack([1 - value, value])
    names = np.array([f"not {name}", name])
    return Predictions.trusted(probs, happens.astype(np.int64), names, like=predictions)
