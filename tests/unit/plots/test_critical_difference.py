"""Demsar's diagram."""

import numpy as np
import pytest

from caltest.comparison import rank_methods
from caltest.plots import base, critical_difference

SCORES = np.arange(5.0) + np.random.default_rng(0).normal(0, 1, (12, 5))
NAMES = ["none", "temperature", "vector", "matrix", "dirichlet"]


def bars(ax):
    """Return the ends of the bars that join methods."""
    return [line.get_xdata() for line in ax.lines if line.get_color() == base.BLUE]


def test_bars_join_the_groups():
    """One bar from the best to the worst of each."""
    ranking = rank_methods(SCORES, names=NAMES)
    drawn = bars(critical_difference(ranking))
    assert len(drawn) == len(ranking.groups) > 1
    for (low, high), group in zip(drawn, ranking.groups, strict=True):
        ranks = ranking.ranks[list(group)]
        assert (low, high) == pytest.approx((ranks.min(), ranks.max()), abs=0.03)


def test_names_stand_by_their_ranks_the_better_half_at_the_left():
    ax = critical_difference(SCORES, names=NAMES)
    texts = {text.get_text(): text.get_ha() for text in ax.texts}
    ranks = rank_methods(SCORES).ranks
    assert texts[f"none  {ranks[0]:.2f}"] == "right"
    assert texts[f"{ranks[4]:.2f}  dirichlet"] == "left"


def test_control_is_bold_and_has_one_bar():
    ax = critical_difference(SCORES, names=NAMES, control="vector")
    bold = [text.get_text() for text in ax.texts if text.get_fontweight() == "bold"]
    assert len(bold) == 1
    assert "vector" in bold[0]
    assert len(bars(ax)) == 1
    assert "against vector at level 0.05 (Bonferroni-Dunn)" in ax.get_title(loc="left")


@pytest.mark.parametrize("k", [2, 3, 40])
def test_any_number_of_methods_is_drawn(k):
    """A bar of the critical difference that is longer than the axis ends in an arrow."""
    scores = np.random.default_rng(1).random((4, k))
    ax = critical_difference(scores)
    assert len([text for text in ax.texts if "  " in text.get_text()]) == k
