"""What a result keeps so that later questions can be answered: how large, how sure, where."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caltest.errors import NotApplicable

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.measures import Measure
    from caltest.predictions import Predictions
    from caltest.sources import Cells


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The measure, the lens and the predictions behind a result.

    It refers to arrays that exist anyway: the rows of a table share one `Predictions`, and the lens
    is applied again where it is asked for.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    lens : Lens
        The member of a family, not the family.
    predictions : Predictions
        As they were before the lens.
    seed : int
        The seed of the test.
    """

    measure: Measure
    lens: Lens
    predictions: Predictions
    seed: int

    @property
    def seen(self) -> Predictions:
        """The predictions as the lens shows them."""
        return self.lens(self.predictions)

    def __reduce__(self) -> tuple[object, ...]:
        try:
            pickle.dumps((self.measure, self.lens))
        except (pickle.PicklingError, AttributeError, TypeError):
            # A lambda in a lens or a kernel: the numbers of the result travel without it.
            return _none, ()
        return Evidence, (self.measure, self.lens, self.predictions, self.seed)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """The measure, the lens and the cells behind a result of very many rows.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    lens : Lens
        The member of a family, not the family.
    cells : Cells
        As the lens shows the rows; the tests of one call share them.
    seed : int
        The seed of the test.
    """

    measure: Measure
    lens: Lens
    cells: Cells
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class GradeCounts:
    """What `test_master_scale` knows of a grade, which has no rows.

    Attributes
    ----------
    measure : Measure
        The measure with its options.
    defaults, n : int
        Numbers of defaults and of obligors.
    """

    measure: Measure
    defaults: int
    n: int


def _none() -> None:
    """Stand for evidence that could not be pickled."""


def required(evidence: Evidence | None, question: str) -> Evidence:
    """Raise NotApplicable where a result has no evidence."""
    if evidence is None:
        raise NotApplicable(
            f"{question} needs the predictions, and a result that was counted in cells, read from "
            "JSON, or pickled with a lambda in its lens or kernel, holds numbers only",
            "run test_calibration again, with engine='rows', and ask its result",
        )
    return evidence
