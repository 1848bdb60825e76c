"""Roots of a biased SKCE: the kernel calibration error (KCE), and the MMCE of Kumar et al. 2018."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np

from caltest import checks
from caltest.kernels import (
    Exponential,
    FittedKernel,
    Kernel,
    MatrixKernel,
    Scaled,
    as_matrix_kernel,
)
from caltest.lenses import Lens
from caltest.measures.kernel.all_pairs import AllPairs
from caltest.measures.kernel.skce import KernelMeasure
from caltest.predictions import Measured, Predictions
from caltest.types import Floats
from caltest.units.units import check_one_dimension

__all__ = ["KCE", "MMCE", "kce", "mmce"]

WIDTH = 0.4


@dataclass(frozen=True, kw_only=True)
class KCE(KernelMeasure):
    """The KCE with its kernel; see `kce` for the parameters."""

    kernel: Kernel | None = None

    key: ClassVar[str] = "kce"
    title: ClassVar[str] = "kernel calibration error"
    rooted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)

    symbol: ClassVar[str] = "KCE"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        return as_matrix_kernel(self.kernel)


def kce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    kernel: Kernel | None = None,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Estimate the kernel calibration error by the square root of the biased SKCE.

    With :math:`\delta_i = e_{y_i} - p_i` it is

    .. math:: \Big(n^{-2} \sum_{i,j} \delta_i' k(p_i, p_j) \delta_j\Big)^{1/2}.

    The other estimators of the SKCE can be negative and have no square root.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, at least 0; its expectation is positive for calibrated models too.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A unifying
    framework, NeurIPS 32, definition 3 and table 1.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> ct.measures.kce([[0.6, 0.4], [0.6, 0.4]], [0, 0], kernel=kernel)  # sqrt(2) x 0.4
    0.565685...
    """
    return KCE(kernel=kernel).evaluate(probs, labels, lens, **rows)


@dataclass(frozen=True, kw_only=True)
class MMCE(KernelMeasure):
    """The MMCE with the width of its kernel; see `mmce` for the parameters."""

    width: float = WIDTH

    key: ClassVar[str] = "mmce"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "maximum mean calibration error"
    rooted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.check_positive(self.width, "width")

    symbol: ClassVar[str] = "MMCE"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        # For two classes delta_i' delta_j = 2 (c_i - r_i)(c_j - r_j), hence the half.
        return Scaled(Exponential(self.width), np.eye(2) / 2.0)

    def bind_all_pairs(self, predictions: Predictions) -> AllPairs:
        check_one_dimension(predictions, "the MMCE")
        return super().bind_all_pairs(predictions)

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        return {"kernel": "exponential", "width": self.width}


def mmce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "confidence",
    width: float = WIDTH,
    **rows: Unpack[Measured],
) -> float | Floats:
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return MMCE(width=width).evaluate(probs, labels, lens, **rows)
