"""D-calibration: whether the predicted probabilities of surviving longer are uniform."""

from __future__ import annotations

import numpy as np
import scipy

from caltest import checks
from caltest.errors import invalid
from caltest.measures.outcome import outcome_of
from caltest.results import HTest
from caltest.survival.predictions import check_events


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
    values = checks.in_one_dimension(checks.as_array(survival, "survival"))
    s = checks.check_event_probs(values, name="survival")
    happened, count = check_events(event, s.size) > 0, checks.check_integer(bins, "bins", 2)
    if not happened.any():
        raise invalid("event must hold an event", f"{s.size} zeros", "pass rows with events")
    bin_of = np.minimum((s * count).astype(np.int64), count - 1)
    # The share of a censored row in its own bin, and in each below.
    rate = 1.0 / np.maximum(s[~happened], np.finfo(np.float64).tiny)
    own, at = np.clip(1.0 - bin_of[~happened] / count * rate, 0.0, 1.0), bin_of[~happened]
    below = np.where(at > 0, rate / count, 0.0)
    later = np.bincount(at, below, count)[::-1].cumsum()[::-1] - np.bincount(at, below, count)
    counts = np.bincount(bin_of[happened], minlength=count) + np.bincount(at, own, count) + later
    expected = s.size / count
    statistic = float(np.square(counts - expected).sum()) / expected
    pvalue = float(scipy.special.chdtrc(count - 1, statistic))
    text = f"chi^2 with {count - 1} degrees of freedom"
    gap = float(np.abs(counts - expected).max()) / s.size
    about = {"bins": count, "censored": f"{np.count_nonzero(~happened)} of {s.size} rows"}
    outcome = outcome_of("chi^2", statistic, pvalue, text, gap, parameters=about)
    return HTest.from_outcome(
        outcome,
        test="d-calibration",
        method="Asymptotic test of calibration: D-calibration",
        estimate_name="largest gap of a bin",
        null="asymptotic",
        n=s.size,
        m=2,
        lens="strong",
        claim="the predicted probabilities of surviving longer are uniform",
        data_name="arrays",
        level=level,
    )
