"""The named tests: options, degrees of freedom, both sides, what each finds, degenerate data."""

import numpy as np
import pytest
from scipy.stats import chi2

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests.run import NamedTest, check_options
from caltest.measures import SKCE, skce, smooth_ece

TEST = NamedTest("skce-five", SKCE, {"estimator": "block"})


def test_options_are_those_of_the_measure_that_are_not_fixed():
    """A test takes its own and leaves the others; what no test takes is refused with a list."""
    assert TEST.options == ("block_size", "kernel")
    measure = TEST.with_options({"block_size": 5, "bins": 10})
    assert measure == SKCE(estimator="block", block_size=5)
    check_options({"five": TEST, "any": NamedTest("skce", SKCE)}, {"estimator": "biased"})
    with pytest.raises(InvalidInput, match=r"got 'estimator'; use block_size, kernel"):
        check_options({"five": TEST}, {"estimator": "biased"})


# ---- skce ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def predictions():
    return generative_model("M2", n=40, m=3, rng=0)


@pytest.mark.parametrize(
    ("key", "options", "estimator"),
    [
        ("skce", {}, {"estimator": "unbiased"}),
        ("skce", {"estimator": "biased"}, {"estimator": "biased"}),
        ("skce-linear", {}, {"estimator": "linear"}),
        ("skce-block", {}, {"estimator": "block", "block_size": 2}),
        ("skce-block", {"block_size": 5}, {"estimator": "block", "block_size": 5}),
    ],
)
def test_key_stands_for_an_estimator(key, options, estimator, predictions):
    """The estimate is that of the measure with the options of the key and of the call."""
    result = calibration_test(None, predictions, test=key, n_resamples=19, rng=0, **options)
    assert result.test == key
    expected = pytest.approx(skce(predictions, **estimator), rel=1e-12)
    assert result.statistic == result.estimate == expected


# ---- hosmer lemeshow -----------------------------------------------------------------------------


def run(data, **options):
    return calibration_test(None, data, **{"test": "hosmer-lemeshow", **options})


@pytest.mark.parametrize(
    ("test", "m", "groups", "lost"),
    [*(("hosmer-lemeshow", m, g, 2) for m, g in ((2, 10), (2, 6), (4, 10))),
     ("pigeon-heyse", 2, 10, 1)],
)  # fmt: skip
@pytest.mark.parametrize("internal", [False, True])
def test_degrees_of_freedom_are_printed_and_used(test, m, groups, lost, internal):
    """They are g (m - 1) for external data; the development sample loses two groups, or one."""
    data = generative_model("M1", n=800, m=m, rng=0)
    result = run(data, test=test, null="asymptotic", groups=groups, internal=internal)
    df = (groups - lost * internal) * (m - 1)
    assert result.pvalue == pytest.approx(chi2.sf(result.statistic, df), rel=1e-9)
    assert (result.parameters["groups"], result.parameters["df"]) == (groups, df)
    text = " ".join(str(result).split())
    assert f"groups = {groups}, df = {df}" in text.replace(", reference = 0", "")
    assert f"internal={not internal}" in text


def test_sparse_groups_are_noted():
    """Expected counts below 5 and below 1; groups without degrees of freedom are refused."""
    data = Predictions(np.linspace(0.001, 0.02, 500), np.arange(500) % 100 == 0)
    notes = run(data, null="asymptotic").notes
    assert any("below 5 in 10 of 20 cells, below 1 in 10, where" in note for note in notes)
    data = generative_model("M1", n=100, m=2, rng=0)
    with pytest.raises(NotApplicable, match="no degrees of freedom with 2 groups; use more"):
        run(data, null="asymptotic", groups=2, internal=True)


