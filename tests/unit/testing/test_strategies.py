"""What the strategies draw, and what it shrinks to."""

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

import caltest as ct
from caltest.testing import strategies

QUICK = settings(database=None, max_examples=300)


def smallest(strategy, wanted):
    """Return the smallest example that Hypothesis finds."""
    return find(strategy, wanted, settings=QUICK)


@given(strategies.probs(6, 3, zeros=False, ties=False, rounded=False))
def test_zeros_and_ties_may_be_left_out(p):
    assert p.shape == (6, 3)
    assert p.min() > 0
    assert np.unique(p).size == p.size


@pytest.mark.parametrize(
    "wanted",
    [
        lambda p: (p == 1).any(),
        lambda p: ((p > 0) & (p < 1e-15)).any(),
        lambda p: len(np.unique(p, axis=0)) < len(p),
        lambda p: (p == 0).sum() > p.size / 2,
        pytest.param(lambda p: (p.sum(axis=1) != 1).any(), marks=pytest.mark.full),
        lambda p: (np.sort(p)[:, -1] == np.sort(p)[:, -2]).any(),
    ],
    ids=["one-hot", "tiny", "tied-rows", "sparse", "rounded", "tied-classes"],
)
def test_mean_rows_are_found(wanted):
    """One-hot, tiny, sparse, tied and rounded rows."""
    assert wanted(smallest(strategies.probs(), wanted))


@pytest.mark.full
def test_probs_shrink_to_few_short_rows():
    """Two classes, as few rows as it takes, halves."""
    found = smallest(strategies.probs(), lambda p: len(p) > 2 and p.max() < 1)
    assert found.tolist() == [[0.5, 0.5]] * 3
    assert len(smallest(strategies.probs(), lambda _p: True)) == 1


@pytest.mark.full
def test_predictions_shrink_to_the_row_that_matters():
    """A property that fails for a wrong certain prediction is shown one."""

    def is_certain_and_wrong(data):
        return (data.probs[np.arange(data.n), data.labels] == 0).any()

    found = smallest(strategies.predictions(), is_certain_and_wrong)
    assert sorted(found.probs.tolist()[0]) == [0.0, 1.0]
    assert found.n == 1
    assert found.sample_weight is None


@pytest.mark.full
def test_logits_and_maps_shrink_to_zero_and_the_identity():
    assert smallest(strategies.logits(), lambda z: z.max() > 3).tolist() == [[0.0, 4.0]]
    found = smallest(strategies.recalibration_maps(3), lambda _map: True)
    assert (found.slope, found.shift) == (1.0, (0.0, 0.0, 0.0))


@pytest.mark.full
def test_failing_example_is_printed_whole():
    """So that it can be copied into a test."""

    @settings(QUICK)
    @given(strategies.predictions(weighted=(1.0,)))
    def fails(data):
        assert data.sample_weight is None

    with pytest.raises(AssertionError) as raised:
        fails()
    told = "\n".join(raised.value.__notes__)
    for part in ("Predictions(", "[[0.5, 0.5]]", "classes=[0, 1]", "sample_weight=[1.0]"):
        assert part in told


@given(st.data())
def test_encodings_name_the_same_classes(data):
    """Each code has the name of its column."""
    codes = data.draw(strategies.labels(5, 3))
    values, names = data.draw(strategies.encodings(codes, 3))
    assert [names.index(value) for value in values.tolist()] == codes.tolist()
    drawn = ct.Predictions(np.full((5, 3), 1 / 3), values, classes=names)
    assert drawn.labels.tolist() == codes.tolist()


@given(strategies.datasets())
def test_datasets_have_every_class(drawn):
    X, y = drawn
    assert len(X) == len(y)
    assert set(y) == set(range(y.max() + 1))


@pytest.mark.full
@given(strategies.predictions(400, 3, calibrated=True, weighted=False))
@settings.get_profile("fewest")
def test_calibrated_predictions_are_calibrated(data):
    """The mean prediction of each class is within five standard errors of its frequency."""
    gap = data.probs.mean(axis=0) - np.eye(3)[data.labels].mean(axis=0)
    sd = np.sqrt((data.probs * (1 - data.probs)).sum(axis=0)) / data.n
    assert (np.abs(gap) <= 5 * sd + 1e-6).all()


@pytest.mark.full
@pytest.mark.parametrize("kind", strategies.ALTERNATIVES)
def test_alternatives_are_not_calibrated(kind):
    """The test finds each of them in 1,000 rows."""
    drawn = strategies.predictions(
        1000, 2, calibrated=kind, zeros=False, ties=False, weighted=False
    )
    data = smallest(drawn, lambda _data: True)
    assert ct.test_calibration(data, test="cox", rng=0).pvalue < 0.01


def test_alternative_must_be_known():
    with pytest.raises(ct.InvalidInput, match="'overconfident'"):
        smallest(strategies.predictions(calibrated="wrong"), lambda _data: True)
