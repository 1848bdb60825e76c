"""Tests of predicted survival curves at the own time of each row."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable
from caltest.measures.outcome import outcome_of
from caltest.results import HTest
from caltest.survival.predictions import check_chances, check_events
from caltest.types import AnyArray, Flags, Floats

ENOUGH = 5.0  # events, or rows, that are expected in an interval


def d_calibration(
    survival: object, event: object, *, bins: int = 10, level: float | None = None
) -> HTest:
    r"""Test predicted survival curves at the time of each row, by bins.

    Where the curves :math:`S_i` are right, :math:`S_i(T_i)` is uniform on [0, 1]. A row that is
    censored at c counts in every bin by the probability that its event would have been in it:
    with :math:`s = S_i(c)` in the bin from a to b by :math:`(s - a) / s`, in each bin below by
    :math:`(b - a) / s`. Pearson's statistic of the counts has about the chi^2 distribution with
    one degree less than there are bins, and a smaller one where rows are censored.

    Parameters
    ----------
    survival : array_like, shape (n,)
        The predicted probability of each row to survive its own observed time, S_i(T_i).
    event : array_like, shape (n,)
        1 or True where the event happened at that time, 0 where the row was censored.
    bins : int
        Bins of equal width, at least 2.
    level : float, optional
        Significance level; the print holds a decision only where it is given.

    Returns
    -------
    HTest
        The test; its estimate is the largest gap of the share of a bin.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If no event happened and none is expected.

    References
    ----------
    Haider, Hoehn, Davis, Greiner (2020), Effective ways to build and evaluate individual survival
    distributions, J. Machine Learning Research 21, section 3.5.

    Examples
    --------
    >>> import numpy as np
    >>> uniform = (np.arange(200) + 0.5) / 200
    >>> d_calibration(uniform, np.ones(200)).pvalue
    1.0
    """
    s, happened, count = _own_times(survival, event, bins)
    bin_of = np.minimum((s * count).astype(np.int64), count - 1)
    # The share of a censored row in its own bin, and in each below.
    rate = 1.0 / np.maximum(s[~happened], np.finfo(np.float64).tiny)
    own, at = np.clip(1.0 - bin_of[~happened] / count * rate, 0.0, 1.0), bin_of[~happened]
    below = np.where(at > 0, rate / count, 0.0)
    later = np.bincount(at, below, count)[::-1].cumsum()[::-1] - np.bincount(at, below, count)
    counts = np.bincount(bin_of[happened], minlength=count) + np.bincount(at, own, count) + later
    estimate = float(np.abs(counts - s.size / count).max()) / s.size, "largest gap of a bin"
    found = (counts, s.size / count, happened, estimate)
    return _result_of("D-calibration", *found, freedom=count - 1, level=level)


def a_calibration(
    survival: object, event: object, *, bins: int = 10, level: float | None = None
) -> HTest:
    r"""Test predicted survival curves by events and rows at risk, with few or many censored rows.

    Where the curves are right, :math:`V_i = -\log S_i(T_i)` are exponential numbers, censored where
    the row is, and the number of events in an interval from a to b less the expected one,
    :math:`\sum_i (\min(V_i, b) - \min(V_i, a))`, is a martingale. Pearson's statistic over
    intervals with equal expected numbers, of at least 5 events each, has about the chi^2
    distribution with as many degrees as there are intervals, whatever the share of censored rows,
    where `d_calibration` has less power the more there are. Where fewer than 10 events are
    expected there is one interval, and the p-value is twice the smaller tail of the Poisson
    distribution with that mean.

    Parameters
    ----------
    survival : array_like, shape (n,)
        The predicted probability of each row to survive its own observed time, S_i(T_i).
    event : array_like, shape (n,)
        1 or True where the event happened at that time, 0 where the row was censored.
    bins : int
        Intervals, at least 2; fewer where fewer than 5 events are expected in each.
    level : float, optional
        Significance level; the print holds a decision only where it is given.

    Returns
    -------
    HTest
        The test; its estimate is the number of events over the expected one, above 1 where times
        are shorter than predicted.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If no event happened and none is expected.

    References
    ----------
    Akritas (1988), Pearson-type goodness-of-fit tests: the univariate case, J. Am. Stat. Assoc. 83;
    Simonsen, Waagepetersen (2025), A-calibration: assessment of prediction models for survival data
    under censoring, BMC Medical Research Methodology 25, 236.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> time, lost = rng.exponential(size=(2, 200))
    >>> survival, event = np.exp(-np.minimum(time, lost)), time <= lost
    >>> round(a_calibration(survival, event).pvalue, 2)
    0.25
    >>> a_calibration(survival**1.5, event).pvalue < 0.01
    True
    """
    s, happened, most = _own_times(survival, event, bins)
    if not s.all():
        never = f"survival is 0 in {np.count_nonzero(s == 0.0)} of {s.size} rows at their own time"
        checks.suspect(f"{never}, up to which none lives: pass probabilities that are not rounded")
    v = -np.log(np.maximum(s, np.finfo(np.float64).tiny))
    ordered, later = np.sort(v), np.arange(v.size)[::-1]
    upto, total = np.cumsum(ordered) + ordered * later, float(v.sum())  # events that are expected
    count = max(1, min(most, int(total / ENOUGH)))
    shares = total * np.arange(1, count) / count
    ends = np.interp(shares, np.append(0.0, upto), np.append(0.0, ordered))
    counts = np.bincount(np.searchsorted(ends, v[happened]), minlength=count)
    ratio = float(counts.sum()) / total if total > 0.0 else math.inf
    estimate = ratio, "observed / expected events"
    found = (counts, total / count, happened, estimate)
    return _result_of("A-calibration", *found, freedom=count, level=level)


def _own_times(survival: object, event: object, bins: int) -> tuple[Floats, Flags, int]:
    """Check predicted probabilities at the rows' own times, events, and a number of bins."""
    checks.suspect_index(survival=survival, event=event)
    s = check_chances(survival, "survival", "pass that of each row at its own time")
    happened, count = check_events(event, s.size) > 0, checks.check_count(bins, minimum=2)
    if s.min() == 1.0 and not happened.any():
        reason = "survival is 1 in all rows and no event happened, so that nothing can be tested"
        raise NotApplicable(reason, "pass rows that were followed longer")
    return s, happened, count


