"""P-values of several tests, jointly within a block and by Holm's method over the blocks."""

import dataclasses

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

import caltest as ct
from caltest.numerics.joint import step_down
from caltest.testing.assertions import check_calibrated, checked_result
from caltest.testing.family import Calibration, adjusted_over_blocks, decide, record_of


def asked(data, level=0.05, **arguments):
    """Return the record of an assertion."""
    arguments = {"test": "brier", **arguments}
    checked = check_calibrated(data, None, None, level=level, rng=0, **arguments)
    return record_of(checked, "test_model.py:1")


@pytest.mark.full
def test_copies_of_a_test_cost_nothing():
    """Blocks of one are Holm's."""
    pvalues = [0.04, 0.001, 0.3, 0.02, 0.02]
    found = adjusted_over_blocks(pvalues, [None] * 5, [""] * 5)
    np.testing.assert_allclose(found, multipletests(pvalues, method="holm")[1])
    scores = np.append(5.0, np.random.default_rng(1).exponential(size=199))
    pvalue = float((scores >= scores[0]).mean())
    found = adjusted_over_blocks([pvalue, pvalue, 0.9], [scores, scores, None], ["a", "a", ""])
    np.testing.assert_allclose(found, [2 * pvalue, 2 * pvalue, 0.9])


def test_one_block_is_westfall_and_young():
    """As a table of `test_calibration` is adjusted."""
    rng = np.random.default_rng(0)
    scores = rng.exponential(size=(4, 200))
    pvalues = (scores >= scores[:, :1]).mean(axis=1)
    found = adjusted_over_blocks(pvalues, list(scores), ["same"] * 4)
    np.testing.assert_allclose(found, np.maximum(pvalues, step_down(scores)))


@pytest.mark.full
def test_family_wise_error_is_kept():
    """Two blocks of three dependent tests and a test by itself, all true: 5 % at 5 %."""
    rng = np.random.default_rng(2)
    alarms, repeats = 0, 2000
    for _ in range(repeats):
        common = rng.normal(size=(2, 1, 100))
        blocks = common + 0.5 * rng.normal(size=(2, 3, 100))
        scores = [*blocks[0], *blocks[1], None]
        pvalues = [float((one >= one[0]).mean()) for one in scores[:6]] + [float(rng.random())]
        found = adjusted_over_blocks(pvalues, scores, ["a"] * 3 + ["b"] * 3 + [""])
        alarms += found.min() <= 0.05
    # Binomial band of 2,000 sessions at 5 %: 5 % + 3 standard errors of 0.49 %.
    assert alarms / repeats <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_same_data_and_seed_share_their_labels():
    """Two lenses on one data set are adjusted jointly, as in one call."""
    data = ct.datasets.generative_model("M2", n=60, m=3, alpha=2.0, rng=3)
    lenses = ["strong", "confidence"]
    records = [asked(data, lens=lens) for lens in lenses]
    decide(records)
    table = ct.test_calibration(data, test="brier", lens=lenses, rng=0)
    np.testing.assert_allclose([one.adjusted for one in records], table.adjusted)
    assert [one.size for one in records] == [2, 2]


def test_forecasts_of_numbers_share_their_outcomes():
    """As the labels of classes are shared; other outcomes are another question."""
    rng = np.random.default_rng(3)
    mean, tests = rng.normal(size=60), ["pit-ks", "crps"]
    data = ct.Forecasts(rng.normal(mean, 1.3), mean=mean, scale=1.0)
    records = [asked(data, test=test) for test in tests]
    decide(records)
    table = ct.test_calibration(data, test=tests, rng=0)
    np.testing.assert_allclose([one.adjusted for one in records], table.adjusted)
    other = asked(ct.Forecasts(data.outcomes + 0.1, distribution=data.law), test="crps")
    assert other.question != records[1].question


def test_other_data_are_another_block():
    """So are groups."""
    data = ct.datasets.generative_model("M1", n=60, m=3, rng=3)
    labels = data.labels.copy()
    labels[0] = (labels[0] + 1) % 3
    first, second = asked(data), asked(ct.Predictions(data.probs, labels))
    assert first.block != second.block
    assert first.question != second.question
    data = ct.datasets.generative_model("M1", n=60, m=3, rng=3)
    assert asked(data, by=np.arange(60) % 2).scores is None


