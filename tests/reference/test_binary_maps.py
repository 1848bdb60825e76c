"""Platt scaling, beta and isotonic calibration, as other packages and papers report them."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from caltest.calibrators import BetaCalibrator, IsotonicCalibrator, PlattScaling
from caltest.measures import ece, log_loss

SINGLE = float(np.finfo(np.float32).eps)


def first5(calibrator, p, y):
    """Fit and map the first five."""
    return calibrator.fit(p, y).predict_proba(p[:5])[:, 1]


@pytest.mark.parametrize(
    ("options", "name", "digits"),
    [
        # no smoothing; stops two digits earlier
        ({}, "platt_pred5|netcal", 3e-6),
        ({"smooth_targets": True}, "platt_logit_pred5|probcal", 2e-8),
        (
            {"smooth_targets": True, "scale": "probability"},
            "sigmoid_on_probs_pred5|sklearn",
            2e-8,
        ),
    ],
)
def test_platt_predictions_are_those_of_packages(beta40, options, name, digits):
    """Each with its score and its targets, to the digits to which its optimiser converged."""
    p, y, values = beta40
    assert first5(PlattScaling(**options), p, y) == pytest.approx(values[name], abs=digits)


def test_platt_slope_and_intercept_are_those_of_cox(beta40):
    """Cox's recalibration is the same regression: calzone, with intervals of 95 %."""
    p, y, values = beta40
    slope, intercept, slopes, intercepts = values["Cox(slope,intercept,ci..)|calzone"]
    platt = PlattScaling().fit(p, y)
    assert [platt.slope_, platt.intercept_] == pytest.approx([slope, intercept], rel=1e-9)
    half = 1.959963984540054 * np.array(list(platt.standard_errors_.values()))
    halves = [(high - low) / 2 for low, high in (slopes, intercepts)]
    assert half == pytest.approx(halves, rel=1e-7)


def test_platt_of_an_intensive_care_score_is_that_of_rms(icu, stored):
    """val.prob of R: intercept and slope of the logistic recalibration of 1000 patients."""
    expected = stored["icu_saps2 (../data/forecasts/icu_saps2.csv.gz)"]["cox_intercept_slope"]
    platt = PlattScaling().fit(icu.probs[:, 1], icu.labels)
    assert [platt.intercept_, platt.slope_] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("parameters", "name"), [("abm", "beta_abm"), ("am", "beta_ab")])
def test_beta_parameters_are_those_of_probcal(beta40, parameters, name):
    """a, b and c; its "ab" has a = b, which is "am" in the paper."""
    p, y, values = beta40
    beta = BetaCalibrator(parameters=parameters).fit(p, y)
    expected = values[f"{name}|probcal"]
    assert [beta.a_, beta.b_, beta.c_] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("parameters", ["abm", "ab", "am"])
def test_beta_maps_are_those_of_betacal(beta40, parameters):
    """a, b and m, to the three digits to which it converged; its "ab" has a negative b here."""
    p, y, values = beta40
    beta = BetaCalibrator(parameters=parameters, constrained=False).fit(p, y)
    expected = values[f"beta_{parameters}_map(a,b,m)|betacal"]
    assert [beta.a_, beta.b_, beta.m_] == pytest.approx(expected, abs=1e-2)


def test_beta_predictions_are_those_of_netcal(beta40):
    p, y, values = beta40
    assert first5(BetaCalibrator(), p, y) == pytest.approx(values["beta_pred5|netcal"], abs=1e-6)


def test_isotonic_predictions_are_those_of_scikit_learn(beta40):
    p, y, values = beta40
    ours = IsotonicCalibrator().fit(p, y).predict_proba(p[:10])[:, 1]
    assert ours == pytest.approx(values["isotonic_pred10|sklearn"], abs=5e-11)


def one_vs_rest(data_dir, network, calibrator, floor=0.0):
    """Fit one map per class to single-precision probabilities, as the notebook does.

    Error, ECE of the normalised probabilities in 15 bins, and log loss, maps clipped at 1e-15.
    """
    data = np.load(data_dir / "logits" / f"kull_c10_{network}.npz")
    val, test = (softmax(data[f"logits_{part}"], axis=1) for part in ("val", "test"))
    val, test = (np.clip(p, floor, 1 - floor).astype(np.float64) for p in (val, test))
    maps = np.empty(test.shape)
    for k in range(10):
        calibrator.fit(val[:, k], data["y_val"] == k)
        maps[:, k] = calibrator.predict_proba(test[:, k])[:, 1]
    labels = data["y_test"]
    probs = maps / maps.sum(axis=1, keepdims=True)
    clipped = np.clip(maps, 1e-15, 1 - 1e-15)
    clipped /= clipped.sum(axis=1, keepdims=True)
    return (
        100 * np.mean(probs.argmax(axis=1) != labels),
        ece(probs, labels, lens="confidence", bins=15),
        log_loss(clipped, labels),
    )


@pytest.mark.parametrize("network", ["resnet110", "densenet40"])
def test_isotonic_one_vs_rest_has_the_errors_of_the_networks(
    data_dir, reference_dir, stored, network
):
    """All digits of those computed with scikit-learn, and nearly those of the notebook."""
    expected = stored["one_vs_rest_isotonic"][f"kull_c10_{network}"]
    error, calibration, loss = one_vs_rest(data_dir, network, IsotonicCalibrator())
    assert error == pytest.approx(expected["error"])
    assert calibration == pytest.approx(expected["ece"], abs=5.01e-7)
    assert loss == pytest.approx(expected["log_loss"], abs=5.01e-6)
    # markus93/NN_calibration: single precision throughout, on an old scikit-learn
    row = table(reference_dir, network, "Isotonic Regression")
    assert [error, calibration, loss] == pytest.approx(row, abs=3e-5)


@pytest.mark.parametrize("network", ["resnet110", "densenet40"])
@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_beta_one_vs_rest_has_the_errors_of_the_networks(
    data_dir, reference_dir, network, parameters
):
    """The error to all digits; the rest as near as the notebook's fits came to the optimum.

    betacal clips probabilities at the epsilon of their type, single precision here. The notebook
    ran it on a scikit-learn whose logistic regression was liblinear with a tolerance of 1e-4: with
    that solver log loss (0.213847, 0.215255, 0.212041; 0.239184, 0.239227, 0.238212) and ECE are
    the notebook's in all digits but the last, except one ECE, 0.01272 of 0.01282.
    """
    calibrator = BetaCalibrator(parameters=parameters)
    error, calibration, loss = one_vs_rest(data_dir, network, calibrator, floor=SINGLE)
    names = {"abm": "Beta Calibration", "am": "BC am", "ab": "BC ab"}
    row = table(reference_dir, network, names[parameters])
    assert error == pytest.approx(row[0])
    assert calibration == pytest.approx(row[1], abs=2e-4)
    assert loss == pytest.approx(row[2], abs=2e-5)


def table(reference_dir, network, method):
    """Error, ECE and log loss of markus93/NN_calibration at 91f05636."""
    parts = ("error", "ece", "logloss")
    frames = [pd.read_csv(reference_dir / f"nn_calibration_ovr_{part}.csv") for part in parts]
    return [frame.set_index("Name").loc[f"{network}_c10", method] for frame in frames]
