"""Maximum mean calibration error (MMCE), Kumar et al. 2018."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.kernels import Exponential, FittedKernel, MatrixKernel, Scaled
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure
from caltest.measures.kernel.kce import RootSKCE
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.residual_sums import ResidualStatistic
from caltest.predictions import Predictions

__all__ = ["MMCE", "mmce"]

WIDTH = 0.4


@dataclass(frozen=True, kw_only=True)
class MMCE(RootSKCE):
    """The MMCE with the width of its kernel; see `mmce` for the parameters."""

    width: float = WIDTH

    key: ClassVar[str] = "mmce"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "maximum mean calibration error"

    def __post_init__(self) -> None:
        validation.check_positive(self.width, "width")

    @property
    def symbol(self) -> str:
        return "MMCE"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        # For two classes delta_i' delta_j = 2 (c_i - r_i)(c_j - r_j), hence the half.
        return Scaled(Exponential(self.width), np.eye(2) / 2.0)

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        check_one_dimension(predictions, "the MMCE")
        return super().bind(predictions, n_jobs)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        check_one_dimension(predictions, "the MMCE")
        return super().residual_statistics(predictions, n_jobs)

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        return {"kernel": "exponential", "width": self.width}


def mmce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "confidence",
    width: float = WIDTH,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Estimate the maximum mean calibration error, a kernel calibration error of the confidence.

    With confidences r and c = 1 where the predicted class is right, it is

    .. math:: \Big(n^{-2} \sum_{i,j} (c_i - r_i)(c_j - r_j) e^{-|r_i - r_j| / w}\Big)^{1/2},

    which is :math:`1/\sqrt{2}` times the KCE of the confidence lens with the exponential kernel of
    bandwidth w (and its KCE with half that kernel). Sorted, it takes O(n log n).

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "confidence"
        Any lens with two classes; r is then the probability of its event. A family gives an array.
    width : float, default 0.4
        w > 0, in units of probability; 0.4 is that of the authors' experiments.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        In units of probability, at least 0.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Kumar, Sarawagi, Jain (2018), Trainable calibration measures for neural networks from kernel
    mean embeddings, ICML 35, section 3. The training loss of the authors' code is its square.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.mmce([[0.6, 0.4], [0.6, 0.4]], [0, 0])  # right twice with confidence 0.6
    0.4
    """
    return MMCE(width=width).evaluate(probs, labels, lens, n_jobs)
