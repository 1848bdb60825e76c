"""The latent function of Gaussian process calibration, Wenger et al. 2020, figure 2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.plots import base
from caltest.plots.map_values import fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from caltest.calibrators import GPCalibrator

    Floats = NDArray[np.float64]

LOWEST = 500  # of what the largest probability is divided by where the plot starts
SIZE = (5.2, 3.6)


def latent_function(
    calibrator: GPCalibrator, *, confidence: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw the latent function of a `GPCalibrator` with its band, beside that of the identity map.

    Parameters
    ----------
    calibrator : GPCalibrator
        Fitted.
    confidence : float, default 0.95
        Probability of the pointwise band; see `GPCalibrator.latent`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        With the inducing inputs as ticks at its foot. Logarithms have no lower end, so that of
        probabilities the plot starts at 1/500 of the largest.

    Raises
    ------
    NotApplicable
        If the calibrator is another.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    figure 2.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 200, 3, rng=0)
    >>> ax = ct.plots.latent_function(ct.calibrators.GPCalibrator().fit(data))
    >>> ax.get_ylabel()
    'latent function $f(z)$'
    """
    from caltest.calibrators import GPCalibrator

    if not isinstance(fitted(calibrator), GPCalibrator):
        raise NotApplicable(f"{calibrator.title} has no latent function", "use GPCalibrator")
    z = places_of_plot(calibrator.score_range_, logarithmic=not calibrator.from_logits)
    mean, lower, upper = calibrator.latent(z, confidence=confidence)
    ax = base.axes(ax, SIZE)
    band: dict[str, Any] = {"alpha": base.BAND, "color": base.BLUE, "linewidth": 0}
    ax.fill_between(z, lower, upper, label=f"{100 * confidence:g} % band", **band)
    ax.plot(z, mean, color=base.BLUE, linewidth=base.LINE, label="latent mean")
    identity = z if calibrator.from_logits else np.log(z)
    ax.plot(z, identity, color=base.BLACK, ls="--", linewidth=base.THIN, label="identity")
    _draw_ticks(ax, calibrator.inducing_inputs_)
    base.legend(ax)
    name = "logit" if calibrator.from_logits else "probability"
    return base.label_axes(ax, f"{name} $z$", "latent function $f(z)$", calibrator.title)


def places_of_plot(score_range: Floats, *, logarithmic: bool) -> Floats:
    """Return scores to plot at; logarithms have no lower end, so that one is set.

    Where all scores are equal, they are all probabilities, or the logits around.
    """
    low, high = score_range.tolist()
    if low == high:
        low, high = (0.0, 1.0) if logarithmic else (low - 1, high + 1)
    return np.linspace(max(low, high / LOWEST) if logarithmic else low, high, 501)


def _draw_ticks(ax: Axes, inducing_inputs: Floats) -> None:
    rug = list(dict.fromkeys(inducing_inputs.tolist()))
    style: dict[str, Any] = {
        "color": base.BLACK,
        "markersize": 9,
        "clip_on": False,
        "label": "inducing inputs",
    }
    ax.plot(rug, [0.0] * len(rug), "|", transform=ax.get_xaxis_transform(), **style)
