"""Pictures of reliability diagrams; each has been looked at."""

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import corp_band
from caltest.plots import reliability_diagram, reliability_grid

STEEP = generative_model("M1", n=400, m=2, alpha=1.0, rng=3)
OVER = Predictions(
    np.clip(1.6 * STEEP.probs[:, 1] - 0.3, 0.01, 0.99),
    np.array(["no", "yes"])[STEEP.labels],
    classes=["no", "yes"],
)
M3 = generative_model("M2", n=1000, m=3, rng=1)


def diagram(**options):
    return lambda: reliability_diagram(OVER, **options)


PICTURES = {
    "reliability": lambda: reliability_diagram(
        calibration_test(OVER, test="ece", n_resamples=99, rng=1), bins=10
    ),
    "reliability_confidence": lambda: reliability_diagram(
        calibration_test(M3, test="skce", n_resamples=99, rng=1)
    ),
    "reliability_band": diagram(band="consistency", binning="quantile", bins=8, histogram=False),
    "reliability_corp": lambda: reliability_diagram(
        calibration_test(OVER, test="corp", n_resamples=99, rng=1),
        corp=True,
        band=corp_band(OVER, n_resamples=199, rng=1),
    ),
    "reliability_confidence_band": diagram(corp=True, band="confidence"),
    "reliability_constant": lambda: reliability_diagram([0.3] * 50, [0] * 20 + [1] * 30),
}


@pytest.mark.parametrize("name", PICTURES)
def test_reliability_diagram_is_drawn_as_stored(name, assert_same_picture):
    """The picture is that of the stored file."""
    assert_same_picture(PICTURES[name]().figure, name)


def test_reliability_grid_is_drawn_as_stored(assert_same_picture):
    """The picture of three classes with their p-values is that of the stored file."""
    table = calibration_test(M3, test="ece", lens="classwise", n_resamples=99, rng=1)
    assert_same_picture(reliability_grid(table, bins=10)[0].figure, "reliability_grid")


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_reliability_grid_of_many_classes_is_drawn_as_stored(assert_same_picture):
    """The picture of the worst 5 of 30 classes is that of the stored file."""
    rng = np.random.default_rng(1)
    probs = rng.dirichlet(np.full(30, 0.1), 2000)
    names = [f"{kind} of a long name" for kind in range(30)]
    data = Predictions(probs, rng.permutation(30)[probs.argmax(1)], classes=range(30))
    data = Predictions(probs, np.array(names)[data.labels], classes=names)
    assert_same_picture(reliability_grid(data, most=5)[0].figure, "reliability_grid_worst")