def _result_of(
    title: str,
    counts: AnyArray,
    expected: float,
    happened: Flags,
    estimate: tuple[float, str],
    *,
    freedom: int,
    level: float | None,
) -> HTest:
    """Return the test of numbers of events in bins of an equal expected number."""
    lost = f"{np.count_nonzero(~happened)} of {happened.size} rows"
    about: dict[str, Any] = {"parameters": {"bins": counts.size, "censored": lost}}
    if counts.size == 1:
        name, statistic, text = "events", float(counts[0]), f"Poisson with mean {expected:.4g}"
        above = float(scipy.special.pdtrc(statistic - 1.0, expected)) if statistic else 1.0
        pvalue = min(1.0, 2.0 * min(above, float(scipy.special.pdtr(statistic, expected))))
    else:
        name, statistic = "chi^2", float(np.square(counts - expected).sum()) / expected
        pvalue = float(scipy.special.chdtrc(freedom, statistic))
        text = f"chi^2 with {freedom} degree{'' if freedom == 1 else 's'} of freedom"
        if expected < ENOUGH:
            about["notes"] = (f"{expected:.3g} are expected in each bin: of few, chi^2 is rough",)
    return HTest.from_outcome(
        outcome_of(name, statistic, pvalue, text, estimate[0], **about),
        test=title.lower(),
        method=f"Asymptotic test of calibration: {title}",
        estimate_name=estimate[1],
        null="asymptotic",
        n=happened.size,
        m=2,
        lens="strong",
        claim="the predicted probabilities of surviving longer are uniform",
        data_name="arrays",
        level=None if level is None else checks.check_level(level),
    )