# ---- ks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("test", "null"),
    [("smooth-ece", "exact")]
    + [(t, null) for t in ("ks", "kuiper", "spiegelhalter") for null in ("exact", "asymptotic")],
)
def test_perfectly_calibrated_constant_has_p_value_one(test, null):
    """A quarter of events at 0.25: the deviation is 0, the least there is, up to rounding."""
    data = Predictions(np.full(100, 0.25), np.arange(100) % 4 == 0)
    result = calibration_test(None, data, test=test, null=null, rng=1)
    assert result.statistic == pytest.approx(0, abs=1e-12)
    assert result.pvalue == pytest.approx(1.0)


# ---- smooth ece ----------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"bandwidth": 0.1}, {"method": "exact"}])
def test_estimate_is_the_measure_with_its_options(options):
    data = generative_model("M3", n=200, m=2, rng=0)
    result = calibration_test(None, data, test="smooth-ece", rng=0, n_resamples=99, **options)
    assert result.estimate == pytest.approx(smooth_ece(data, **options), rel=1e-12)
    assert result.pvalue == 0.01


def test_labels_that_mirror_each_other_are_ties():
    """At 0.5, k events and n - k have the same value: P(|k - 5| >= 2 of 10) = 0.754."""
    data = Predictions(np.full(10, 0.5), np.arange(10) < 3)
    result = calibration_test(None, data, test="smooth-ece", rng=0)
    assert result.pvalue == pytest.approx(2 * (1 + 10 + 45 + 120) / 1024, abs=0.05)


# ---- cox -----------------------------------------------------------------------------------------

KEYS = ("cox", "calibration-in-the-large", "calibration-slope", "unreliability")


def changed(intercept=0.0, slope=1.0, n=1500):
    """Return predictions whose recalibration has this intercept and slope, roughly."""
    data = generative_model("M1", n=n, m=2, alpha=1.0, rng=0)
    log_odds = (np.log(data.probs[:, 1] / data.probs[:, 0]) - intercept) / slope
    return Predictions(1 / (1 + np.exp(-log_odds)), data.labels)


@pytest.mark.parametrize(
    ("intercept", "slope", "keys"),
    [
        (0.5, 1.0, ("cox", "calibration-in-the-large", "unreliability")),
        (-0.5, 1.0, ("cox", "calibration-in-the-large", "unreliability")),
        (0.0, 0.5, ("cox", "calibration-slope", "unreliability")),
        (0.0, 1.5, ("cox", "calibration-slope", "unreliability")),
    ],
)
def test_each_test_sees_its_own_parameter(intercept, slope, keys):
    """Too high, too low, overconfident and underconfident predictions."""
    data = changed(intercept, slope)
    pvalues = {key: calibration_test(data, test=key, null="asymptotic").pvalue for key in KEYS}
    assert all(pvalue < 1e-4 for key, pvalue in pvalues.items() if key in keys)
    assert all(pvalue > 1e-4 for key, pvalue in pvalues.items() if key not in keys)


def test_limit_of_several_classes_states_its_degrees_of_freedom():
    """One slope and m - 1 intercepts, or two for each class but the reference."""
    data = generative_model("M1", n=400, m=4, alpha=1.0, rng=0)
    for slopes, df in (("common", 4), ("reference", 6)):
        result = calibration_test(data, test="cox", slopes=slopes, null="asymptotic")
        assert f"{df} degrees of freedom" in result.null_text
        assert result.pvalue == pytest.approx(chi2.sf(result.statistic, df))


def test_one_impossible_label_is_found_at_any_size():
    """One of 2,000 rows, by every test and null; a printed statistic is infinite."""
    data = changed(n=2000)
    probs, labels = data.probs[:, 1].copy(), data.labels.copy()
    probs[3], labels[3] = 0.0, 1
    for key in KEYS:
        for null in ("exact", "asymptotic"):
            with (
                pytest.warns(DegenerateDataWarning, match=r"row 3"),
                pytest.warns(DegenerateDataWarning, match="no log odds"),
            ):
                result = calibration_test(probs, labels, test=key, null=null, n_resamples=99, rng=0)
            assert result.pvalue <= 0.01
