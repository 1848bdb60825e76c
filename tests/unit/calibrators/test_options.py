"""Options of calibrators that break their rule: `fit` names the option, its rule and the value."""

import numpy as np
import pytest

from caltest import InvalidInput, calibrators
from caltest.calibrators import TemperatureScaling

RNG = np.random.default_rng(0)
TWO, EVENT = RNG.random(50), np.arange(50) % 2
FOUR, CLASS = RNG.dirichlet(np.ones(4), 50), np.arange(50) % 4
TRUTH, CHOICE = "must be True or False; got", "must be one of"
WHOLE, PENALTY = "must be an integer of at least", 'must be "auto", a number of at least 0'

OF_TWO = [
    ("BBQ", {"prior_size": 0}, "must be a positive number; got 0"),
    ("BBQ", {"min_bins": 0}, f"{WHOLE} 1; got 0"),
    ("BBQ", {"max_bins": 4, "min_bins": 5}, f"{WHOLE} 5; got 4"),
    ("BBQ", {"averaging": "yes"}, TRUTH),
    ("ENIR", {"averaging": 1}, TRUTH),
    ("BetaCalibrator", {"parameters": "a"}, "must be one of 'abm', 'am', 'ab'"),
    ("BetaCalibrator", {"constrained": "no"}, TRUTH),
    ("BetaCalibrator", {"clip": 0.5}, "must"),
    ("HistogramBinning", {"bins": 0}, f"{WHOLE} 1; got 0"),
    ("HistogramBinning", {"bins": 2.5}, WHOLE),
    ("HistogramBinning", {"binning": "width"}, CHOICE),
    ("HistogramBinning", {"empty": "mean"}, CHOICE),
    ("IsotonicCalibrator", {"interpolation": "cubic"}, "must be one of 'linear', 'step'"),
    ("PlattScaling", {"scale": "logit"}, "must be one of 'log-odds', 'probability'"),
    ("PlattScaling", {"smooth_targets": "no"}, TRUTH),
    ("PlattScaling", {"clip": 0.5}, "must"),
    ("VennAbers", {"loss": "hinge"}, CHOICE),
]
OF_FOUR = [
    ("TemperatureScaling", {"from_logits": "no"}, TRUTH),
    ("TemperatureScaling", {"clip": 0}, "must"),
    ("TemperatureScaling", {"clip": np.nan}, "must"),
    ("VectorScaling", {"clip": 0.5}, "must"),
    ("MatrixScaling", {"clip": 0.5}, "must"),
    ("OrdinalScaling", {"clip": np.empty(0)}, "must"),
    ("KernelCalibrator", {"prior": -1}, "must not be negative; got -1"),
    ("AutoCalibrator", {"calibrators": []}, "must"),
    ("AutoCalibrator", {"calibrators": 0.5}, "must"),
    ("AutoCalibrator", {"calibrators": [TemperatureScaling]}, "must"),
    ("DirichletCalibrator", {"clip": 0.5}, "must"),
    ("DirichletCalibrator", {"reg": "l1"}, CHOICE),
    ("DirichletCalibrator", {"lam": -1}, PENALTY),
    ("DirichletCalibrator", {"lam": [0.1, np.nan]}, PENALTY),
    ("DirichletCalibrator", {"lam": []}, "must name at least one"),
    ("DirichletCalibrator", {"mu": "yes"}, "must be"),
    ("DirichletCalibrator", {"mu": True}, "must be"),
    ("DirichletCalibrator", {"diagonal": "one"}, CHOICE),
    ("DirichletCalibrator", {"off_diagonal": "dropout"}, CHOICE),
    ("DirichletCalibrator", {"intercept": 1}, TRUTH),
    ("DirichletCalibrator", {"reference_class": True, "off_diagonal": "zero"}, "must go with"),
    ("DirichletCalibrator", {"parametrisation": "canonical"}, CHOICE),
    (
        "DirichletCalibrator",
        {"lam": [0.1, 1], "parametrisation": "generative"},
        "must go with parametrisation",
    ),
    ("DirichletCalibrator", {"n_jobs": 0}, "must be None or an integer other than 0"),
    ("DirichletCalibrator", {"diagonal_lam": -1}, PENALTY),
    ("DirichletCalibrator", {"diagonal_lam": np.ones(2)}, PENALTY),
    ("DirichletCalibrator", {"cv": "five"}, "must be an integer"),
    ("DirichletCalibrator", {"random_state": "one"}, "must be None, a non-negative"),
    ("DirichletCalibrator", {"diagonal_lam": 1, "reg": "l2"}, "must go with reg='odir'"),
    ("SplineCalibrator", {"mode": "top"}, r"must be 'top-r' .* got 'top'; pass 'top-1', 'top-2'"),
    ("SplineCalibrator", {"mode": "top-0"}, "must be 'top-r'"),
    ("SplineCalibrator", {"mode": 1}, "must be 'top-r'"),
    ("SplineCalibrator", {"mode": {1, 2}}, "must"),
    ("SplineCalibrator", {"knots": 2}, f"{WHOLE} 3; got 2"),
    ("SplineCalibrator", {"knots": 3, "runout": "cubic"}, f"{WHOLE} 4; got 3"),
    ("SplineCalibrator", {"knots": 6.0}, WHOLE),
    ("SplineCalibrator", {"runout": "quadratic"}, CHOICE),
    ("SplineCalibrator", {"target": "sum"}, CHOICE),
    ("SplineCalibrator", {"slope": "start"}, CHOICE),
    ("SplineCalibrator", {"constrained": "no"}, TRUTH),
    ("SplineCalibrator", {"monotone": "no"}, TRUTH),
    ("GPCalibrator", {"n_inducing": 0}, f"{WHOLE} 1"),
    ("GPCalibrator", {"kernel": "matern12"}, CHOICE),
    ("GPCalibrator", {"mean_function": "log"}, CHOICE),
    ("GPCalibrator", {"covariance": "diag"}, CHOICE),
    ("GPCalibrator", {"expectation": "exact"}, CHOICE),
    ("GPCalibrator", {"inference": "median"}, CHOICE),
    ("GPCalibrator", {"inference": "gauss-hermite"}, "='gauss-hermite' needs two classes"),
    ("GPCalibrator", {"n_samples": 1}, f"{WHOLE} 2"),
    ("GPCalibrator", {"variance_bounds": (2.0, 1.0)}, "must be two ascending numbers"),
    ("GPCalibrator", {"length_scale_bounds": (0.0, 1.0)}, "must be a positive"),
    ("GPCalibrator", {"length_scale_bounds": (1e-4, 1.0)}, "must be at least 0.001; got"),
    ("GPCalibrator", {"noise_bounds": 0.1}, "must be two ascending numbers"),
    ("GPCalibrator", {"monotone": 1}, f"{TRUTH} 1"),
    ("GPCalibrator", {"batch_size": 0}, f"{WHOLE} 1"),
    ("GPCalibrator", {"max_iter": 0.5}, "must be an integer"),
    ("GPCalibrator", {"tol": 0}, "must be a positive number"),
    ("GPCalibrator", {"random_state": -1}, "must be None, a non-negative integer"),
    ("GPCalibrator", {"n_jobs": 0}, "must be None or an integer other than 0"),
]


@pytest.mark.parametrize("data", [(TWO, EVENT, OF_TWO), (FOUR, CLASS, OF_FOUR)], ids=["2", "4"])
def test_illegal_option_is_refused(data, case):
    probs, labels, table = data
    for name, options, rule in table:
        message = f"{next(iter(options))}:? ?{rule}"
        with case(name, options), pytest.raises(InvalidInput, match=message):
            getattr(calibrators, name)(**options).fit(probs, labels)


@pytest.mark.parametrize(
    ("mode", "message"),
    [("top-5", r"r must be at most 4 .* got 5 in top-5"), ("within-top-4", "r must be at most 3")],
)
def test_rank_beyond_the_classes_is_refused(mode, message):
    with pytest.raises(InvalidInput, match=message):
        calibrators.SplineCalibrator(mode=mode).fit(FOUR, CLASS)
