"""What is stated of a study of forecasts: how the outcomes differ from what is predicted."""

from __future__ import annotations

import math
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import ndtr

from caltest import checks
from caltest.errors import invalid, shown
from caltest.forecasts import Forecasts
from caltest.forecasts.container import moved
from caltest.forecasts.laws import read
from caltest.planning.truths import DRAWS, Effect, LabelDistribution, StatedTruth, counted
from caltest.predictions import ModelData, models
from caltest.types import Floats

LEVEL = 0.9  # of the central intervals whose coverage is stated


def forecasts_of(given: ModelData) -> ForecastDistribution | None:
    """Return the forecasts that `power` was given, or a model that makes some; None of classes."""
    both = given.model, given.data
    is_one = any(isinstance(one, Forecasts) for one in both) or models.is_forecaster(given.model)
    return ForecastDistribution(cast("Forecasts", given.rows())) if is_one else None


class ForecastDistribution:
    """Forecasts of which rows are drawn with replacement, by their weights.

    Parameters
    ----------
    forecasts : Forecasts
        The rows; their outcomes play no part, but that of an ensemble is one of its members.
    """

    m = 0
    drifts: ClassVar[dict[str, object]] = {"spread": (1.1, 1.2, 1.5, 2.0)}  # that are usual
    truth_of = staticmethod(StatedTruth.for_forecasts)

    def __init__(self, forecasts: Forecasts) -> None:
        weight = forecasts.sample_weight
        self.share = None if weight is None else weight / weight.sum()
        self.pool = forecasts._with(sample_weight=None, groups=None, clusters=None)  # noqa: SLF001
        self.template = self.pool
        self.name = f"{forecasts.source}, {counted(forecasts.n)} drawn with replacement"

    def _rows(self, rng: np.random.Generator, n: int) -> Forecasts:
        return self.pool.subset(rng.choice(self.pool.n, size=n, p=self.share))

    def sample(self, rng: np.random.Generator, n: int, truth: LabelDistribution) -> Forecasts:
        """Return n rows with outcomes of the truth."""
        rows = self._rows(rng, n)
        return rows.redrawn_at(truth.of(rng.normal(size=n), rows))

    def effect(self, truth: LabelDistribution, rng: np.random.Generator) -> Effect:
        """Compute how far outcomes are from what is predicted, by simulation."""
        rows, z = self._rows(rng, DRAWS), rng.normal(size=DRAWS)
        u = truth.of(z, rows)
        error, true = (float(np.mean(x)) for x in (abs(u - ndtr(z)), abs(u - 0.5) < LEVEL / 2))
        return Effect(error=error, excess=math.nan, predicted=LEVEL, true=true, draws=DRAWS)


def truth_of_errors(spread: object, shift: object) -> LabelDistribution:
    """Return the truth of outcomes that scatter more widely around another mean."""
    s = 1.0 if spread is None else checks.check_positive(spread, "spread")
    b = 0.0 if shift is None else checks.check_finite(shift, "shift")
    scatter = f"{s:g} times as widely as" if s != 1.0 else "as"
    text = f"outcomes scatter {scatter} predicted" + f", {b:+g} deviations off" * (b != 0.0)
    text = Forecasts.claim if (s, b) == (1.0, 0.0) else text
    return LabelDistribution(text, lambda z, _rows: moved(z, s, b))


def truth_of_function(function: Any) -> LabelDistribution:
    """Return the truth of a function of normal numbers and forecasts."""
    if not callable(function):
        rule = "truth must be a function of normal numbers and of the forecasts"
        remedy = "pass lambda z, forecasts: z + 0.3, or use spread= and shift="
        raise invalid(rule, shown(function), remedy)

    def of(z: Floats, rows: Forecasts) -> Floats:
        return moved(read(function(z, rows), "true normal numbers", z.size))

    return LabelDistribution(models.describe(function), of)
