"""`monitor`: watch a model row by row, with error rates that hold at all times."""

from __future__ import annotations

from collections.abc import Sequence

from caltest.monitoring.e_process import DEFAULT_LEVEL, Monitor


def monitor(
    *,
    classes: Sequence[object] | None = None,
    groups: Sequence[object] | None = None,
    restart: bool = False,
    memory: int | None = None,
    level: float = DEFAULT_LEVEL,
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
    return Monitor(classes=classes, groups=groups, restart=restart, memory=memory, level=level)
