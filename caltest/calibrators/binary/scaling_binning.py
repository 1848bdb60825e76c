"""The scaling-binning calibrator: a fitted map, averaged over bins of equal mass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.calibrators.binary.binning import look_up, quantile_bin_sums
from caltest.calibrators.binary.parametric import PlattScaling
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_integer
from caltest.numerics.ordered import moderate_weight
from caltest.types import Flags, Floats


@dataclass(kw_only=True, eq=False, repr=False)
class ScalingBinning(PlattScaling):
    r"""Scaling-binning: Platt scaling, averaged over bins of equal mass of what it predicts.

    .. math:: \hat\mu(p) = \frac{\sum_{i: g(p_i) \in I_k} w_i g(p_i)}{\sum_{i: g(p_i) \in I_k} w_i}
        \quad \text{for } g(p) \in I_k,

    with g the map of `PlattScaling` and bins as in `HistogramBinning(binning="quantile")`. It takes
    B values, so that its calibration error can be measured without bias, as that of a histogram;
    and since g varies less within a bin than labels do, it needs fewer rows.

    Parameters
    ----------
    bins : int, default 15
        Number of bins B; fewer where there are ties.
    scale : {"log-odds", "probability"}, default "log-odds"
        As in `PlattScaling`.
    smooth_targets : bool, default False
        As in `PlattScaling`.
    clip : float, default 2.2e-16
        As in `PlattScaling`.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    slope_, intercept_ : float
        The parameters of g.
    cuts_ : (B - 1,) array
        Cuts between the bins of g.
    values_ : (B,) array
        Mean of g in each bin.

    Notes
    -----
    Map, bins and means are of the same rows, as in the authors' package uncertainty-calibration;
    the theorems of the paper give each of them rows of its own.

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration, NeurIPS 32, section 4.1.

    Examples
    --------
    >>> from caltest.calibrators import ScalingBinning
    >>> p, y = [0.1, 0.4, 0.6, 0.8, 0.7, 0.3], [0, 1, 0, 1, 1, 0]
    >>> ScalingBinning(bins=2).fit(p, y).predict_proba([0.2, 0.7])[:, 1].round(4)
    array([0.2015, 0.7985])
    """

    key: ClassVar[str] = "scaling-binning"
    title: ClassVar[str] = "Scaling-binning"

    bins: int = 15

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        bins = check_integer(self.bins, "bins")
        super()._fit_event(inputs, event, weight)
        scaled = super()._event(inputs)
        self.cuts_ = quantile_bin_sums(scaled, event, weight, bins)[0]
        place = np.searchsorted(self.cuts_, scaled)
        weight = np.ones(scaled.size) if weight is None else moderate_weight(weight)
        self.values_ = np.bincount(place, weight * scaled) / np.bincount(place, weight)

    def _event(self, inputs: Inputs) -> Floats:
        return look_up(super()._event(inputs), self.cuts_, self.values_)
