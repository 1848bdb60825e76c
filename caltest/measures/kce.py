"""Kernel calibration error (KCE), Widmann et al. 2019: the square root of the SKCE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.kernels import Kernel, MatrixKernel, as_matrix_kernel
from caltest.lenses import Lens
from caltest.measures.kernel_roots import RootSKCE


@dataclass(frozen=True, kw_only=True)
class KCE(RootSKCE):
    """The KCE with its kernel; see `kce` for the parameters."""

    kernel: Kernel | None = None

    key: ClassVar[str] = "kce"
    title: ClassVar[str] = "kernel calibration error"

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)

    @property
    def symbol(self) -> str:
        return "KCE"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        return as_matrix_kernel(self.kernel)


def kce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    kernel: Kernel | None = None,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
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
        The aspect of the predictions that is judged. A family of lenses gives an array.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the median bandwidth.
    n_jobs : int, optional
        Threads, as in joblib.

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
    return KCE(kernel=kernel).evaluate(probs, labels, lens, n_jobs)
