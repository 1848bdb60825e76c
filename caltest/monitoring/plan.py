"""A monitor, and the plan of many."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self, Unpack

from caltest.errors import NotApplicable, invalid
from caltest.monitoring.e_process import DEFAULT_LEVEL, Monitor
from caltest.predictions.options import NoOptions, check_names
from caltest.render import Sheet, digits_of_share, number
from caltest.results.base import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftDelay:
    """How soon a drift is found.

    Attributes
    ----------
    drift : str
        What is true after the change.
    error : float
        The mean error of a probability: its total variation distance from the truth.
    rows, rows_90 : float
        Rows from the change to the alarm: median, and what 90 % of the streams do not exceed;
        infinite where they were longer than was simulated.
    days, days_90 : float
        The same in days.
    """

    drift: str
    error: float
    rows: float
    rows_90: float
    days: float
    days_90: float


@dataclass(frozen=True, repr=False, kw_only=True)
class MonitoringPlan(Table[DriftDelay]):
    """Levels that share a budget of false alarms, and what a monitor at its level finds how soon.

    Attributes
    ----------
    rows : tuple of DriftDelay
        One for each drift.
    false_alarms_per_year : float
        Of all models and checks together, at most, on average.
    monitor_level : float
        For `caltest.monitor(restart=True, level=...)` of each model: 1 / level rows or more between
        false alarms on average.
    check_level : float or None
        For tests of a fixed number of rows, one at each check of each model, as in pytest.
    rows_per_day, checks_per_day : float
        Of each model; no checks are 0.
    models : int
        Number of models.
    predictions : str
        Where the predictions come from.
    n_streams, seed : int
        Of the simulation.
    """

    schema: ClassVar[str] = "caltest/monitoring-plan/1"

    rows: tuple[DriftDelay, ...]
    false_alarms_per_year: float
    monitor_level: float
    check_level: float | None
    rows_per_day: float
    checks_per_day: float
    models: int
    predictions: str
    n_streams: int
    seed: int

    def monitor(
        self,
        *,
        classes: Sequence[object] | None = None,
        groups: Sequence[object] | None = None,
        memory: int | None = None,
    ) -> Monitor:
        """Begin the monitor of one model, at the level of the plan.

        Parameters
        ----------
        classes, groups, memory : optional
            As for `caltest.monitor`.

        Returns
        -------
        Monitor
            With `restart=True`.
        """
        level = self.monitor_level
        return Monitor(classes=classes, groups=groups, restart=True, memory=memory, level=level)

    def level_of_checks(self) -> float:
        """Return the level of a test of a fixed number of rows, which must be planned.

        Returns
        -------
        float
            The attribute `check_level`.

        Raises
        ------
        NotApplicable
            If the plan has none.
        """
        if self.check_level is None:
            reason = "the plan has no level for tests"
            raise NotApplicable(reason, "plan some with checks_per_day=1")
        return self.check_level

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a plan that was written as JSON.

        Parameters
        ----------
        path : str or Path
            A file with what `to_json` gave.

        Returns
        -------
        MonitoringPlan
            The plan.

        Raises
        ------
        InvalidInput
            If the file cannot be read, or holds something else.
        """
        try:
            values = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            rule = "a plan must be a file with the JSON of a plan of monitoring"
            got = f"{type(error).__name__}: {error}"
            raise invalid(rule, got, "write it with plan.to_json()") from error
        return cls.from_dict(values)

    def _sheet(self) -> Sheet:
        models = f" for each of {self.models:,} models" if self.models > 1 else ""
        per_day = (
            f"{self.rows_per_day:,.0f}" if self.rows_per_day >= 100 else number(self.rows_per_day)
        )
        facts = [
            ("false alarms", f"{self.false_alarms_per_year:g} a year on average, at most"),
            ("rows", f"{per_day} a day{models}"),
            ("monitor", f"ct.monitor(restart=True, level={self.monitor_level:.2g})"),
        ]
        if self.check_level is not None:
            checks = f"{number(self.checks_per_day)} a day at level {self.check_level:.2g}"
            facts.append(("checks", checks))
        facts.append(("predictions", self.predictions))
        grid = []
        for row in self.rows:
            cells = [(f"{count:,.0f}", count) for count in (row.rows, row.rows_90)]
            cells += [(number(float(f"{day:.2g}")), day) for day in (row.days, row.days_90)]
            cells_shown = (text if math.isfinite(value) else "more" for text, value in cells)
            points = f"{100 * row.error:.{digits_of_share(row.error)}f}"
            grid.append((row.drift, points, *cells_shown))
        return Sheet(
            title="Plan of monitoring, by simulation",
            facts=tuple(facts),
            header=("after the change", "points", "rows", "90 %", "days", "90 %"),
            rows=tuple(grid),
            closing=(
                ("points", "mean error of a probability, in percentage points"),
                ("rows, days", f"to the alarm, median and 90 % of {self.n_streams} streams"),
            ),
            listing=True,
        )


