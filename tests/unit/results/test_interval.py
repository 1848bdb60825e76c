"""Confidence intervals of results, and the evidence that they need."""

import json
import pickle

import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest.results import HTest

DATA = ct.datasets.generative_model("M2", n=60, m=2, alpha=1.0, rng=1)


def judged(**options):
    return ct.test_calibration(DATA, **({"test": "skce", "n_resamples": 9, "rng": 3} | options))


@pytest.mark.parametrize(
    "key",
    [
        *("skce", "ece", "debiased-ece", "smooth-ece", "brier", "binomial", "unreliability"),
        *("corp", "calibration-slope", "calibration-in-the-large"),
    ],
)
def test_interval_holds_the_estimate(key):
    """Of a recalibration the statistic is a likelihood ratio, the estimate a coefficient."""
    result = judged(test=key)
    interval = result.confidence_interval(n_resamples=99)
    assert interval.estimate == pytest.approx(result.estimate, rel=1e-9)
    assert interval.estimate in interval
    assert interval.name == result.estimate_name
    assert interval.low >= 0 or key.startswith("calibration-")


def test_interval_of_rare_pairs_is_that_of_all_pairs():
    """Sixty rows make thirty blocks, which is too few; the lower end is that of the own test."""
    interval, pairs = (judged(test=key).confidence_interval() for key in ("skce-block", "skce"))
    assert interval.high == pairs.high
    assert interval.low <= pairs.low


@pytest.mark.parametrize("key", ["skce", "ece", "log-loss", "smooth-ece"])
def test_higher_level_gives_a_wider_interval(key):
    """With the seed of the test both use the same resamples."""
    result = judged(test=key)
    narrow, wide = (result.confidence_interval(level, n_resamples=99) for level in (0.8, 0.95))
    assert wide.low <= narrow.low <= narrow.high <= wide.high


def test_interval_can_be_repeated():
    """The seed of the test by default, or one that is given; it is printed."""
    result = judged(test="ece")
    one, two = (result.confidence_interval(n_resamples=99) for _ in range(2))
    other = result.confidence_interval(n_resamples=99, rng=4)
    assert one == two != other
    assert "B = 99, seed = 3" in str(one)


@pytest.mark.parametrize("key", ["brier", "log-loss", "ece", "ks", "smooth-ece"])
def test_interval_does_not_depend_on_the_threads(key):
    """Every batch of resamples has a seed of its own."""
    result = judged(test=key)
    options = {"n_resamples": 99}
    assert result.confidence_interval(**options) == result.confidence_interval(n_jobs=2, **options)


def test_interval_is_that_of_the_lens():
    """A row of a table keeps its member of the family."""
    table = judged(lens="classwise", test="ks")
    expected = judged(lens="classwise[1]", test="ks").confidence_interval(n_resamples=99)
    assert table[1].confidence_interval(n_resamples=99) == expected


def test_result_from_json_says_what_it_lacks():
    """The numbers are there, the predictions are not."""
    copy = HTest.from_dict(json.loads(judged().to_json()))
    for question in (copy.confidence_interval, copy.witness):
        with pytest.raises(NotApplicable, match=r"read from JSON.*run test_calibration again"):
            question()


def test_pickled_result_keeps_its_predictions():
    """Unless it is of a lambda."""
    result = judged()
    copy = pickle.loads(pickle.dumps(result))  # noqa: S301 - made one line above
    assert copy == result
    assert copy.confidence_interval() == result.confidence_interval()
    result = judged(lens=ct.lenses.Custom(lambda p, y: (p, y)))
    copy = pickle.loads(pickle.dumps(result))  # noqa: S301 - made one line above
    assert copy == result
    assert copy.evidence is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "confidence must lie strictly between 0 and 1; got 95"),
        ({"n_resamples": 9}, "n_resamples must be an integer of at least 99; got 9"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer other than 0"),
        ({"rng": "a"}, "rng must be None"),
    ],
)
def test_illegal_options_name_rule_and_value(options, message):
    with pytest.raises(InvalidInput, match=message):
        judged().confidence_interval(**options)
