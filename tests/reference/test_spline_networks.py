"""Spline calibration against the authors' script, and on the networks of the paper.

The script is github.com/kartikgupta-at-anu/spline-calibration at b6a2f603, run with numpy 2 on
Python 3.11 and on probabilities in double precision.
"""

import numpy as np
import pytest

import caltest as ct
from caltest.calibrators import SplineCalibrator

AT = np.array([0.0, 0.13, 0.5, 0.77, 1.0])

# utilities.Spline(i / n, h - h~, linspace(0, 1, knots), runout), .evaluate(AT), .evaluate_deriv(AT)
SPLINES = {
    (6, "natural"): (
        [-9.75618284907863e-06, -0.0343118734384772, -0.11522971122405, -0.150267495783479,
         -0.163087977233095],
        [-0.270133933560488, -0.25131945416275, -0.220558032481339, -0.0562449883317135,
         -0.0565195552508752],
    ),
    (6, "parabolic"): (
        [0.000971610664913918, -0.0346035615815309, -0.115196326951985, -0.150376658845888,
         -0.162868551313198],
        [-0.298445062876184, -0.248865279376814, -0.219620565366662, -0.0570780585913319,
         -0.0535660173474359],
    ),
    (6, "cubic"): (
        [0.0018621020964814, -0.0348453600459377, -0.115052334282233, -0.150817177318266,
         -0.163544325568479],
        [-0.327572650287901, -0.244733910188803, -0.215694112073307, -0.0571038730971396,
         -0.0845169395167654],
    ),
    (14, "natural"): (
        [0.00270416128954011, -0.0359221009582739, -0.117163631221554, -0.149751742260745,
         -0.160861472561821],
        [-0.322344540678464, -0.254194250750991, -0.1812028453074, -0.063854508045627,
         -0.00494226400664477],
    ),
    (14, "parabolic"): (
        [0.00273778208504342, -0.0359299626573151, -0.117166828892546, -0.149755437015725,
         -0.160588343933592],
        [-0.332023192994345, -0.257481460307615, -0.181029845070431, -0.063881914464623,
         0.0158108587174173],
    ),
    (14, "cubic"): (
        [0.00247265671746426, -0.0359825297376723, -0.117168548498518, -0.14977899164397,
         -0.1603921541795],
        [-0.315108964082292, -0.258658856985197, -0.18076477940703, -0.063708097976285,
         0.0307561289012011],
    ),
}  # fmt: skip

# The same with h alone, 6 knots and the natural spline.
CUMULATIVE = (
    [-0.00109197819236538, 0.0353695407825657, 0.197727549123223, 0.383068374599417,
     0.586325204608897],
    [0.265839812473796, 0.309740043704665, 0.530160404437393, 0.83114810315369, 0.909718603814785],
)  # fmt: skip

# get_recalibration_function(score, event, "natural", 6) at these scores.
SCORES = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99]
RECALIBRATED = [
    0.232826736951838, 0.373021662868615, 0.482458250604557, 0.647800187911963, 0.845077207600145,
    0.93326118436096,
]  # fmt: skip

# KS errors in per cent: before (tables of the paper for top-1), and after the script with natural,
# parabolic and cubic run-out and 6 knots, 14 within the top 2.
NETWORKS = {
    ("kull_c10_resnet110", "top-1"): (4.750, [0.647, 0.320, 0.440]),
    ("kull_c10_resnet110", "top-2"): (3.012, [0.299, 0.336, 0.367]),
    ("kull_c10_resnet110", "within-top-2"): (1.805, [0.300, 0.249, 0.223]),
    ("kull_c10_densenet40", "top-1"): (5.493, [0.756, 0.590, 0.555]),
    ("kull_c10_densenet40", "top-2"): (3.343, [0.660, 0.665, 0.686]),
    ("kull_c10_densenet40", "within-top-2"): (2.255, [0.530, 0.476, 0.468]),
}


def scores_and_events(n=400):
    """Scores and events without a random generator, the same everywhere."""
    i = np.arange(1, n + 1)
    score = 0.5 + 0.5 * np.modf(i * 0.6180339887498949)[0]
    return score, (np.modf(i * 0.7548776662466927)[0] < score**2).astype(int)


@pytest.mark.parametrize(("knots", "runout"), SPLINES)
def test_spline_is_that_of_the_script(knots, runout):
    """Values and derivatives, without the scores that caltest adds again."""
    fitted = SplineCalibrator(mode="class-wise", knots=knots, runout=runout)
    curve = fitted.fit(*scores_and_events()).curve(AT)
    values, slopes = SPLINES[knots, runout]
    np.testing.assert_allclose(curve.spline - curve.cumulative_score, values, atol=1e-12)
    np.testing.assert_allclose(curve.derivative - curve.score, slopes, atol=1e-11)


def test_spline_of_the_cumulative_curve_is_that_of_the_script():
    """As in the text of the paper."""
    fitted = SplineCalibrator(mode="class-wise", target="cumulative")
    curve = fitted.fit(*scores_and_events()).curve(AT)
    np.testing.assert_allclose(curve.spline, CUMULATIVE[0], atol=1e-12)
    np.testing.assert_allclose(curve.derivative, CUMULATIVE[1], atol=1e-11)


def test_recalibration_is_that_of_the_script():
    """Within 2 / n.

    The script takes (i - 1) / (n - 1) for the fractile i / n and the derivative at a score for its
    mean across the step, and it exchanges the weights of its linear interpolation.
    """
    fitted = SplineCalibrator(mode="class-wise").fit(*scores_and_events())
    np.testing.assert_allclose(fitted.predict_proba(SCORES)[:, 1], RECALIBRATED, atol=2 / 400)


@pytest.mark.parametrize(("network", "mode"), NETWORKS)
def test_ks_errors_are_those_of_the_script(network, mode, data_dir):
    """Fitted on the validation logits; on the test logits, within 0.01 percentage points."""
    logits = np.load(data_dir / "logits" / f"{network}.npz")
    held_out, labels = logits["logits_test"], logits["y_test"].ravel()
    lens = "confidence" if mode == "top-1" else mode
    before, after = NETWORKS[network, mode]
    found = []
    for runout in ("natural", "parabolic", "cubic"):
        fitted = SplineCalibrator(mode=mode, runout=runout, from_logits=True)
        fitted.fit(logits["logits_val"], logits["y_val"].ravel())
        calibrated = fitted.predict_proba(held_out)
        np.testing.assert_array_equal(calibrated.argmax(axis=1), held_out.argmax(axis=1))
        found.append(100 * ct.measures.ks_error(calibrated, labels, lens=lens))
    identity = ct.calibrators.Identity(from_logits=True).fit(held_out, labels)
    uncalibrated = ct.measures.ks_error(identity.predict_proba(held_out), labels, lens=lens)
    assert 100 * uncalibrated == pytest.approx(before, abs=6e-4)
    np.testing.assert_allclose(found, after, atol=0.01)
