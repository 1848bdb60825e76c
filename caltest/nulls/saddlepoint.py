"""Saddlepoint approximation of sums over rows: small p-values without resamples."""

from __future__ import annotations

from caltest.measures.base import Measure, Outcome
from caltest.nulls.base import Null
from caltest.nulls.row_sums import sum_test
from caltest.numerics.tilting import Terms, saddlepoint_tail
from caltest.predictions import Predictions

ROUGH = 0.2  # share of one row in the variance from which on errors of 10 % and more occur


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
    small the p-value is: of the order 1 / n for n rows that count alike.

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
        tail=saddlepoint_tail,
        words=_words,
        notes=_notes,
        n_jobs=n_jobs,
    )


def _words(span: float) -> str:
    lattice = f", on a lattice of span {span:.4g}" if span else ""
    return f"approximation of the sum over rows{lattice}"


def _notes(terms: Terms, x: float, span: float) -> tuple[str, ...]:
    """Say where the sum has too few terms of weight to be smooth; on a lattice it need not be."""
    share = 0.0 if span else terms.largest_share(x)
    if share <= ROUGH:
        return ()
    text = (
        f"one row makes up {100 * share:.0f} % of the variance of the sum near the observed value: "
        "the approximation is rough, and null='exact' is not"
    )
    return (text,)


NULL = Null(
    "saddlepoint",
    "saddlepoint approximation of a sum over rows; small p-values without resamples",
    saddlepoint_test,
    resamples=False,
)
