"""The picture of a master scale."""

import numpy as np
import pytest

import caltest as ct
from caltest import DegenerateDataWarning
from caltest.plots import master_scale

PD, D, N = [0.001, 0.01, 0.05], [0, 30, 55], [1000, 2000, 1000]


def test_lights_have_colours_and_markers():
    table = ct.test_master_scale(PD, D, N)
    texts = [text.get_text() for text in master_scale(table).get_legend().get_texts()]
    lights = sorted(set(table.traffic_lights))
    assert sorted(texts) == sorted(["PD", *lights])


def test_lower_end_is_above_the_pd_where_jeffreys_rejects():
    """The interval at 90 % and the one-sided p-value at 5 % agree."""
    rng = np.random.default_rng(0)
    pd = np.geomspace(0.001, 0.3, 30)
    table = ct.test_master_scale(pd, rng.binomial(800, pd * 1.3), [800] * 30)
    low = [path.vertices[0, 1] for path in master_scale(table).collections[0].get_paths()]
    assert (np.array(low) > pd).tolist() == [row.pvalue < 0.05 for row in table]


def test_several_tests_of_a_grade_are_one_mark():
    several = ct.test_master_scale(PD, D, N, test=["jeffreys", "binomial"])
    assert len(master_scale(several).get_xticks()) == 3


def test_extreme_grades_are_drawn():
    """No default, only defaults, and PDs of 0 and 1."""
    with pytest.warns(DegenerateDataWarning, match="its number of defaults is certain"):
        table = ct.test_master_scale([0, 1, 0.5], [0, 4, 0], [4, 4, 4], lights=None, portfolio=())
    ax = master_scale(table)
    low, high = ax.get_ylim()
    assert 0 < low < high
