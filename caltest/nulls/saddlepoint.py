"""Saddlepoint approximation of sums over rows: small p-values without resamples."""

from __future__ import annotations

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Null
from caltest.nulls.row_sums import sum_test
from caltest.numerics.tilting import (
    FINE,
    Terms,
    convolved_tail,
    fine_span,
    fine_tail,
    saddlepoint_tail,
)
from caltest.predictions import Predictions

ROUGH = 0.2  # share of one row in the variance from which on errors of 10 % and more occur
FEW = 12.0  # rows with another label than the most probable, below which they occur too


def saddlepoint_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    r"""Test a sum over rows by its tails under redrawn labels, approximated at a saddlepoint.

    It is for the same null distribution as the exact null: predictions are held fixed, and labels
    are independent, :math:`y_i \sim Cat(p_i)`. With :math:`K(\theta) = \sum_i \log \sum_k p_{ik}
    e^{\theta s_i(k)}` and :math:`K'(\theta) = x`,

    .. math:: P(S \ge x) \approx 1 - \Phi(w) + \phi(w) \left(\frac1u - \frac1w\right), \quad
        w = \pm\sqrt{2 (\theta x - K(\theta))}, \quad u = \theta \sqrt{K''(\theta)},

    and where the scores lie on a lattice of a span d, with the correction for continuity
    :math:`u = (1 - e^{-\theta d}) \sqrt{K''(\theta)} / d`. The relative error is small however
    small the p-value is: of the order 1 / n for n rows that count alike. Where few rows make up
    the sum, its distribution has steps; there the terms are convolved instead, if need be rounded
    to a fine lattice.

    References
    ----------
    Lugannani, Rice (1980), Saddle point approximation for the distribution of the sum of
    independent random variables, Advances in Applied Probability 12; Daniels (1987), Tail
    probability approximations, International Statistical Review 55, section 6 (lattices).
    """
    return sum_test(
        "saddlepoint",
        measure,
        predictions,
        tail=_tail,
        words=_words,
        notes=_notes,
        n_jobs=n_jobs,
    )


def _words(span: float) -> str:
    lattice = f", on a lattice of span {span:.4g}" if span else ""
    return f"approximation of the sum over rows{lattice}"


def _tail(terms: Terms, x: float, span: float) -> float:
    """Return P(S >= x), by convolution where a smooth approximation would be rough."""
    fine = _convolvable(terms, x, span) if _is_rough(terms, x) else 0.0
    if not fine:
        return saddlepoint_tail(terms, x, span)
    return convolved_tail(terms, x, span) if span else fine_tail(terms, x, fine)


def _is_rough(terms: Terms, x: float) -> bool:
    return 0.0 < terms.changes(x) < FEW or terms.largest_share(x) > ROUGH


def _convolvable(terms: Terms, x: float, span: float) -> float:
    """Return the span of the lattice that the terms can be convolved on; 0 for none."""
    if not span:
        return fine_span(terms, x)
    points = float((terms.values.max(axis=1) - terms.values.min(axis=1)).sum()) / span
    return span if points <= FINE else 0.0


def _notes(terms: Terms, x: float, span: float) -> tuple[str, ...]:
    """Say where the sum has too few terms of weight to be smooth; on a lattice it need not be."""
    if not _is_rough(terms, x):
        return ()
    if _convolvable(terms, x, span):
        return ("few rows make up the sum: its terms are convolved, no approximation is needed",)
    text = "few rows make up the sum: the approximation is rough, and null='exact' is not"
    return () if span else (text,)


NULL = Null(
    "saddlepoint",
    "saddlepoint approximation of a sum over rows; small p-values without resamples",
    saddlepoint_test,
    resamples=False,
)
