"""The number of rows that has a power."""

import pytest
from scipy.stats import beta

import caltest as ct
from caltest import InvalidInput, NotApplicable

Z = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 100, "rng": 1}
RISKS = beta(2, 5)


def planned(**options):
    """Plan a Spiegelhalter test by its normal limit, which is fast."""
    return ct.sample_size(RISKS, **Z | options)


def test_power_at_the_answer_is_that_of_power():
    """The last data sets are those of `power` with the same seed."""
    result = planned(slope=0.5)
    alone = ct.power(RISKS, n=result.n, slope=0.5, **Z)
    assert result.power.to_dict() == alone.to_dict()


def test_answer_does_not_depend_on_the_jobs():
    """All data sets have seeds of their own."""
    one, two = (planned(slope=0.5, n_jobs=jobs) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_answer_lies_in_its_interval_and_between_what_was_tried():
    """The search looks at sizes on both sides of the answer."""
    result = planned(slope=0.5)
    assert result.low < result.n < result.high
    sizes = result.search.n.tolist()
    assert sizes == sorted(sizes)
    for low, high in ((result.n / 1.6, result.n), (result.n, result.n * 1.6)):
        assert any(low < size < high for size in sizes)


def test_more_power_needs_more_rows():
    assert planned(slope=0.5, power=0.9).n > planned(slope=0.5, power=0.6).n


def test_least_size_is_the_answer_where_it_is_enough():
    result = planned(noise=1.0, n_min=300)
    assert (result.n, result.low, result.high) == (300, None, 300)
    assert result.search.n.tolist() == [300]
    assert "300, 95 % interval [below 300, 300]" in str(result)


@pytest.mark.full
def test_sizes_that_are_too_small_for_the_test_are_passed_over():
    """One row in a thousand is predicted to be of the class, and its test needs two."""
    rows = [[0.6, 0.4]] * 999 + [[0.45, 0.55]]
    options = {"lens": "top-label[1]", "noise": 0.9, "n_datasets": 20, "power": 0.06, "rng": 1}
    result = ct.sample_size(rows, n_min=2, n_max=40_000, **options)
    assert result.searched[0] > 2
    assert result.search.n.min() == result.searched[0]
    assert result.n >= result.searched[0]


def test_power_that_is_not_reached_is_an_error():
    """The message has the power at the largest size."""
    with pytest.raises(NotApplicable, match=r"a power of 0\.8 with n_max = 50 rows: 0\.\d+ \["):
        planned(slope=0.9, n_max=50)


def test_progress_ends_at_its_total():
    """The total grows while the size is doubled."""
    calls = []
    planned(slope=0.5, progress=lambda *call: calls.append(call))
    assert calls[-1][0] == calls[-1][1] == len(calls)


@pytest.mark.full
def test_equivalence_may_be_planned_for_calibrated_predictions():
    """The rows that certify an error below a tolerance."""
    result = ct.sample_size(RISKS, tolerance=0.02, equivalence=True, n_datasets=30, n_min=50, rng=1)
    assert result.power.setting.kind == "power"
    assert 50 < result.n < 1000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "sample_size must have a truth that differs from the predictions"),
        ({"slope": 0.5, "power": 0.05}, "power must be above the level, 0.05"),
        ({"slope": 1}, "sample_size must have a truth that differs from the predictions"),
        ({"temperature": 1}, "sample_size must have a truth that differs from the predictions"),
        ({"truth": lambda p: p}, "sample_size must have a truth that differs"),
        ({"slope": 0.5, "power": 80}, "power must lie strictly between 0 and 1"),
        ({"slope": 0.5, "power": 1}, "got 1; pass 0.8 for 80 %"),
        ({"slope": 0.5, "n_min": 1}, "n_min must be an integer of at least 2"),
        ({"slope": 0.5, "n_max": 20}, "n_max must be above n_min"),
        ({"slope": 0.5, "test": ["skce", "brier"], "null": None}, "test must be a single test"),
    ],
)
def test_faulty_argument_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        planned(**options)
