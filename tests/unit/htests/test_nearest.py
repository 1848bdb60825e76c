"""Groups that are too small for a test are tested by the nearest variant that is defined."""

import numpy as np
import pytest

import caltest as ct
from caltest import DegenerateDataWarning, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.htests import REGISTRY as EVERY_TEST
from caltest.kernels import Gaussian
from caltest.measures import REGISTRY
from caltest.measures.kernel.cme import CME
from caltest.measures.kernel.skce import SKCE

TESTS = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

SIZES = [40, 30, 2, 1]


@pytest.fixture(scope="module")
def predictions():
    """Return two large groups, one of two rows, one of one row; two classes."""
    rng = np.random.default_rng(0)
    event = rng.random(sum(SIZES))
    groups = np.repeat(["a", "b", "two", "one"], SIZES)
    return Predictions(event, rng.random(event.size) < event, groups=groups)


def run(predictions, test, **options):
    settings = {"n_resamples": 99, "rng": 7, "by": True} | options
    return calibration_test(predictions, test=test, **settings)


@pytest.mark.cases(9, full=99)
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("test", TESTS)
def test_no_group_is_left_out_by_default(test, predictions):
    """Whatever the test, with one row or two, whose labels are all listed, and for a PD of 0."""
    certain = np.where(predictions.groups == "one", 0.0, predictions.probs[:, 1])
    labels = np.where(predictions.groups == "one", 0, predictions.labels)
    for data in (Predictions(certain, labels, groups=predictions.groups), predictions):
        table = run(data, test)
        assert [row.group for row in table] == ["a", "b", "one", "two"]
        assert np.logical_and(table.pvalues > 0, table.pvalues <= 1).all()
        assert len(table.omnibus) == 1
        assert len(table.notes) == (test == "vasicek")  # on factors that are taken as independent
    if TESTS[test].default_null == "exact":
        assert "all 2 label vectors" in table[2].null_text


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("test", "group"), [("normal", "one"), ("le-cessie-van-houwelingen", "one")]
)
def test_group_without_a_limit_says_that_it_is_tested_exactly(test, group, predictions):
    """A prediction of 0 has no variance."""
    certain = np.where(predictions.groups == group, 0.0, predictions.probs[:, 1])
    labels = np.where(predictions.groups == group, 0, predictions.labels)
    data = Predictions(certain, labels, groups=predictions.groups)
    row = run(data, test, null="asymptotic")[2]
    assert (row.null, row.pvalue) == ("exact", 1.0)
    assert row.notes[0].startswith("tested by the exact null: ")


def test_variant_is_named_in_a_note_and_is_that_by_itself(predictions):
    """With the reason, and its numbers; groups that are large enough have none."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        table = run(predictions, "skce")
    assert table[0].notes == ()
    assert table[2].notes[0] == (
        "tested by the squared kernel calibration error, biased estimator: the unbiased SKCE "
        "needs at least two observations, and there is one"
    )
    part = predictions.subset(predictions.groups == "one")
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal"):
        alone = calibration_test(part, test=SKCE(estimator="biased"), rng=table[2].seed)
    assert (table[2].statistic, table[2].pvalue) == (alone.statistic, alone.pvalue)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_group_without_a_limit_law_is_tested_exactly(predictions):
    """One block has no standard deviation; the groups that have one keep the null asked for."""
    table = run(predictions, "skce-linear", null="asymptotic")
    assert [row.null for row in table] == ["asymptotic", "asymptotic", "exact", "exact"]
    assert "tested by the exact null: the normal limit needs" in table[3].notes[0]
    assert table.omnibus[0].null == "asymptotic"


def test_null_without_meaning_stays_an_error(predictions):
    """What was asked for makes no sense for any size."""
    with pytest.raises(NotApplicable, match="null 'bootstrap' has no meaning"):
        run(predictions, "ece", null="bootstrap")


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(("test", "null"), [("ks", "asymptotic"), ("cme", "exact")])
def test_weights_that_are_not_taken_stay_an_error(test, null, predictions):
    """Size has nothing to do with it."""
    arrays = predictions.probs, predictions.labels
    ones = np.ones(predictions.n)
    weighted = Predictions(*arrays, sample_weight=ones, groups=predictions.groups)
    with pytest.raises(NotApplicable, match="no sample weights"):
        run(weighted, test, null=null)


def test_median_variance_bins_of_few_rows_are_one_bin(predictions):
    """Two rows cannot fill a bin of at least ten."""
    table = run(predictions, "ece", binning="median-variance")
    assert "median-variance bins of at least 10" in table[3].notes[0]
    part = predictions.subset(predictions.groups == "two")
    expected = abs(part.labels.mean() - part.probs[:, 1].mean())
    assert table[3].estimate == pytest.approx(expected)


def test_variant_keeps_the_options():
    """The kernel of the CME is that of the SKCE; what is always defined has no variant."""
    measure = CME(kernel=Gaussian(0.3))
    assert measure.few_rows() == SKCE(estimator="biased", kernel=measure.kernel)
    assert measure.few_rows(weighted=True) is measure
    for measure in (SKCE(estimator="biased"), REGISTRY["brier"]()):
        assert measure.few_rows() == measure
