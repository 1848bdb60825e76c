"""Options of measures and curves that break their rule: the error names the option and the rule."""

import math

import pytest

from caltest import InvalidInput, NotApplicable, measures
from caltest.datasets import generative_model
from caltest.kernels import Exponential

WHOLE, OPEN = "must be an integer of at least", "must lie strictly between 0 and 1"
CHOICE, POSITIVE = "must be one of", "must be a positive number"
ILLEGAL = [
    ("ece", "binning", "width", CHOICE),
    ("ece", "bins", 0, WHOLE),
    ("ece", "bins", 1.5, WHOLE),
    ("ece", "bins", 10**30, "must be at most 1,000,000"),
    ("ece", "min_size", 0, WHOLE),
    ("ece", "max_bins", -1, WHOLE),
    ("ece", "distance", "euclidean", f"{CHOICE}.*did you mean 'sqeuclidean'"),
    ("ece", "p", 0.5, "must be"),
    ("mce", "distance", "euclidean", CHOICE),
    ("classwise_ece", "binning", "median-variance", CHOICE),
    ("classwise_ece", "binning", "sweep", CHOICE),
    ("classwise_ece", "bins", 10**9, "must be at most 1,000,000"),
    ("debiased_ece", "binning", "sweep", CHOICE),
    ("debiased_ece", "root", "no", "must be True or False"),
    ("ks_error", "scaled", 0, "must be True or False"),
    ("kuiper_error", "scaled", "no", "must be True or False"),
    ("reliability_bins", "binning", "width", CHOICE),
    ("reliability_bins", "bins", 0, WHOLE),
    ("reliability_bins", "confidence", 95, OPEN),
    ("t_cal", "scales", 0, WHOLE),
    ("t_cal", "scales", 2.5, WHOLE),
    ("t_cal", "scales", "all", WHOLE),
    ("combined", "components", "sharpness", ".*'sharpness'.*temperature"),
    ("combined", "components", 0.5, "must be a name or a list of names"),
    ("hosmer_lemeshow", "groups", 1, WHOLE),
    ("hosmer_lemeshow", "groups", 2.5, WHOLE),
    ("confidence_band", "method", "YB", "must be one of 'standard', 'round', 'yang-barber'"),
    ("confidence_band", "digits", 0, WHOLE),
    ("confidence_band_curve", "confidence", 95, "must "),
    ("confidence_band_curve", "noncrossing", 1, "must be True or False"),
    ("corp_miscalibration", "score", "spherical", "must be one of 'brier', 'log-loss'"),
    ("corp_band", "confidence", 0, OPEN),
    ("corp_band", "n_resamples", 98, "must be an integer of at least 99"),
    ("corp_band", "n_resamples", 10**12, "must be at most 100,000,000"),
    ("corp_band", "rng", -1, "must be None, a non-negative integer"),
    ("corp_band", "n_jobs", 0, "must be None or an integer other than 0"),
    ("mmce", "width", 0, POSITIVE),
    ("mmce", "width", "wide", POSITIVE),
    ("mmce", "width", math.nan, POSITIVE),
    ("skce", "estimator", "unbaised", "must be one of .* did you mean 'unbiased'"),
    ("skce", "block_size", 1, WHOLE),
    ("skce", "block_size", 2.0, WHOLE),
    ("skce", "kernel", "gaussian", "must be a MatrixKernel; got a str"),
    ("skce", "kernel", Exponential, "must be a MatrixKernel; got the class Exponential"),
    ("kce", "kernel", "exponential", "must be a MatrixKernel"),
    ("calibration_belt_curve", "confidence", 95, "must "),
    ("calibration_belt_curve", "points", 3, "must "),
    ("calibration_belt_curve", "points", 10**9, "must be at most 1,000,000"),
    ("calibration_belt_curve", "max_degree", 5, "must "),
    ("calibration_belt_curve", "threshold", 0, "must "),
    ("cox", "tested", "intercepts", CHOICE),
    ("cox", "slopes", "matrix", CHOICE),
    ("calibration_intercept", "slope", "free", CHOICE),
    ("score_decomposition", "score", "spherical", CHOICE),
    ("score_decomposition", "method", "murphy", CHOICE),
    ("score_decomposition", "binning", "sweep", CHOICE),
    ("score_decomposition", "bins", 0, WHOLE),
    ("log_loss", "eps", 0, OPEN),
    ("log_loss", "eps", 1, OPEN),
    ("log_loss", "eps", "auto", OPEN),
    ("ici", "span", 0.0, "must be"),
    ("ici", "span", 1.5, "must be"),
    ("ici", "span", "wide", "must be"),
    ("smooth_ece", "bandwidth", 0, POSITIVE),
    ("smooth_ece", "bandwidth", "auto", "must be"),
    ("smooth_ece", "method", "fast", CHOICE),
]


def test_illegal_option_is_refused(case):
    for name, option, value, rule in ILLEGAL:
        with case(name, option, value), pytest.raises(InvalidInput, match=f"{option} {rule}"):
            getattr(measures, name)([0.2, 0.7, 0.4], [0, 1, 1], **{option: value})


# ---- lenses of what is no number ----------------------------------------------------------------

OTHERS = [
    *("calibration_belt_curve", "confidence_band_curve", "corp_band", "corp_curve"),
    *("expected_observed_interval", "net_benefit", "reliability_bins", "score_decomposition"),
    "smooth_curve",
]


@pytest.mark.parametrize("name", OTHERS)
def test_family_of_lenses_has_a_list(name):
    """One for each class; several classes at once are refused."""
    data = generative_model("M3", n=60, m=3, rng=0)
    found = getattr(measures, name)(data, lens="classwise")
    assert len(found) == 3
    assert type(found[1]) is type(getattr(measures, name)(data, lens="classwise[1]"))
    with pytest.raises(NotApplicable, match="takes one-dimensional predictions"):
        getattr(measures, name)(data)
