"""Tests of calibration in a comparison, and what combines those of held-out parts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from caltest import validation
from caltest.errors import DegenerateDataWarning
from caltest.htests import test_calibration
from caltest.htests.combine import METHODS
from caltest.lenses import Lens, resolve_lens
from caltest.measures import Measure
from caltest.predictions import Predictions
from caltest.results import HTest, HTestTable


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
    validation.check_choice(correction or "none", METHODS, "correction")
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


def averaged_pvalue(pvalues: Sequence[float]) -> float:
    r"""Combine p-values whose dependence is unknown: at most twice their mean.

    For each :math:`\alpha`, the mean of :math:`\alpha^{-1} (2 - 2 p_k / \alpha)_+` has an
    expectation of at most 1 if all hypotheses hold, so that it reaches :math:`1 / \alpha` with a
    probability of at most :math:`\alpha` (Markov), whatever the joint distribution. The least such
    :math:`\alpha` is, with the sorted p-values,

    .. math:: p = \min\Big\{1, \min_{j > K/2} \frac{2 (p_{(1)} + \dots + p_{(j)})}{2j - K}\Big\}.

    With j = K this is twice the mean; fewer leave out large p-values. One p-value stays itself.

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
    Rueschendorf (1982), Random variables with maximum sums, Advances in Applied Probability 14
    (twice the mean); Vovk, Wang (2020), Combining p-values via averaging, Biometrika 107; Gasparin,
    Wang, Ramdas (2025), Combining exchangeable p-values, PNAS 122, section 6.

    Examples
    --------
    >>> averaged_pvalue([0.01, 0.03]), averaged_pvalue([0.04])
    (0.04, 0.04)
    >>> round(averaged_pvalue([0.001, 0.001, 0.001, 0.9]), 4)  # twice the mean is 0.45
    0.003
    """
    values = np.sort(np.asarray(pvalues, dtype=np.float64))
    if values.size == 1:
        return float(values[0])
    j = np.arange(values.size // 2 + 1, values.size + 1)
    bounds = 2.0 * values.cumsum()[j - 1] / (2 * j - values.size)
    return float(min(1.0, bounds.min()))
