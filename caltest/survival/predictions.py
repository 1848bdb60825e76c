"""Predicted risks of an event by a horizon, with the times up to which rows were followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.predictions import Predictions, tables
from caltest.predictions.dependence import CLUSTER
from caltest.types import AnyArray, Codes, Flags, Floats, Ints

AT_A_TIME = 1 << 22  # events redrawn at a time
ROW = "row"
LARGEST = 2.0**53  # code of an event, up to which numbers are whole


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
        counts = np.bincount(self.passed, residuals, self.times.size + 1)
        of_time = np.cumsum(counts[:0:-1])[::-1] / self.left
        compensator = np.append(0.0, np.cumsum(self.hazard * of_time))
        own = np.append(of_time, 0.0)[self.passed] * self.censored
        return np.asarray(residuals + self.mass * (own - compensator[self.passed + self.censored]))

    def redrawn(self, p: Floats, happened: Flags, n_resamples: int, seed: int) -> Iterator[Floats]:
        r"""Yield what multiplies the residual of each row, (b, n), where events are redrawn.

        Given that the status of a row is known, the event has a probability in proportion to
        :math:`p / \bar w_1`, with :math:`\bar w_1` the mean weight of rows with the event, and no
        event one to :math:`(1 - p) / \bar w_0`; the weight is that of a row of the same status.
        The weighted residual has the mean 0 for each p then, where times do not depend on it.

        Parameters
        ----------
        p, happened : (n,) array
            The predicted risk, and whether the event was observed.
        n_resamples, seed : int
            Of the redrawn events.
        """
        rng, step = np.random.default_rng(seed), max(1, AT_A_TIME // p.size)
        known = self.weights > 0
        ratio = np.divide(self.weights, self.mass, out=np.zeros(p.size), where=known)
        alike = (known & (happened == k) for k in (False, True))
        never, ever = (ratio[some if some.any() else known] for some in alike)
        event, none = p / ever.mean(), (1.0 - p) / never.mean()
        own = self.weights * (happened - p)
        for first in range(0, n_resamples, step):
            shape = min(step, n_resamples - first), p.size
            redrawn = rng.random(shape) * (event + none) < event
            weight = np.where(redrawn, rng.choice(ever, shape), rng.choice(never, shape))
            new = self.mass * weight * (redrawn - p)
            yield np.divide(new, own, out=np.zeros(shape), where=own != 0)

    def _sums(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the sums (B, K) of values (B, n) of rows at risk and lost at each time."""
        upto = np.zeros((len(values), self.order.size + 1))
        np.cumsum(values.take(self.order, axis=1), axis=1, out=upto[:, 1:])
        before = upto[:, self.first]
        return upto[:, -1:] - before, upto[:, self.stop] - before