# ---- `monitor`: watch a model row by row, with error rates that hold at all times ---------------


def monitor(
    *,
    classes: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    restart: bool = False,
    memory: int | None = None,
    level: float = DEFAULT_LEVEL,
    **others: Unpack[NoOptions],
) -> Monitor:
    r"""Watch a model: an e-process of all its predictions and outcomes so far.

    The hypothesis is that, whatever came before, class k happens with the predicted probability
    :math:`p_{tk}`. A bet is a probability :math:`q_t` chosen before the outcome, and multiplies its
    wealth by :math:`q_t(y_t) / p_t(y_t)`, which has expectation 1. The average of the wealth of
    all bets is an e-process: under the hypothesis the probability that it ever reaches 1 / level is
    at most the level (Ville), however often one looks and whenever one stops.

    Bets are on temperatures, on the frequencies of classes, on a recalibration that is learned
    from the rows so far, on an increasing function of the confidence, and on the residuals of
    similar predictions.

    Of forecasts of numbers a bet is a density q of the uniform number :math:`F_t(Y_t)`, randomised
    where F has steps, or of its normal score, and multiplies its wealth by the likelihood ratio: on
    a location, a scale, both, a slope along the forecast mean, and on the shape that is learned.

    Parameters
    ----------
    classes : sequence of length m, optional
        Names of the classes, in the order of the columns; by default those of the first update.
    groups : sequence, optional
        The groups that are watched beside all rows, fixed in advance.
    restart : bool
        Whether a process is begun at every row and their sum is watched, for a model that was
        calibrated and drifts: what holds then is the mean number of rows until a false alarm, at
        least 1 / level (e-detector of Shiryaev and Roberts' type), in place of the probability of
        ever having one.
    memory : int, optional
        Over how many rows what is learned fades; by default never, with `restart` 5000.
    level : float
        At which an alarm is raised, the probability of ever having a false one.
    **others
        None: what has the name that another library uses is answered with the one meant.

    Returns
    -------
    Monitor
        Its `update` takes rows.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.

    References
    ----------
    Ville (1939), Étude critique de la notion de collectif; Ramdas, Grünwald, Vovk, Shafer (2023),
    Game-theoretic statistics and safe anytime-valid inference, Statistical Science 38; Shin,
    Ramdas, Rinaldo (2023), E-detectors, NEJSDS 2; Dimitriadis, Henzi, Puke, Ziegel (2022), A safe
    Hosmer-Lemeshow test; Cutkosky, Orabona (2018), Black-box reductions for parameter-free online
    learning, COLT.

    Examples
    --------
    >>> import caltest as ct
    >>> watch = ct.monitor()
    >>> day = ct.datasets.generative_model("M2", n=500, m=2, rng=1)
    >>> watch.update(day).alarm()
    True
    >>> watch.n, watch.alarm_after is not None
    (500, True)
    """
    check_names(others, NoOptions, monitor)
    return Monitor(classes=classes, groups=groups, restart=restart, memory=memory, level=level)
