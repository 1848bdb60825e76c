"""The assertions: what fails, what the message says, what is refused."""

import numpy as np
import pytest

import caltest as ct
from caltest.testing import TooFewRowsWarning, assert_calibrated, assert_within
from caltest.testing.assertions import resamples_for


def model(n, slope=1.0, seed=0):
    """Return the predictions of two classes whose log odds are `slope` times as far from 0."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return ct.Predictions(1 / (1 + np.exp(-slope * odds)), labels)


def test_calibrated_model_passes_and_gives_its_result():
    """Too few rows pass with a warning."""
    result = assert_calibrated(model(400), test="brier")
    assert (result.test, result.level, result.seed) == ("brier", 0.01, 0)
    with pytest.warns(TooFewRowsWarning, match="too few rows to tell"):
        assert_calibrated(model(12), test="brier")


def test_failure_is_the_verdict():
    """What is wrong, where, the p-value, the seed and the line that repeats it."""
    with pytest.raises(
        AssertionError, match=r"\ANot calibrated \(p = 0.001, level 0.01\)"
    ) as raised:
        assert_calibrated(model(400, slope=3), rng=7)
    told = str(raised.value)
    assert "slope of the log odds" in told
    assert "worst:" in told
    assert "\nseed: 7\n" in told
    assert told.endswith("repeat: ct.testing.assert_calibrated(model, level=0.01, rng=7)")


BAD = model(300, slope=3)


@pytest.mark.parametrize("asked", [{"test": "ks"}, {"test": "ks", "by": np.arange(300) % 2}])
@pytest.mark.parametrize(
    "given",
    [
        {"model": BAD},
        {"model": BAD.probs, "data": BAD.labels},
        {"model": lambda rows: BAD.probs[rows], "data": np.arange(300), "y": BAD.labels},
    ],
)
def test_line_repeats_the_failure(given, asked):
    """It is Python, and gives the same p-value; arrays stand there by their names."""
    with pytest.raises(AssertionError) as first:
        assert_calibrated(**given, rng=5, **asked)
    line = str(first.value).rpartition("repeat: ")[2]
    with pytest.raises(AssertionError) as second:
        eval(line, {"ct": ct, **given, **asked})  # noqa: S307, our own line
    assert str(second.value) == str(first.value)


def test_model_and_data_are_those_of_the_test():
    """A callable with (X, y), a table of groups and a list of lenses."""
    data = model(300)
    X, y = np.arange(300), data.labels
    assert assert_calibrated(lambda rows: data.probs[rows], (X, y), test="brier").n == 300
    table = assert_calibrated(data, by=np.arange(300) % 2, test="brier")
    assert len(table) == 2
    with pytest.raises(AssertionError, match="in 2 of 2 groups"):
        assert_calibrated(model(300, slope=4), by=np.arange(300) % 2, test="brier")


def test_segments_are_asserted_without_a_tolerance():
    with pytest.raises(AssertionError, match="Not calibrated"):
        assert_calibrated(model(400, slope=4), segments={"ward": np.arange(400) % 3})
    with pytest.raises(ct.InvalidInput, match="use by="):
        assert_within(model(50), tolerance=0.1, segments={"a": np.zeros(50)})


def test_tolerance_is_the_benefit_of_the_doubt():
    """An error within the tolerance is no failure, one beyond is."""
    assert_calibrated(model(3000, slope=1.3), test="ks", tolerance=0.1)
    with pytest.raises(AssertionError, match="Beyond the tolerance"):
        assert_calibrated(model(3000, slope=4), test="ks", tolerance=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"equivalence": True, "tolerance": 0.1}, "use assert_within"),
        ({"rng": None}, "rng must be a seed"),
        ({"n_resamples": 49}, "allow a p-value of 0.01; got 49, .* 0.02; pass 999 or more"),
        # The limit for n rows is at least the p-value of the redrawn labels.
        ({"n_resamples": 49, "test": "skce", "tolerance": 0.01}, "allow .* 0.01; got 49"),
        (
            {"n_resamples": 49, "test": "ks", "tolerance": 0.1, "cluster": np.arange(50)},
            "allow .* 0.01; got 49",
        ),
        ({"level": 2}, "level must"),
    ],
)
def test_arguments_that_would_never_fail_are_refused(options, message):
    """A test that cannot reject, or that may be repeated until it passes, is none."""
    with pytest.raises(ct.InvalidInput, match=message):
        assert_calibrated(model(50), **options)


def test_small_level_has_more_resamples():
    """The least p-value is a tenth of the level."""
    assert assert_calibrated(model(400), test="brier", level=0.002).n_resamples == 4999
    assert (resamples_for(0.01), resamples_for(0.01, 20)) == (999, 19999)


def test_within_must_be_shown():
    """By enough rows; of many classes for the confidence."""
    assert assert_within(model(5000), tolerance=0.05).pvalue <= 0.01
    with pytest.raises(AssertionError, match="is not shown to be below") as raised:
        assert_within(model(2000, slope=4), tolerance=0.02)
    assert "too few" not in str(raised.value)
    with pytest.raises(AssertionError, match=r"too few rows: .* 100 rows do not show"):
        assert_within(model(100), tolerance=0.05)
    data = ct.datasets.generative_model("M1", n=4000, m=4, rng=1)
    result = assert_within(data, tolerance=0.1)
    assert (result.test, result.lens) == ("ks", "confidence")
    assert assert_within(data, tolerance=0.5, test="skce").test == "skce"


def test_every_group_must_be_within():
    """The worst decides, without an adjustment: all must be shown."""
    good, bad = model(4000), model(4000, slope=3, seed=1)
    probs = np.vstack([good.probs, bad.probs])
    labels = np.concatenate([good.labels, bad.labels])
    group = np.repeat(["good", "bad"], 4000)
    table = assert_within(good, tolerance=0.06, by=np.arange(4000) % 2)
    assert (table.pvalues <= 0.01).all()
    with pytest.raises(AssertionError, match="is not shown to be below"):
        assert_within(ct.Predictions(probs, labels), tolerance=0.06, by=group)


def test_claim_within_a_tolerance_cannot_be_turned_round():
    """Without equivalence it would pass where nothing is shown."""
    with pytest.raises(ct.InvalidInput, match=r"not have equivalence=False; .* assert_calibrated"):
        assert_within(model(50), tolerance=0.1, equivalence=False)
