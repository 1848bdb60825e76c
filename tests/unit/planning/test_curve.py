"""Power by simulation: seeds, rows, effects, what is refused."""

import numpy as np
import pytest
from scipy.stats import beta, dirichlet

import caltest as ct
from caltest import InvalidInput, NotApplicable

DIRICHLET = dirichlet([1.0, 1.0, 1.0])
QUICK = {"n": 40, "n_datasets": 40, "rng": 1}


def counts(result):
    """Return the numbers of rejections."""
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
    assert effect.error == pytest.approx(0.3 * p, rel=0.02)
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


def test_data_sets_larger_than_the_predictions_are_noted():
    """Resampling ten rows to forty repeats them."""
    result = ct.power(DIRICHLET.rvs(10, 1), **QUICK)
    assert "more than 10 rows draw predictions several times" in result.setting.notes[0]


def test_data_sets_without_a_test_are_not_rejected_and_noted():
    """Of four rows few are predicted to be of one class, and a pair needs two."""
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
        ({"level": 5}, "pass 0.05 for 5 %"),
        ({"n_datasets": 0}, "n_datasets must be an integer of at least 1"),
        ({"n_resamples": 18}, "got 18; pass 19 or more"),
        ({"n_resamples": 38, "test": "spiegelhalter"}, "got 38; pass 39 or more"),
        ({"lens": "classwise"}, "not be a family of lenses here; got classwise"),
        ({"test": "sk"}, "did you mean 'skce'"),
        ({"null": "exakt"}, "did you mean 'exact'"),
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


def test_null_without_a_meaning_is_refused_at_once():
    with pytest.raises(NotApplicable, match="null 'asymptotic' has no meaning"):
        ct.power(DIRICHLET, test="kce", null="asymptotic", **QUICK)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": ["skce", "ks"]}, "ks is not defined for any data set of n = 40: .* 3 classes"),
        (
            {"test": "brier", "tolerance": 0.1},
            "brier is not defined .* has no test with a tolerance",
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
