"""Expected calibration error (ECE) over bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import BoundMeasure
from caltest.measures.binning import BinnedMeasure, check_power
from caltest.measures.bins.binned import Distance, bind_error, check_distance

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions

__all__ = ["ECE", "ece"]


@dataclass(frozen=True, kw_only=True)
class ECE(BinnedMeasure):
    """The ECE with its bins and distance; see `ece` for the parameters."""

    distance: Distance = "tv"
    p: float = 1

    key: ClassVar[str] = "ece"
    title: ClassVar[str] = "expected calibration error"
    binnings: ClassVar[tuple[str, ...]] = ("uniform", "quantile", "median-variance", "sweep")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.distance)
        check_power(self.p)

    @property
    def symbol(self) -> str:
        return "ECE" if self.p == 1 else f"ECE_{self.p:g}"

    def bind_weighted(self, predictions: Predictions) -> BoundMeasure:
        return bind_error(self, predictions, self.distance, float(self.p))


def ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    min_size: int = 10,
    max_bins: int | None = None,
    distance: Distance = "tv",
    p: float = 1,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the expected calibration error, the mean distance of labels to predictions in bins.

    With the mean prediction :math:`\bar p_b` and the mean unit vector of the labels
    :math:`\bar y_b` of the :math:`n_b` observations in bin b,

    .. math:: ECE_p = \Big(\sum_b \frac{n_b}{n} d(\bar y_b, \bar p_b)^p\Big)^{1/p}.

    The confidence-ECE of the machine-learning papers, the mean of `|accuracy - confidence|`, is
    lens="confidence": the total variation distance of two binary distributions is the distance of
    their events. Class-j-ECE is lens=Classwise(j), and "classwise" gives all of them.

    A calibrated model has a positive ECE too, that grows with the number of bins; the test "ece"
    of `test_calibration` tells what is to be expected. p-conf-ECE of Kull et al. is its exact null
    with lens="confidence", bins=15 (the default) and n_resamples=10_000, but for the 1 that
    (1 + #) / (1 + B) adds. The null redraws labels and not the counts of the bins, since a count
    is a sum of unequal Bernoullis and not binomial.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is judged. A family of lenses gives an array.
    binning : {"uniform", "quantile", "median-variance", "sweep"}
        - "uniform": bins of equal width ((k - 1)/B, k/B], 0 in the first; a grid over all classes,
          for two classes over P(class 1) alone.
        - "quantile": bins of equal mass along P(class 1), for two classes; ties are never split.
        - "median-variance": the bin with the largest variance of a component is split at the median
          of that component, until its halves would have less than `min_size` observations.
        - "sweep": bins of equal mass as many as keep the mean labels monotone, for two classes; the
          number grows from 1 until they are not.
    bins : int, default 15
        B, for "uniform" and "quantile".
    min_size : int, default 10
        Smallest size of a bin, for "median-variance".
    max_bins : int, optional
        Largest number of bins, for "median-variance".
    distance : {"tv", "cityblock", "sqeuclidean"} or callable
        Total variation is half the city-block distance. A callable takes a mean prediction and a
        mean label, both (m,), returns a number of at least 0, and is meant for few bins.
    p : float, default 1
        At least 1; infinity gives the maximum, see `mce`.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In units of the distance. Sample weights count an observation w_i times ("sweep" takes
        none). Bins of equal width on one-dimensional predictions take one pass.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If "quantile" or "sweep" meet more than two classes, or there are fewer than `min_size`
        observations.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    equation 1 (ECE_p); Widmann et al. (2019), Calibration tests in multi-class classification,
    section 3 and Vaicenavicius et al. (2019) (bins over the simplex, median-variance bins);
    Kull et al. (2019), Beyond temperature scaling, NeurIPS 32, section 2; Roelofs et al. (2022),
    Mitigating bias in calibration error estimation, AISTATS, section 4 (sweep).

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1]
    >>> float(round(ct.measures.ece(probs, labels, bins=2), 3))  # |1/2 - 0.2| / 2 + |1 - 0.8| / 2
    0.25
    """
    measure = ECE(
        binning=binning, bins=bins, min_size=min_size, max_bins=max_bins, distance=distance, p=p
    )
    return measure.evaluate(probs, labels, lens, n_jobs)