@dataclass(frozen=True, init=False, repr=False, eq=False)
class SurvivalPredictions(Predictions):
    r"""Predicted risks of an event by a horizon, with right-censored times.

    The status of a row at the horizon t is known where it was followed up to t or had an event
    before; these rows have the weight :math:`1 / \hat G(\min(T, t)-)`, others 0, so that the
    weighted share of events is the Kaplan-Meier estimate, with competing events that of
    Aalen-Johansen. Censoring must be independent of time and risk. Tests flip the signs of the
    weighted residuals and take into account that :math:`\hat G` was estimated.

    Parameters
    ----------
    risk : array_like, shape (n,)
        The predicted probability that the event happens by the horizon.
    time : array_like, shape (n,)
        The time of the event or of censoring of each row, above 0.
    event : array_like, shape (n,)
        What happened at that time: 0 or False where the row was censored, 1 or True the event, and
        2, 3, ... competing events.
    horizon : float
        The time by which the risk is predicted, in the unit of `time`.
    cause : int
        The code of the event whose risk is predicted.
    sample_weight, groups, clusters : array_like, shape (n,), optional
        As for `Predictions`; each group has weights of its own.
    source : str
        Where they come from, for print.

    Attributes
    ----------
    time, event : ndarray, shape (n,)
        Times, and codes of what happened.
    mass : ndarray, shape (n,)
        The sample weights over their mean; ones without.
    horizon, cause : float, int
        As given.
    sample_weight : ndarray, shape (n,)
        Those of the status at the horizon, times `mass`; their sum is about n.

    Raises
    ------
    InvalidInput
        If an argument breaks a rule, or no row was followed up to the horizon.

    References
    ----------
    Gerds, Schumacher (2006), Consistent estimation of the expected Brier score in general survival
    models with right-censored event times, Biometrical Journal 48.

    Examples
    --------
    >>> import caltest as ct
    >>> rows = {"time": [1.0, 2.0, 3.0, 4.0, 5.0], "event": [1, 0, 1, 0, 0]}
    >>> survival = ct.SurvivalPredictions([0.4, 0.2, 0.6, 0.1, 0.3], **rows, horizon=3.5)
    >>> survival.sample_weight.round(3).tolist(), survival.labels.tolist()
    ([1.0, 0.0, 1.333, 1.333, 1.333], [1, 0, 1, 0, 0])
    """

    outcome_fields = ("probs", "labels", "time", "event", "mass")
    other_fields = ("classes", "ordinal", "horizon", "cause")
    time: Floats
    event: Codes
    mass: Floats
    horizon: float
    cause: int

    def __init__(
        self,
        risk: object,
        time: object,
        event: object,
        *,
        horizon: float,
        cause: int = 1,
        sample_weight: object = None,
        groups: object = None,
        clusters: object = None,
        source: str = "arrays",
    ) -> None:
        rows = {"sample_weight": sample_weight, "groups": groups, "clusters": clusters}
        checks.suspicions.suspect_index(risk=risk, time=time, event=event, **rows)
        p = check_chances(risk, "risk", "pass the risk by one horizon")
        n, end = p.size, checks.check_positive(horizon, "horizon")
        kind = checks.check_integer(cause, "cause")
        times, codes = _check_times(time, n), check_events(event, n, kind)
        mass = np.ones(n)
        if sample_weight is not None:
            mass = checks.check_weights(sample_weight, n)
            mass = mass / mass.max()  # whose sum is finite
            mass = mass / mass[mass > 0].mean()
        happened = ((codes == kind) & (times <= end)).astype(np.int64)
        names = np.array([f"no event by {end:g}", f"event by {end:g}"])
        arrays = {"labels": happened, "classes": names, "time": times, "event": codes, "mass": mass}
        found: dict[str, Any] = {name: checks.read_only(x) for name, x in arrays.items()}
        found |= {"_event": p, "horizon": end, "cause": kind, "ordinal": False}
        about: dict[str, Any] = {"source": source, "library": tables.library_of(risk, time)}
        dependent = np.arange(n) if clusters is None else clusters
        self._set(found, n, sample_weight=None, groups=None, clusters=dependent, **about)
        values = None if groups is None else checks.check_groups(groups, n)
        self.__dict__.update(groups=values, unit=ROW if clusters is None else CLUSTER)
        self._check_followed()
        self.__dict__["sample_weight"] = checks.read_only(self.censoring.weights)

    @cached_property
    def censoring(self) -> Censoring:
        """The weights of the rows, and what estimating them changes."""
        return Censoring(np.minimum(self.time, self.horizon), self.is_lost, self.mass)

    @property
    def is_lost(self) -> Flags:
        """Whether each row was censored before the horizon, (n,)."""
        return np.asarray((self.event == 0) & (self.time < self.horizon))

    @property
    def has_dependence(self) -> bool:
        """Whether rows depend on each other: they do by the estimated weights."""
        return True

    @property
    def described(self) -> Mapping[str, object]:
        lost = np.count_nonzero(self.is_lost)
        return {"censored": f"{lost} of {self.n} rows before the horizon {self.horizon:g}"}

    @property
    def drawn_from(self) -> Self:
        """All rows: their weights are those of the rows that are drawn."""
        return self

    def subset(self, rows: object) -> Self:
        """Keep some rows: a data set of its own, whose weights are estimated anew.

        Rows of known status alone keep their weights, by which they stand for those that were lost.
        """
        kept = checks.check_rows(rows, self.n)
        part = super().subset(kept)
        if not part.is_lost.any() and self.sample_weight is not None:
            _weigh(part, self.sample_weight[kept])
        else:
            _weigh(part, self.mass[kept])
        return part

    def by_group(self) -> dict[object, Self]:
        """Split the rows by their group; each must have rows that were followed up to the horizon.

        Raises
        ------
        InvalidInput
            If a group has none.
        """
        parts = super().by_group()
        places = np.unique(np.asarray(self.groups), return_inverse=True)[1]
        for place, (group, part) in enumerate(parts.items()):
            _weigh(part, self.mass[places == place])  # also where none of its rows is lost
            part._check_followed(f" in group {group!r}")  # noqa: SLF001, its own
        return parts

    def simulate(self, rng: object = None) -> Predictions:
        """Raise NotApplicable: a predicted risk does not tell when events happen."""
        reason = "times are not known from the risk by a horizon"
        raise NotApplicable(reason, "simulate times, and make SurvivalPredictions of them")

    @classmethod
    def from_frame(cls, *_given: object, **_columns: object) -> NoReturn:
        """Raise NotApplicable: pass the columns themselves."""
        reason = "SurvivalPredictions are made of arrays"
        raise NotApplicable(reason, "pass its columns to SurvivalPredictions")

    read = from_model = from_frame

    def _check_followed(self, where: str = "") -> None:
        """Raise InvalidInput where what happens before the horizon is not known of any late row."""
        counts = self.mass > 0
        last = float(self.time[counts].max())
        if self.is_lost[counts].all():
            got = f"all rows are censored before{where}"
            remedy = "choose an earlier horizon, of which the status of rows is known"
            raise invalid(f"horizon must be reached by rows, not {self.horizon:g}", got, remedy)
        if last < self.horizon and (self.event[counts & (self.time == last)] == 0).any():
            rule = f"horizon must be at most the last time that was observed{where}, {last:g}"
            reason = "beyond it the observed risk is not known: choose an earlier horizon"
            raise invalid(rule, f"{self.horizon:g}", reason)

    @property
    def kind(self) -> str:
        """The horizon, for print."""
        return f"horizon={self.horizon:g}"


