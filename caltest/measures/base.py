"""What a measure is: a value, and the law of that value when the labels are redrawn."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.numerics.labels import cumulative_probs, draw_labels, label_dtype
from caltest.predictions import Predictions, as_measured

if TYPE_CHECKING:
    from caltest.measures.tolerance import Tolerance

__all__ = ["BoundMeasure", "Measure"]

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Limit:
    """A statistic with a known law, a limit or a formula, already turned into a p-value."""

    name: str
    statistic: float
    pvalue: float
    estimate: float
    law: str
    parameters: Mapping[str, object]
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()


class BoundMeasure(ABC):
    """A measure bound to predictions: what remains is a function of the labels.

    Everything that depends on the predictions alone (bins, bandwidth, order) is done once, here.
    The rows may be kept in an order of the measure's own; `observed` and `redraw` follow it.
    """

    pooled: bool = False  # True: give all resamples in one call, it runs its own threads
    scale: float = 1.0  # size of the terms of the statistic: ties are measured by it
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()  # what the data left undefined

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    @abstractmethod
    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        """Return the measure for each row of `labels` (B, n)."""

    @property
    def observed(self) -> Labels:
        """The labels that were observed, (n,), in the order of the rows."""
        return self.predictions.labels.astype(label_dtype(self.predictions.m))

    @property
    def label_probs(self) -> Floats:
        """The probabilities (n, m) of the labels, in the order of the rows; `redraw` draws these.

        A subclass that has an order of its own overrides `observed`, `redraw` and this.
        """
        return self.predictions.probs

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        """Draw `size` rows of labels from the predictions."""
        return draw_labels(self._cumulative, rng, size)

    def comparable(self, values: Floats) -> Floats:
        """Return an increasing function of the values in which ties are ties up to rounding."""
        return values

    def value(self, n_jobs: int | None = None) -> float:
        """Return the measure for the labels that were observed."""
        return float(self.values(self.observed[None], n_jobs)[0])

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value

    @cached_property
    def _cumulative(self) -> Floats:
        return cumulative_probs(self.predictions.probs)


class Measure(ABC):
    """A calibration error or score with its options.

    Subclasses are frozen dataclasses of options. A measure that knows more than its value
    overrides the methods below that say NotApplicable. It is a test under its own key; a measure
    that is none has `tests = {}`, and one that several tests are named after declares each of them
    with the options that its name stands for.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # every subclass is a dataclass

    key: ClassVar[str]
    title: ClassVar[str]
    function: ClassVar[str | None] = None  # its name, where it is not that of the key
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = None  # key -> options it fixes
    alternative: ClassVar[str] = "greater"  # or "two-sided": which values speak against H0

    @classmethod
    def function_name(cls) -> str:
        """Return the name in `caltest.measures` of the function that computes the measure."""
        return cls.function or cls.key.replace("-", "_")

    @classmethod
    def declared_tests(cls) -> Mapping[str, Mapping[str, object]]:
        """Return the tests that are named after the measure: their keys, and what each fixes."""
        return {cls.key: {}} if cls.tests is None else cls.tests

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The name of the value, as printed."""

    @abstractmethod
    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        """Do all that depends on the predictions alone."""

    @property
    def estimate_symbol(self) -> str:
        """The name of the calibration error that the value stands for; often the same."""
        return self.symbol

    @property
    def description(self) -> str:
        """The measure with its variant, as messages name it."""
        return self.title

    @property
    def nulls(self) -> tuple[str, ...]:
        """The nulls that have a meaning for this measure; the first is the default."""
        return ("exact", "consistency")

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Limit:
        """Return the asymptotic test of this measure."""
        raise NotApplicable(f"{self.description} has no limit law; use null='exact'")

    def closed_form(self, predictions: Predictions, n_jobs: int | None = None) -> Limit:
        """Return the test of this measure whose law has a formula at every n."""
        raise NotApplicable(f"{self.description} has no law in closed form; use null='exact'")

    def tolerance_limit(
        self, predictions: Predictions, tolerance: Tolerance, n_jobs: int | None = None
    ) -> Limit:
        """Return the test of the hypothesis that the error is at most, or at least, a tolerance."""
        raise NotApplicable(
            f"{self.description} knows no tolerance; use test='skce', 'skce-linear', 'skce-block', "
            "'debiased-ece' or 'ks'"
        )

    def evaluate(
        self,
        probs: object,
        labels: object = None,
        lens: str | Lens = "strong",
        n_jobs: int | None = None,
    ) -> float | Floats:
        """Return the value under a lens; an array, one value each, under a family of lenses."""
        predictions = as_measured(probs, labels)
        resolved = resolve_lens(lens)
        values = []
        for member in resolved.members(predictions):
            bound = self.bind(member(predictions), n_jobs)
            for message in bound.degenerate:
                # The caller of the caller, `skce(...)`, is the user.
                warnings.warn(message, DegenerateDataWarning, stacklevel=3)
            values.append(bound.value(n_jobs))
        return np.array(values) if resolved.is_family else values[0]
