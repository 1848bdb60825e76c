"""The picture of a latent function, as in figure 2 of Wenger et al. 2020."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from caltest.calibrators.inputs import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST = 500  # of what the largest probability is divided by where the plot starts


class LatentFunction(NamedTuple):
    """The latent function at some scores: its mean and the ends of a pointwise band."""

    mean: Floats
    lower: Floats
    upper: Floats


def places_of_plot(score_range: Floats, *, logarithmic: bool) -> Floats:
    """Return scores to plot at; logarithms have no lower end, so that one is set.

    Where all scores are equal, they are all probabilities, or the logits around.
    """
    low, high = score_range.tolist()
    if low == high:
        low, high = (0.0, 1.0) if logarithmic else (low - 1, high + 1)
    return np.linspace(max(low, high / LOWEST) if logarithmic else low, high, 501)


def plot_latent(
    z: Floats,
    prior: Floats,
    band: LatentFunction,
    inducing_inputs: Floats,
    *,
    name: str,
    level: float,
    ax: Axes | None,
) -> Axes:
    """Draw the mean and band of the latent function over that of the identity map."""
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure(figsize=(5, 3.5), layout="constrained").add_subplot()
    mean, lower, upper = band
    ax.fill_between(z, lower, upper, alpha=0.25, linewidth=0, label=f"{100 * level:g} % band")
    ax.plot(z, mean, label="latent mean")
    ax.plot(z, prior, color="0.4", linestyle="--", linewidth=1, label="identity")
    rug = dict.fromkeys(inducing_inputs.tolist())
    ax.plot(
        list(rug),
        [0.0] * len(rug),
        "|",
        color="black",
        markersize=9,
        transform=ax.get_xaxis_transform(),
        clip_on=False,
        label="inducing inputs",
    )
    ax.set_xlabel(f"{name} $z$")
    ax.set_ylabel("latent function $f(z)$")
    ax.legend(frameon=False)
    return ax
