"""Targets of Gaussian-process regressions that classify: Dirichlet pseudo-observations, labels.

Class c's regression has the target t_on and the noise s_on in the rows of class c, and t_off and
s_off in all other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """Normal observations of K latent functions.

    Attributes
    ----------
    on, off : (K,) array
        Target of class c's regression in rows of class c, and in the others.
    noise_on, noise_off : float
        Their variances.
    centre : (K,) array
        What was subtracted from the targets: the prior mean of each class.
    """

    on: Floats
    off: Floats
    noise_on: float
    noise_off: float
    centre: Floats

    @property
    def same_noise(self) -> bool:
        """Whether all rows have the same noise, and so all regressions the same covariance."""
        return self.noise_on == self.noise_off

    def of(self, c: int, codes: Codes) -> tuple[Floats, Floats]:
        """Return class c's targets and noise for rows of the classes `codes`."""
        own = codes == c
        targets = np.where(own, self.on[c], self.off[c])
        return targets, np.where(own, self.noise_on, self.noise_off)

    def of_all(self, codes: Codes) -> tuple[Floats, Floats]:
        """Return targets and noises of all classes for rows of the classes `codes`, (n, K)."""
        own = codes[:, None] == np.arange(len(self.on))
        return np.where(own, self.on, self.off), np.where(own, self.noise_on, self.noise_off)


def pseudo_targets(alpha: float, counts: Codes) -> Targets:
    """Match the moments of Gamma(alpha_c, 1) by a log-normal, Milios et al. (2018), equation 5.

    The Dirichlet parameters are 1 + alpha for the observed class and alpha for the others. The
    targets are centred as in the authors' code: the prior has the observed shares of the classes,
    and the mean of all targets, each class counted once in each row, is that of the centres.

    Parameters
    ----------
    alpha : float
        alpha_epsilon, positive.
    counts : (K,) array
        Observations of each class, at least 1.
    """
    parameters = np.array([1 + alpha, alpha])
    noise = np.log1p(1 / parameters)
    on, off = np.log(parameters) - noise / 2
    K = len(counts)
    mean = (on + (K - 1) * off) / K
    logs = np.log(counts / counts.sum())
    centre = logs + mean - logs.mean()
    return Targets(on - centre, off - centre, float(noise[0]), float(noise[1]), centre)


def label_targets(noise: float, counts: Codes) -> Targets:
    """Return one-hot labels, less their means, with the same noise everywhere."""
    share = counts / counts.sum()
    return Targets(1 - share, -share, noise, noise, share)