def _weigh(rows: SurvivalPredictions, mass: Floats) -> None:
    """Set the sample weights, and estimate those of the known status by them."""
    rows.__dict__.pop("censoring", None)
    rows.__dict__["mass"] = checks.read_only(mass)
    rows.__dict__["sample_weight"] = checks.read_only(rows.censoring.weights)


def _check_times(time: object, n: int) -> Floats:
    """Check times, one per row of the risk, finite and above 0."""
    values = checks.check_column(checks.as_numbers(time, "time"), n, "time").astype(np.float64)
    wrong = ~((values > 0) & (values < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        rule, got = "time must be finite and above 0", f"{values[row]:g} at row {row}"
        raise invalid(rule, got, "drop that row, or correct when its follow-up began")
    return values


def check_chances(values: object, name: str, remedy: str) -> Floats:
    """Check probabilities, one for each row."""
    array = checks.in_one_dimension(checks.as_array(values, name))
    if array.ndim != 1:
        raise invalid(f"{name} must have one dimension", f"shape {array.shape}", remedy)
    return checks.check_event_probs(array, name=name, has_logits=False)


def check_events(event: object, n: int, cause: int = 1) -> Codes:
    """Check what happened: booleans, or whole numbers from 0."""
    values: AnyArray = checks.check_column(event, n, "event")
    if values.dtype.kind == "O":
        values = checks.check_column(values.tolist(), n, "event")
    rule = "event must be 0 where a row is censored, 1 or True the event, 2, 3, ... other events"
    wrong = np.ones(n, np.bool_)
    if values.dtype.kind in "biuf":
        wrong = ~((values >= 0) & (values == np.floor(values)) & (values < LARGEST))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise invalid(rule, f"{shown(values.tolist()[row])} at row {row}", "code it so")
    if np.array_equal(np.unique(values), [1, 2]):
        checks.suspect("event has no 0: no row is censored; if 1 stands for that, pass event - 1")
    elif not (values == cause).any():
        named = ", ".join(f"{code:g}" for code in np.unique(values))
        checks.suspect(f"no row has the event, whose code is {cause}: event holds only {named}")
    return values.astype(np.int64)


# ---- observed risks, and what they say of predicted ones: ratio, slope, curve, D-calibration -----