def test_options_are_part_of_a_question():
    """Level, seed and number of resamples are not."""
    data = ct.datasets.generative_model("M1", n=60, m=2, rng=3)
    ten, other = (asked(data, test="ece", bins=bins).question for bins in (10, 15))
    again = asked(data, level=0.2, test="ece", n_resamples=1999, bins=10).question
    assert ten == again != other
    kernels = [ct.kernels.Gaussian(), ct.kernels.Gaussian(), ct.kernels.Exponential()]
    first, same, third = (asked(data, test="skce", kernel=one).question for one in kernels)
    assert first == same != third


def test_table_is_one_question():
    """Its p-value is that of the largest score of its rows, in the block of its data."""
    data = ct.datasets.generative_model("M2", n=60, m=3, rng=3)
    table = asked(data, lens=["strong", "confidence"], correction="joint")
    assert table.block == asked(data).block
    one = asked(data, test="ece", lens=["strong", "confidence"])
    scores = np.array(one.scores)
    assert np.isclose(one.pvalue, np.mean(scores >= scores[0] - 1e-9))


def test_claims_within_a_tolerance_are_not_in_the_family():
    data = ct.datasets.generative_model("M1", n=500, m=2, rng=1)
    within = ct.test_calibration(
        data, test="ks", tolerance=0.3, equivalence=True, level=0.01, rng=1
    )
    records = [record_of(checked_result(within, level=0.01), "here:1"), asked(data)]
    decide(records)
    assert records[0].within
    assert not records[0].failed
    assert [one.family for one in records] == [1, 1]


@pytest.mark.full
def test_tests_with_fewer_resamples_count_each():
    """One of ten on the same data asked for more, because it was small: it is adjusted for ten."""
    data = ct.datasets.generative_model("M1", n=200, m=10, rng=1)
    lenses = [ct.lenses.Classwise(k) for k in range(10)]
    records = [
        asked(data, lens=lens, n_resamples=199 if k else 399) for k, lens in enumerate(lenses)
    ]
    records[0].pvalue = 0.004
    decide(records)
    assert records[0].adjusted == pytest.approx(0.04)
    assert [one.size for one in records] == [1] * 10
    alike = [asked(data, lens=lens, n_resamples=199) for lens in lenses]
    decide(alike)
    assert [one.size for one in alike] == [10] * 10


@pytest.mark.full
def test_family_wise_error_where_small_pvalues_ask_for_more():
    """Ten independent true tests on the same data, of which those below 5 % are redrawn anew."""
    data = ct.datasets.generative_model("M1", n=30, m=2, rng=1)
    template, rng = asked(data, n_resamples=39), np.random.default_rng(4)
    alarms, sessions = 0, 1000
    for _ in range(sessions):
        records = []
        for _ in range(10):
            observed = rng.exponential()
            scores = np.append(observed, rng.exponential(size=99))
            if np.mean(scores >= observed) <= 0.05:
                scores = np.append(observed, rng.exponential(size=999))
            pvalue = float(np.mean(scores >= observed))
            records.append(dataclasses.replace(template, pvalue=pvalue, scores=scores.tolist()))
        decide(records)
        alarms += any(one.adjusted <= 0.05 for one in records)
    # Binomial band of 1,000 sessions at 5 %: 5 % + 3 standard errors of 0.69 %.
    assert alarms / sessions <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sessions)


def test_later_assertions_of_a_test_get_more_resamples():
    """Or a calibrated model among 40 would fail where its p-value is the least of 999 resamples."""
    records, bad = [], ct.datasets.generative_model("M2", n=50, m=3, rng=1)
    calibration = Calibration(0.01, 0, records.append, tests=2)
    for _ in range(3):
        calibration.assert_calibrated(bad, test="ece")
    assert [round(1 / one.least) for one in records] == [2000, 4000, 6000]


def test_too_few_resamples_do_not_pass():
    """Where only the number of resamples keeps the adjusted p-value above the level."""
    bad = ct.datasets.generative_model("M2", n=100, m=3, rng=1)
    others = [ct.datasets.generative_model("M1", n=50, m=3, rng=seed) for seed in range(3)]
    records = [asked(bad, n_resamples=39, level=0.05), *(asked(one, level=0.05) for one in others)]
    decide(records)
    assert records[0].adjusted == pytest.approx(4 * 2 / 40)  # the test is two-sided
    assert records[0].is_coarse
    assert records[0].failed
    assert "no p-value of its resamples is below 0.05" in records[0].decision
