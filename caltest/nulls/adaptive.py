"""The exact null with as many redrawn labels as the answer needs: sequential Monte Carlo."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.bound import BoundMeasure
from caltest.measures.outcome import Outcome, Part
from caltest.nulls import base
from caltest.nulls.exact import enumerate_labels, enumerated
from caltest.numerics.joint import tie_tolerance
from caltest.predictions import Predictions
from caltest.types import Ints

ADAPTIVE = "adaptive"
LEVEL = 0.05  # where the caller gives none
MOST = 10**6  # resamples
CLEAR = 100  # as extreme: the standard error of the p-value is a tenth of it
FEW = 20  # the same far below the level, where it is a fifth
FIRST = 256  # resamples that are drawn at once, and half as many again each time
LISTED = 1 << 14  # label vectors that are enumerated
OF_PARTS = 999  # resamples that judge the components of a combination
IMPOSSIBLE = ", and a class of probability 0 was observed"
KEPT = 100_000  # resampled values that the result holds


class Stop(NamedTuple):
    """Where the drawing ended: the number of resamples, the p-value, and the rule in words."""

    drawn: int
    pvalue: float
    rule: str


@dataclass(frozen=True)
class StoppingRule:
    r"""When labels have been redrawn often enough, and the p-value then.

    With g the number of redrawn statistics that are as extreme as the observed one (of a two-sided
    test, in the tail that has fewer), drawing ends

    - at the l-th resample, up to :math:`l_1 = 100 / \alpha`, that makes g = 100: p = 100 / l;
    - at :math:`l_1`, where g is at least 20: :math:`p = (1 + g) / (1 + l_1)`;
    - at the l-th resample, beyond :math:`l_1`, that makes g = 20: p = 20 / l;
    - at the last one, B = 10^6: p = (1 + g) / (1 + B).

    A two-sided test takes twice that, with :math:`l_1 = 200 / \alpha`.

    Attributes
    ----------
    level : float
        The level :math:`\alpha` at which the decision is to be clear.
    sides : int
        2 for a two-sided test, else 1.
    most : int
        The largest number of resamples.
    reason : str
        Why no more than the first are drawn, for print.
    """

    level: float = LEVEL
    sides: int = 1
    most: int = MOST
    reason: str = ""

    @property
    def first(self) -> int:
        """The number of resamples after which fewer have to be as extreme."""
        return min(self.most, math.ceil(self.sides * CLEAR / self.level))

    def stop(self, extreme: Ints) -> Stop | None:
        """Return where the drawing ends, or None where more is to be drawn.

        Parameters
        ----------
        extreme : (l,) array
            The number of statistics that are as extreme among the first 1, 2, ... resamples.
        """
        many, later = extreme[: self.first], extreme[self.first :]
        until = "until "
        if many.size and many[-1] >= CLEAR:
            drawn, count = int(np.searchsorted(many, CLEAR)) + 1, CLEAR
        elif many.size == self.first and (many[-1] >= FEW or self.first == self.most):
            drawn, count, until = self.first, int(many[-1]), ""
        elif later.size and later[-1] >= FEW:
            drawn, count = self.first + int(np.searchsorted(later, FEW)) + 1, FEW
        elif extreme.size >= self.most:
            drawn, count, until = self.most, int(extreme[-1]), ""
        else:
            return None
        tail = count / drawn if until else (1 + count) / (1 + drawn)
        side = " on the smaller side" if self.sides == 2 else ""
        text = f"adaptive, Besag-Clifford: {until}{count} were as extreme{side}{self.reason}"
        return Stop(drawn, min(1.0, self.sides * tail), text)


def adaptive_test(
    measure: Measure, predictions: Predictions, draws: base.Draws, *, level: float
) -> Outcome:
    r"""Test a measure by the exact null, with labels redrawn until the answer is clear.

    For a number l, the observed statistic and l - 1 redrawn ones are exchangeable under the null
    hypothesis, so that with probability at most h / l fewer than h of the redrawn ones are as
    extreme: the p-value h / l, and each other one of `StoppingRule`, is attained with at most its
    own probability. The p-value is valid at every n, as that of a fixed number of resamples.

    The resamples are the first ones of the same test with a fixed number and the same seed, and the
    p-value depends on neither the threads nor how many are drawn at once.

    An observed class of probability 0, which has no chance under the null hypothesis, is never
    redrawn: a million resamples would only say so more often, and drawing ends at :math:`l_1`.

    References
    ----------
    Besag, Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78.
    """
    base.check_applicable(measure, "exact")
    bound = measure.bind(predictions)
    listed = enumerate_labels(bound, measure.alternative, LISTED)
    if listed is not None:
        outcome = enumerated(measure, bound, listed, draws._replace(n_resamples=1))
        return replace(outcome, replicates=None, parts=_parts(bound, draws))
    sides = 2 if measure.alternative == "two-sided" else 1
    rule = StoppingRule(level, sides, draws.n_resamples)
    seen = bound.predictions
    if (seen.probs[np.arange(seen.n), seen.labels] == 0).any():
        rule = replace(rule, most=rule.first, reason=IMPOSSIBLE)
    observed = bound.values(bound.observed[np.newaxis])
    compared = bound.comparable(observed)
    tolerance = tie_tolerance(compared, bound.scale)
    values, stop = np.empty(0), None
    while stop is None:  # each time half as many as there are already
        size = min(rule.most, values.size + max(FIRST, values.size // 2))
        more = draws._replace(n_resamples=size)
        drawn = base.redrawn_statistics(bound, more, values.size)
        values = np.append(values, bound.combine(drawn))
        others = bound.comparable(values)
        if np.isnan(compared).any() or np.isnan(others).any():
            raise NotApplicable(*base.NOT_A_NUMBER)
        extreme = [others >= compared - tolerance, others <= compared + tolerance][:sides]
        stop = rule.stop(np.cumsum(extreme, axis=1).min(axis=0))  # of the first 1, 2, ... values
    return Outcome(
        pvalue=stop.pvalue,
        distribution=values[: min(stop.drawn, KEPT)],
        n_resamples=stop.drawn,
        stopping=stop.rule,
        parts=_parts(bound, draws),
        **base.described(measure, bound, float(observed[0])),
    )


def _parts(bound: BoundMeasure, draws: base.Draws) -> tuple[Part, ...]:
    """Return what the measure combines, with a number of resamples that is fixed."""
    if not bound.combines:
        return ()
    seen = bound.statistics(bound.observed[np.newaxis])
    redrawn = base.redrawn_statistics(bound, draws._replace(n_resamples=OF_PARTS))
    return bound.combined_parts(np.concatenate([seen, redrawn], axis=-1))


def adaptive_null(null: base.Null, level: float) -> base.Null:
    """Return a null whose resamples are drawn until the answer is clear at a level.

    Parameters
    ----------
    null : Null
        One that resamples nothing stays as it is.
    level : float
        That of the decision.

    Raises
    ------
    NotApplicable
        If the null resamples and is not the exact one.
    """
    if not null.resamples:
        return null
    if null.key != "exact":
        raise NotApplicable(
            f"null {null.key!r} has no adaptive number of resamples",
            "use null='exact' or n_resamples=999",
        )
    return replace(null, run=partial(adaptive_test, level=level))
