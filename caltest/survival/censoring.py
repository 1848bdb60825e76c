"""Weights of the rows whose status at the horizon is known, and what estimating them changes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from caltest.types import Flags, Floats, Ints


class Censoring:
    r"""Inverse-probability-of-censoring weights :math:`w_i = \delta_i / \hat G(u_i-)`.

    :math:`\hat G` is the Kaplan-Meier estimate of being uncensored; of equal times, events come
    before censoring. The mean of w times the indicator of the event is then the Kaplan-Meier or,
    with other events, the Aalen-Johansen estimate. Every statistic of residuals that have these
    weights depends on all rows by :math:`\hat G`; its first derivative by the mass of each row is
    what multipliers and influences take into account.

    Parameters
    ----------
    until : (n,) array
        The time up to which each row was followed, at most the horizon.
    censored : (n,) array of bool
        Whether it was lost before the horizon, without any event.
    mass : (n,) array
        The sample weights.

    References
    ----------
    Graf, Schmoor, Sauerbrei, Schumacher (1999), Statistics in Medicine 18; Satten, Datta (2001),
    The Kaplan-Meier estimator as an inverse-probability-of-censoring weighted average, American
    Statistician 55; Lin, Wei, Ying (1993), Checking the Cox model with cumulative sums of
    martingale-based residuals, Biometrika 80 (multipliers).
    """

    def __init__(self, until: Floats, censored: Flags, mass: Floats) -> None:
        self.until, self.censored, self.mass = until, censored, mass
        self.order: Ints = np.lexsort((censored, until))
        self.times, counts = np.unique(until[censored], return_counts=True)
        before = np.searchsorted(until[self.order], self.times, side="right")
        self.first, self.stop = before - counts, before  # the rows lost at each time
        at_risk, lost = self._sums(mass[np.newaxis])
        self.hazard = (lost / np.where(at_risk > 0, at_risk, 1.0))[0]
        self.left = np.where(at_risk > lost, at_risk - lost, 1.0)[0]  # 1: nobody is left
        # The number of times before that of each row.
        self.passed: Ints = np.searchsorted(self.times, until, side="left")

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 0 where its status is not known, (n,)."""
        stayed = np.append(1.0, np.cumprod(1.0 - self.hazard))[self.passed]
        known = ~self.censored & (stayed > 0)
        return np.where(known, self.mass / np.where(known, stayed, 1.0), 0.0)

    def multipliers(self, signs: Floats) -> Floats:
        r"""Return what multiplies the residual of each row, (B, n), where signs (B, n) do.

        With N the mass that is lost at :math:`v_k` and Y that at risk, and both with signs,

        .. math:: m_j = s_j + \sum_{v_k < u_j} \frac{N_k(s) - Y_k(s) N_k / Y_k}{Y_k - N_k},

        the derivative of :math:`s_j \log w_j` where each mass changes by its sign.
        """
        at_risk, lost = self._sums(signs * self.mass)
        paths = np.zeros((len(signs), self.times.size + 1))
        np.cumsum((lost - self.hazard * at_risk) / self.left, axis=1, out=paths[:, 1:])
        return np.asarray(signs + paths[:, self.passed])

    def influences(self, residuals: Floats) -> Floats:
        """Return what each row adds to the sum of the residuals, (n,), by all weights.

        The sum of signs times these is that of multipliers times the residuals.
        """
        behind = np.append(0.0, np.cumsum(np.bincount(self.passed, residuals)[::-1]))[::-1]
        of_time = np.append(behind, np.zeros(self.times.size + 1))[1 : self.times.size + 1]
        of_time = of_time / self.left
        compensator = np.append(0.0, np.cumsum(self.hazard * of_time))
        own = np.append(of_time, 0.0)[self.passed] * self.censored
        return np.asarray(residuals + self.mass * (own - compensator[self.passed + self.censored]))

    def _sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums (B, K) of values (B, n) of rows at risk and lost at each time."""
        upto = np.zeros((len(values), self.order.size + 1))
        np.cumsum(values[:, self.order], axis=1, out=upto[:, 1:])
        before = upto[:, self.first]
        return upto[:, -1:] - before, upto[:, self.stop] - before
