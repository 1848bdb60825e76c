import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput
from caltest.plots import mcb_dsc

DATA = ct.datasets.generative_model("M1", n=300, m=2, alpha=1.0, rng=1)
MODELS = {"as it is": DATA.probs, "cautious": (DATA.probs + 0.5) / 2}


def test_points_are_the_parts_of_the_score():
    """A map that keeps the order of predictions keeps their discrimination."""
    ax = mcb_dsc(MODELS, DATA.labels)
    parts = [ct.measures.score_decomposition(p, DATA.labels) for p in MODELS.values()]
    expected = [(part.miscalibration, part.discrimination) for part in parts]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), expected)
    assert f"UNC = {parts[0].uncertainty:.4f}" in ax.get_title(loc="left")


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_models_of_other_labels_are_refused():
    """Their scores cannot be compared; and nothing can be drawn of no model."""
    other = ct.Predictions(DATA.probs, 1 - DATA.labels)
    with pytest.raises(InvalidInput, match="the models must be of the same labels"):
        mcb_dsc({"one": DATA, "other": other})
    with pytest.raises(InvalidInput, match="models must hold one"):
        mcb_dsc({})
