"""`test_segments`: degenerate data, the seed, what it finds."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning

RNG = np.random.default_rng(5)
N = 400
P = RNG.uniform(0.05, 0.2, N)
Y = (RNG.random(N) < P).astype(int)
SITE = np.arange(N) % 4


def run(probs=P, labels=Y, **options):
    options = {"segments": {"site": SITE}, "n_resamples": 99, "rng": 1} | options
    return ct.test_segments(probs, labels, **options)


def test_certain_segments_are_left_out():
    """Where all predictions are 0 or 1 there is nothing to test."""
    p = np.where(SITE == 0, 0.0, P)
    with pytest.warns(DegenerateDataWarning, match="in 1 segment all predictions are 0 or 1"):
        result = run(p, np.where(SITE == 0, 0, Y))
    assert result.n_segments == (1, 3)
    assert "site = 0" not in {row.definition for row in result}


def test_segment_without_weight_is_not_called_certain():
    with pytest.warns(DegenerateDataWarning, match="in 1 segment all rows have the weight 0"):
        result = run(sample_weight=(SITE != 0).astype(float))
    assert "site = 0" not in {row.definition for row in result}


def test_impossible_label_among_certain_ones_is_infinite():
    p = np.where(SITE == 0, 0.0, P)
    with pytest.warns(DegenerateDataWarning, match="unless a label is impossible"):
        result = run(p, np.where(np.arange(N) == 0, 1, np.where(SITE == 0, 0, Y)))
    assert result[0].definition == "site = 0"
    assert result[0].z == np.inf
    assert result.statistic == np.inf
    assert result.pvalue == 0.01


def test_order_of_rows_and_names_of_events_do_not_matter():
    """The differences are the same for rows in any order, and for the other class."""
    order = np.random.default_rng(1).permutation(N)
    first = sorted((row.definition, round(row.z, 6)) for row in run())
    shuffled = run(P[order], Y[order], segments={"site": SITE[order]})
    assert sorted((row.definition, round(row.z, 6)) for row in shuffled) == first
    other = run(1 - P, 1 - Y)
    assert sorted((row.definition, round(-row.z, 6)) for row in other) == first


def test_same_seed_gives_the_same_answer():
    first = run(rng=np.random.default_rng(3))
    assert run(rng=first.seed) == first
    found = run(ct.Predictions(P, Y, clusters=np.arange(N) // 4), None)
    assert any("rows of the same cluster" in note for note in found.notes)


def test_progress_ends_at_its_total():
    """It is called once at a time, with a total that does not change."""
    calls = []
    run(progress=lambda *call: calls.append(call), n_jobs=2)
    assert [done for done, _ in calls] == list(range(1, len(calls) + 1))
    assert {total for _, total in calls} == {len(calls)}


def test_level_gives_a_verdict_and_leaves_the_intervals():
    """These are of 95 %, as everywhere."""
    result = run(level=0.1)
    assert result.confidence == 0.95
    assert [row.low for row in result] == [row.low for row in run()]
    assert result.n_rejected == sum(row.adjusted <= 0.1 for row in result)
    assert f"rejected at level 0.1: {result.n_rejected} of" in str(result)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_predictions_that_are_certain_and_right_have_no_segment_to_test():
    """Nothing can vary, whatever the labels are."""
    with pytest.raises(ct.NotApplicable, match="every probability is 0 or 1 and every outcome"):
        run(np.eye(2)[Y], Y)


def test_statistic_and_correction_of_segments_are_checked():
    """A statistic is a name or a list of names; there is no correction, be it an array."""
    for statistic in (None, -1):
        with pytest.raises(ct.InvalidInput, match="statistic must be a name or a list of names"):
            run(statistic=statistic)
    for correction in (np.zeros(2), np.array([])):
        with pytest.raises(ct.InvalidInput, match="correction has no effect on segments"):
            ct.test_calibration(P, Y, segments={"site": SITE}, correction=correction)
