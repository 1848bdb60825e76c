"""Laws: the predictive distributions of n rows, whatever they were given as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caltest.errors import invalid
from caltest.forecasts.laws.base import LEAST, Law, read
from caltest.forecasts.laws.families import Cdf, Frozen, Mixture, NormalLaw
from caltest.forecasts.laws.numbers import Histogram, Members, Quantiles

__all__ = [
    "LEAST",
    "Cdf",
    "Frozen",
    "Histogram",
    "Law",
    "Members",
    "Mixture",
    "NormalLaw",
    "Quantiles",
    "law_of",
    "read",
]


def law_of(*, n: int | None = None, **given: Any) -> Law:
    """Make the law of what a forecast was given as: one family of arguments, others None.

    Parameters
    ----------
    n : int, optional
        Number of rows, for a distribution whose parameters are numbers, and for `cdf`.
    mean, scale : array_like, shape (n,)
        Means and standard deviations of Gaussians.
    distribution : frozen distribution of scipy.stats, or Law
        Parameters are numbers or (n,) arrays.
    members : array_like, shape (n, M)
        Ensembles.
    quantiles, levels : array_like, shapes (n, q) and (q,)
        Quantiles and their levels.
    edges, probs : array_like, shapes (b + 1,) or (n, b + 1), and (n, b)
        Histograms.
    cdf, quantile : callable
        Of outcomes (n,) to probabilities (n,), and back; the second is optional.

    Returns
    -------
    Law
        The law.

    Raises
    ------
    InvalidInput
        If none or several families are given, a part is missing, or a value is invalid.
    """
    families: dict[tuple[str, ...], Callable[..., Law]] = {
        ("mean", "scale"): NormalLaw,
        ("distribution",): lambda distribution: _of_distribution(distribution, n),
        ("members",): Members,
        ("levels", "quantiles"): Quantiles,
        ("edges", "probs"): Histogram,
        ("cdf", "quantile"): lambda cdf, quantile: Cdf(cdf, n, quantile),
    }
    found = [names for names in families if any(given.get(name) is not None for name in names)]
    if len(found) != 1:
        got = " and ".join(f"{names[0]}=" for names in found) or "nothing"
        remedy = f"pass one of {', '.join(' and '.join(names) for names in families)}"
        raise invalid("a forecast must be given in one form", got, remedy)
    [names] = found
    for name in names:
        if given.get(name) is None and name != "quantile":
            got = f"{' and '.join(names)} without {name}"
            raise invalid("a forecast must be given whole", got, f"pass {name}= too")
    law = families[names](*map(given.get, names))
    if n is not None and law.n != n:
        rule, remedy = "a forecast must have a row for each outcome", "take both from the same rows"
        raise invalid(rule, f"{law.n} for {n} rows", remedy)
    return law


def _of_distribution(given: object, n: int | None) -> Law:
    law = given if isinstance(given, Law) else Frozen(given, n)
    is_normal = isinstance(law, Frozen) and law.title in ("norm", "Normal")
    return NormalLaw(law.mean, law.sd) if is_normal else law
