"""Tests of calibration in a comparison, and what combines those of several parts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from scipy.special import gammaincc

from caltest import validation
from caltest.errors import DegenerateDataWarning
from caltest.htests import test_calibration
from caltest.htests.combine import METHODS
from caltest.htests.options import MeasureOptions
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.predictions import Predictions
from caltest.predictions.options import Columns
from caltest.results import HTest, HTestTable


class ComparedOptions(Columns, MeasureOptions, total=False):
    """Data options of a comparison, and options of its tests of calibration."""


@dataclass(frozen=True, slots=True)
class CalibrationTests:
    """The tests that every row of a comparison gets, with their options."""

    tests: tuple[str | Measure, ...] | None  # None: the default
    lenses: tuple[Lens, ...]
    n_resamples: int
    n_jobs: int | None
    null: str | None = None
    correction: str | None = "holm"
    level: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, predictions: Predictions, seed: int) -> tuple[HTest, ...]:
        """Run the tests; what the data leave undefined stands in the notes of the results."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            result = test_calibration(
                None,
                predictions,
                test=self.tests,
                lens=self.lenses,
                null=self.null,
                correction=None,
                n_resamples=self.n_resamples,
                rng=seed,
                n_jobs=self.n_jobs,
                level=self.level,
                **self.options,
            )
        return result.rows if isinstance(result, HTestTable) else (cast("HTest", result),)


def make_calibration_tests(
    test: object,
    lens: object,
    *,
    null: str | None,
    correction: str | None,
    level: float | None,
    n_resamples: int,
    n_jobs: int | None,
    options: Mapping[str, Any],
) -> CalibrationTests:
    """Check what `test_calibration` takes; a family of lenses is refused."""
    lenses = [resolve_lens(one) for one in _as_list(lens, "lens")]
    for one in lenses:
        validation.check_not_family(one.is_family, one)
    validation.check_choice("none" if correction is None else correction, METHODS, "correction")
    return CalibrationTests(
        tests=None if test is None else tuple(_as_list(test, "test")),
        lenses=tuple(lenses),
        n_resamples=validation.check_fixed_resamples(n_resamples, "comparisons"),
        n_jobs=validation.check_jobs(n_jobs),
        null=null,
        correction=None if correction == "none" else correction,
        level=None if level is None else validation.check_level(level),
        options=options,
    )


def _as_list(value: Any, name: str) -> list[Any]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return validation.check_not_empty(values, name)


def fisher_pvalue(pvalues: Sequence[float]) -> float:
    r"""Combine p-values by Fisher's method; one by itself stays as it is.

    .. math:: X^2 = -2 \sum_{k=1}^K \log p_k \sim \chi^2_{2K},

    where the p-values are independent and uniform; uniform or larger ones make it conservative.

    Parameters
    ----------
    pvalues : sequence of float
        In [0, 1], at least one.

    Returns
    -------
    float
        A p-value of the hypothesis that all of theirs hold.

    References
    ----------
    Fisher (1932), Statistical methods for research workers, section 21.1.

    Examples
    --------
    >>> fisher_pvalue([0.04])
    0.04
    >>> round(fisher_pvalue([0.05, 0.05]), 4)
    0.0175
    """
    values = np.asarray(pvalues, dtype=np.float64)
    if values.size == 1:
        return float(values[0])
    tiny = np.finfo(np.float64).tiny
    combined = gammaincc(values.size, -np.log(np.maximum(values, tiny)).sum())
    return float(max(combined, tiny))
