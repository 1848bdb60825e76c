"""Pictures of decision curves, attributes and the parts of scores."""

import numpy as np
import pytest

import caltest as ct
from caltest import plots

DATA = ct.datasets.generative_model("M2", n=400, m=2, alpha=1.0, rng=1)
HALF = np.arange(400) < 200
MODELS = {"as it is": DATA.probs, "cautious": (DATA.probs + 0.5) / 2, "bold": DATA.probs.round(1)}


def recalibrated():
    """A decision curve before and after recalibration."""
    platt = ct.calibrators.PlattScaling().fit(DATA.subset(HALF))
    return plots.decision_curve(DATA.subset(~HALF), platt)


PICTURES = {
    "decision_curve": recalibrated,
    "attributes_diagram": lambda: plots.attributes_diagram(DATA),
    "calibration_errors": lambda: plots.calibration_errors(
        ct.compare_models(MODELS, DATA.labels, test="ece", n_resamples=99, rng=1).tests
    ),
    "mcb_dsc": lambda: plots.mcb_dsc(MODELS, DATA.labels),
    "reliability_log_odds": lambda: plots.reliability_diagram(DATA, scale="log-odds"),
    "reliability_zoomed": lambda: plots.reliability_diagram(
        DATA.probs[:, 1] / 10, DATA.labels * (np.arange(400) % 10 == 0)
    ),
}


@pytest.mark.parametrize("name", PICTURES)
def test_plot_is_drawn_as_stored(name, assert_same_picture):
    """The picture is that of the stored file."""
    assert_same_picture(PICTURES[name]().figure, name)
