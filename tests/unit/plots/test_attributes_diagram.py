import numpy as np

import caltest as ct
from caltest.plots import attributes_diagram


def test_lines_are_those_of_the_observed_frequency():
    """No resolution at the frequency, no skill halfway between that and the diagonal."""
    data = ct.datasets.generative_model("M1", n=300, m=2, alpha=1.0, rng=1)
    ax = attributes_diagram(data)
    rate = float(np.mean(data.labels == 1))
    flat, upright, skill = ax.lines[-3:]
    assert set(flat.get_ydata()) == set(upright.get_xdata()) == {rate}
    np.testing.assert_allclose(skill.get_ydata(), (skill.get_xdata() + rate) / 2)
    assert skill.get_xdata()[[0, -1]].tolist() == [0, 1]
    assert "adds to the skill" in [text.get_text() for text in ax.get_legend().get_texts()]
