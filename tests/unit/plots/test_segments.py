"""The picture of the worst segments."""

from functools import cache

import numpy as np
import pytest

import caltest as ct
from caltest.plots import segments

RNG = np.random.default_rng(5)
P = RNG.uniform(0.05, 0.2, 400)
Y = (RNG.random(400) < P).astype(int)


@cache
def result():
    sites = {"$site": np.arange(400) % 4}
    return ct.test_segments(P, Y, segments=sites, n_resamples=19, rng=1, level=0.5)


def test_rows_are_the_worst_segments():
    """With their names, intervals and p-values, from the top."""
    ax = segments(result(), rows=3)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert [name.replace("\\", "") for name in names] == [row.definition for row in result()[:3]]
    assert [text.get_text().split(",")[0] for text in ax.texts] == [
        f"n = {row.n}" for row in result()[:3]
    ]
    ends = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2][1:]
    assert ends[0] == pytest.approx([100 * result()[0].low, 100 * result()[0].high])
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert result().plot(ax=ax) is ax
    assert "95 % intervals" in ax.get_xlabel()
