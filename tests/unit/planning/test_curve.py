"""Power by simulation: seeds, rows, effects, what is refused."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, binom, dirichlet, norm

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest.planning import curve as searching
from caltest.planning.curve import SizeSearch
from caltest.planning.results import PowerRow, joined

DIRICHLET = dirichlet([1.0, 1.0, 1.0])
QUICK = {"n": 40, "n_datasets": 40, "rng": 1}


def counts(result):
    return [row.rejections for row in result]


def test_power_does_not_depend_on_the_jobs():
    """Data sets and tests have seeds of their own."""
    options = QUICK | {"noise": 0.5, "test": ["skce", "brier"]}
    one, two = (ct.power(DIRICHLET, n_jobs=jobs, **options) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()
    assert sum(counts(one)) > 0


@pytest.mark.full
def test_power_at_a_size_does_not_depend_on_the_others():
    """A row is that of a call for this size alone, and of this test alone."""
    several = ct.power(DIRICHLET, **QUICK | {"n": [80, 20, 40], "test": ["ece", "skce"]})
    alone = ct.power(DIRICHLET, **QUICK | {"n": 40, "test": "skce"})
    assert [(row.test, row.n) for row in several] == [
        (test, n) for test in ("ece", "skce") for n in (20, 40, 80)
    ]
    assert several[4] == alone[0]


@pytest.mark.full
def test_power_follows_the_seed():
    """The same seed gives the same data sets, another others, and a generator is advanced."""
    first, again, other = (
        ct.power(DIRICHLET, **QUICK | {"rng": seed})[0].estimate for seed in (1, 1, 2)
    )
    assert first == again != other
    result = ct.power(DIRICHLET, **QUICK | {"rng": np.random.default_rng(5)})
    assert ct.power(DIRICHLET, **QUICK | {"rng": result.setting.seed})[0] == result[0]


def test_power_is_that_of_the_tests_of_its_data_sets():
    """Rejections are counted by `test_calibration` on labels drawn here."""
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 30)
    result = ct.power(rows, noise=0.8, **QUICK | {"n_datasets": 10})
    pvalues, estimates = [], []
    for number in range(10):
        seeds = np.random.SeedSequence(1, spawn_key=(0, 40, number))
        rng = np.random.default_rng(seeds)
        p = rows[rng.integers(30, size=40)]
        q = 0.2 * p + 0.8 / 3
        labels = (rng.random((40, 1)) > np.cumsum(q, axis=1)).sum(axis=1)
        data = ct.Predictions(p, labels, classes=range(3))
        test = ct.test_calibration(data, n_resamples=199, rng=int(rng.integers(2**32)))
        pvalues.append(test.pvalue)
        estimates.append(test.estimate)
    assert result[0].rejections == np.count_nonzero(np.array(pvalues) <= 0.05)
    assert result[0].estimate == pytest.approx(np.mean(estimates))


def test_effect_of_a_constant_risk_is_known():
    """A risk of 0.2 that is twice too high: error, divergence and rates in closed form."""
    effect = ct.power([0.2], ratio=2, test="binomial", **QUICK).setting.effect
    kl = 0.1 * np.log(0.5) + 0.9 * np.log(0.9 / 0.8)
    assert (effect.error, effect.excess) == pytest.approx((0.1, kl))
    assert (effect.predicted, effect.true, effect.draws) == (pytest.approx(0.2), 0.1, None)


@pytest.mark.full
def test_effect_of_a_distribution_is_its_mean():
    """E|q - p| for noise is its share times E|1/2 - p|; for several classes, confidence counts."""
    p = beta(2, 5).expect(lambda x: abs(x - 0.5))
    effect = ct.power(beta(2, 5), noise=0.3, **QUICK).setting.effect
    assert effect.error == pytest.approx(0.3 * p, rel=0.005)
    assert effect.predicted == pytest.approx(2 / 7, abs=0.001)
    effect = ct.power([[0.6, 0.3, 0.1]], noise=0.3, **QUICK).setting.effect
    assert (effect.predicted, effect.true) == pytest.approx((0.6, 0.7 * 0.6 + 0.1))


def test_effect_is_infinite_where_the_impossible_happens():
    """The log loss of a probability of 0 for what may happen."""
    result = ct.power([[0.5, 0.5, 0.0]], noise=0.3, **QUICK)
    assert result.setting.effect.excess == np.inf
    assert "excess log loss:  inf" in str(result)


def test_classes_of_predictions_reach_the_lens():
    data = ct.Predictions([[0.5, 0.3, 0.2]], ["a"], classes=["a", "b", "c"])
    assert ct.power(data, lens="classwise[b]", **QUICK).setting.lens == "classwise[b]"


def test_inputs_are_not_changed():
    """A function that gets the predictions cannot write to them."""

    def overwrite(p):
        p[:] = 0.5
        return p

    with pytest.raises(ValueError, match="read-only"):
        ct.power(beta(2, 5), truth=overwrite, **QUICK)


@pytest.mark.full
def test_resamples_that_round_the_level_down_are_noted():
    """With B = 99 and level 0.025 the largest p-value that rejects is 0.02."""
    result = ct.power(DIRICHLET, n_resamples=99, level=0.025, **QUICK)
    assert "the size of a resampling test is at most 0.02" in result.setting.notes[0]
    assert not ct.power(DIRICHLET, **QUICK).setting.notes


def test_data_sets_that_tell_little_are_noted():
    """Those larger than the predictions, and those without a test, which are not rejected."""
    result = ct.power(DIRICHLET.rvs(10, 1), **QUICK)
    assert "more than 10 rows draw predictions several times" in result.setting.notes[0]
    result = ct.power(DIRICHLET, n=4, n_datasets=40, rng=1, lens="top-label[1]")
    row = result[0]
    assert 0 < row.not_applicable < 40
    assert row.reason
    assert f"is not defined for {row.not_applicable} of 40 data sets of n = 4" in " ".join(
        str(result).split()
    )


def test_infinite_estimates_are_left_out_of_their_mean():
    """Three rows often separate the labels, so that the slope has no finite estimate."""
    options = {"test": "calibration-slope", "null": "asymptotic"}
    result = ct.power(beta(2, 5), n=3, n_datasets=40, rng=1, **options)
    row = result[0]
    assert 0 < row.infinite < 40
    assert np.isfinite(row.estimate)
    assert f"slope is not finite in {row.infinite} of 40 data sets" in str(result)


@pytest.mark.full
def test_equivalence_has_power_for_calibrated_predictions():
    """To certify an error below the tolerance takes data; more data, more power."""
    options = {"n_datasets": 20, "rng": 1, "tolerance": 0.02, "equivalence": True}
    result = ct.power(DIRICHLET, n=[50, 800], **options)
    assert result.setting.kind == "power"
    assert result.setting.hypothesis == "the SKCE is at least 0.02"
    assert result.power[0] < result.power[1]


def test_progress_counts_all_data_sets():
    """It ends at the number of all data sets, over all sizes."""
    calls = []
    options = QUICK | {"n": [10, 20], "n_datasets": 20}
    ct.power(DIRICHLET, progress=lambda *call: calls.append(call), **options)
    assert calls[-1] == (40, 40)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1"),
        ({"n": []}, "n must be an integer of at least 1, or a list of such"),
        ({"n": [10, 2.5]}, "n must be an integer of at least 1, or a list of such"),
        ({"n": [10, 10**9]}, "n must be at most 10,000,000; got 1000000000"),
        ({"level": 5}, "pass 0.05 for 5 %"),
        ({"n_datasets": 0}, "n_datasets must be an integer of at least 1"),
        ({"n_resamples": 18}, "got 18; pass 19 or more"),
        ({"n_resamples": 38, "test": "spiegelhalter"}, "got 38; pass 39 or more"),
        ({"lens": "classwise"}, "not be a family of lenses here; got classwise"),
        ({"test": "sk"}, "did you mean 'skce'"),
        ({"null": "exakt"}, "did you mean 'exact'"),
        ({"null": "tolerance"}, "must come with a tolerance; got none; pass tolerance= alone"),
        ({"bins": 3}, "options must be taken by a test"),
        ({"equivalence": True}, "equivalence must come with a tolerance"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ({"rng": -1}, "rng must be None"),
    ],
)
def test_faulty_argument_is_refused(options, message):
    """The message names the rule or the remedy."""
    with pytest.raises(InvalidInput, match=message):
        ct.power(DIRICHLET, **QUICK | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "kce", "null": "asymptotic"}, "null 'asymptotic' has no meaning"),
        ({"test": ["skce", "ks"]}, "no data set of n = 40 can be tested by ks: .* 3 classes"),
        (
            {"test": "brier", "tolerance": 0.1},
            "^Brier score has no test with a tolerance; use test='skce', .* or 'ks'$",
        ),
    ],
)
def test_test_without_a_meaning_is_refused_before_others_run(options, message):
    """The reason is that of the test, and no progress was made."""
    calls = []
    with pytest.raises(NotApplicable, match=message):
        ct.power(DIRICHLET, progress=lambda *call: calls.append(call), **QUICK | options)
    assert not calls


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "truth", [{"slope": 1}, {"temperature": 1}, {"noise": 0}, {"truth": lambda p: p}]
)
def test_truth_that_changes_nothing_is_calibration(truth):
    """What is rejected is an error, whatever the truth is called; no deviation is printed."""
    result = ct.power(DIRICHLET, **QUICK | truth)
    assert result.setting.calibrated
    assert str(result).startswith("\n\tSize of a test")
    assert "true error" not in str(result)


@pytest.mark.parametrize(("test", "equivalence"), [("ks", True), ("ks", False), ("skce", False)])
def test_resamples_of_a_tolerance_must_allow_a_rejection(test, equivalence):
    """KS is bootstrapped, and any test of few rows is at least the exact one."""
    options = {"test": test, "equivalence": equivalence, "tolerance": 0.1, "level": 0.001}
    with pytest.raises(InvalidInput, match="got 199; pass 999 or more"):
        ct.power(beta(2, 5), **QUICK | options)


def test_resamples_are_not_shown_where_none_are_drawn():
    """The equivalence test of the SKCE is a normal limit."""
    options = {"tolerance": 0.1, "equivalence": True, "level": 0.001}
    result = ct.power(beta(2, 5), **QUICK | options)
    assert result.setting.n_resamples is None
    assert "B =" not in str(result)


def test_clusters_of_the_predictions_are_not_simulated():
    """A note says so, whichever argument holds them."""
    clustered = ct.Predictions([0.2, 0.4, 0.7, 0.9] * 10, [0, 0, 1, 1] * 10, clusters=[1, 2] * 20)
    for given in ((clustered,), (None, clustered)):
        result = ct.power(*given, n=20, slope=0.5, test="brier", n_datasets=5, rng=1)
        assert "rows are drawn independently" in str(result)


BLANK = PowerRow(
    test="skce", null="", n=0, n_datasets=0, rejections=0, estimate_name="", estimate=math.nan
)


@pytest.fixture
def search(monkeypatch):
    """Return a search whose data sets are drawn from the power of a curve."""

    def make(curve, seed=1, n_min=20, n_max=10_000, sets=300):
        rng = np.random.default_rng(seed)

        def simulate(_study, n, looks, *, stage):
            rejections = int(rng.binomial(len(looks), curve(n)))
            return [replace(BLANK, n=n, n_datasets=len(looks), rejections=rejections)]

        monkeypatch.setattr(searching, "simulate", simulate)
        return SizeSearch(None, 0.8, n_min, n_max, sets)

    return make


def curve_through(n):
    """Return the curve of a two-sided normal test that has the power 0.8 at n."""
    return lambda x: norm.cdf(math.sqrt(x / n) * (norm.isf(0.025) + norm.ppf(0.8)) - 1.96)


@pytest.mark.parametrize("n", [25, 90, 1000, 6000])
def test_search_finds_the_crossing(search, n):
    """At any size, by looks that are mostly near it."""
    one = search(curve_through(n))
    found = one.run()[0]
    assert found == pytest.approx(n, rel=0.25)
    looks = sum(row.n_datasets for row in one.rows() if n / 2 < row.n < 2 * n)
    assert looks >= 300


CURVES = {  # of which the power is 0.8 at 500 rows, or nearly, where it has steps
    "probit": curve_through(500),
    "logistic": lambda n: 1 / (1 + math.exp(-1.8 * math.log(n / 500)) / 4),
    "stepped": lambda n: np.clip(curve_through(500)(n) + 0.01 * math.sin(n), 0, 1),
}


@pytest.mark.full
@pytest.mark.parametrize("curve", CURVES)
def test_interval_of_the_rows_covers_the_truth(search, curve):
    """The interval of 95 % has 500 nearly that often, whatever the curve."""
    found = [search(CURVES[curve], seed, sets=1000).run() for seed in range(200)]
    rows, low, high = np.array(found).T
    covered = int(((low <= 500) & (high >= 500)).sum())
    assert covered >= binom.ppf(0.0005, 200, 0.93)
    assert np.median(rows) == pytest.approx(500, rel=0.03)
    assert np.std(rows) < 40


def test_search_ends_at_the_largest_and_the_least_size(search):
    one = search(curve_through(250), n_max=300)
    assert one.run()[0] == pytest.approx(250, rel=0.2)
    assert max(one.seen) == 300
    one = search(lambda _: 0.99)
    assert one.run() == (20, None, 20)
    assert list(one.seen) == [20]


@pytest.mark.parametrize("n", [301, 400, 5000])
def test_search_says_that_the_power_is_not_reached(search, n):
    """Where the curve crosses above the largest size, or seems to."""
    messages = []
    for seed in range(20):
        try:
            assert search(curve_through(n), seed, n_max=300).run()[0] <= 300
        except NotApplicable as error:
            messages.append(str(error))
    assert len(messages) >= (20 if n == 5000 else 5)
    said = "does not reach a power of 0.8 with n_max = 300 rows"
    assert all(said in message for message in messages)


def test_search_that_is_far_from_the_power_ends_early(search):
    """A hundred data sets that are hardly rejected need no more beside them."""
    one = search(lambda _: 0.1, n_max=300)
    with pytest.raises(NotApplicable, match="does not reach a power"):
        one.run()
    assert one.seen[300].n_datasets == searching.FIRST_DATASETS


def test_message_says_where_the_curve_reaches_the_power(search):
    """Where the largest size seems to have the power, the fitted curve has the last word."""
    messages = []
    for seed in range(20):
        try:
            search(curve_through(305), seed, n_max=300).run()
        except NotApplicable as error:
            messages.append(str(error))
    said = [re.search(r"by the curve through all sizes it takes (\d+);", one) for one in messages]
    found = [int(match[1]) for match in said if match]
    assert found
    assert all(300 < n < 400 for n in found)


def test_search_of_a_flat_curve_ends(search):
    """Rates that fall by chance lead nowhere, and are no error by themselves."""
    for seed in range(20):
        try:
            found = search(lambda _: 0.8, seed, n_max=500).run()[0]
        except NotApplicable:
            continue
        assert 20 <= found <= 500


def test_looks_at_one_size_are_joined():
    """Rejections add up; the mean of estimates weighs the data sets that have one."""
    first = replace(BLANK, n=50, n_datasets=10, rejections=4, estimate=1.0, infinite=2)
    second = replace(first, n_datasets=30, rejections=20, estimate=2.0, not_applicable=4)
    both = joined((first, second))
    assert (both.n_datasets, both.rejections) == (40, 24)
    assert (both.infinite, both.not_applicable) == (4, 4)
    assert both.estimate == pytest.approx((8 * 1.0 + 24 * 2.0) / 32)
    assert math.isnan(joined((BLANK, BLANK)).estimate)


Z = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 100, "rng": 1}
RISKS = beta(2, 5)


def planned(**options):
    """Plan a Spiegelhalter test by its normal limit, which is fast."""
    return ct.sample_size(RISKS, **Z | options)


def test_power_at_the_answer_is_that_of_power():
    """And the answer lies in its interval and between what was tried."""
    result = planned(slope=0.5)
    alone = ct.power(RISKS, n=result.n, slope=0.5, **Z)
    assert result.power.to_dict() == alone.to_dict()
    assert result.low < result.n < result.high
    sizes = result.search.n.tolist()
    assert sizes == sorted(sizes)
    for low, high in ((result.n / 1.6, result.n), (result.n, result.n * 1.6)):
        assert any(low < size < high for size in sizes)


def test_answer_does_not_depend_on_the_jobs():
    """All data sets have seeds of their own."""
    one, two = (planned(slope=0.5, n_jobs=jobs) for jobs in (1, 2))
    assert one.to_dict() == two.to_dict()


def test_answer_is_the_least_size_where_it_is_enough():
    """More power needs more rows."""
    assert planned(slope=0.5, power=0.9).n > planned(slope=0.5, power=0.6).n
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
    result = ct.sample_size(RISKS, tolerance=0.02, equivalence=True, n_datasets=20, n_min=50, rng=1)
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
        ({"slope": 0.5, "n_max": 10**9}, "n_max must be at most 10,000,000"),
        ({"slope": 0.5, "test": ["skce", "brier"], "null": None}, "test must be a single test"),
    ],
)
def test_search_faulty_argument_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        planned(**options)
