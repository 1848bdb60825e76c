import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, plots
from caltest import test_calibration as calibration_test

RNG = np.random.default_rng(4)
P = RNG.uniform(0.05, 0.3, 400)
DATA = ct.Predictions(P, (RNG.random(400) < P).astype(int))


def first(drawn):
    """Axes, or the last ones of an array, which show probabilities."""
    return drawn.flat[-1] if hasattr(drawn, "flat") else drawn


DRAW = {
    "reliability_diagram": lambda **o: plots.reliability_diagram(DATA, **o),
    "reliability_grid": lambda **o: plots.reliability_grid(DATA, lens="strong", **o),
    "attributes_diagram": lambda **o: plots.attributes_diagram(DATA, **o),
    "calibration_belt": lambda **o: plots.calibration_belt(
        ct.measures.calibration_belt_curve(DATA), **o
    ),
    "calibration_graphs": lambda **o: plots.calibration_graphs(DATA, **o),
    "witness": lambda **o: plots.witness(
        calibration_test(DATA, test="skce", n_resamples=9, rng=1), **o
    ),
    "calibration_map": lambda **o: plots.calibration_map(
        ct.calibrators.PlattScaling().fit(DATA), **o
    ),
    "decision_curve": lambda **o: plots.decision_curve(DATA, **o),
}
WITHOUT_ZOOM = {"calibration_map", "decision_curve"}  # their axes are not those of data


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", DRAW)
def test_every_axis_of_probabilities_takes_log_odds(name):
    """The scale is that of log odds, inside of (0, 1), and everything is drawn there.

    No diagram of these predictions has log odds by itself.
    """
    assert first(DRAW[name]()).get_xscale() == "linear"
    ax = first(DRAW[name](scale="log-odds"))
    assert ax.get_xscale() == "logit"
    low, high = ax.get_xlim()
    assert 0 < low < high < 1
    for line in [one for one in ax.lines if one.get_transform() == ax.transData]:
        assert np.isfinite(ax.transData.transform(line.get_xydata())).all()
    ax.figure.canvas.draw()


def test_log_odds_reach_predictions_of_0_and_1():
    """They are drawn where no frequency of so many rows is nearer to 0 or 1, not at a half."""
    data = ct.Predictions(np.repeat([0.0, 0.5, 1.0], [50, 1, 50]), np.repeat([0, 1], [51, 50]))
    low, high = plots.reliability_diagram(data).get_xlim()
    assert low < 0.5 / data.n < 1 - 0.5 / data.n < high


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", [name for name in DRAW if name not in WITHOUT_ZOOM])
def test_zoom_cuts_the_axis_to_the_data(name):
    """These predictions fill a quarter of the axis."""
    left, right = first(DRAW[name](zoom=False)).get_xlim()
    low, high = first(DRAW[name](zoom=True)).get_xlim()
    assert high - low < (0.8 if name == "calibration_belt" else 0.6)
    assert low < P.min()
    assert P.max() < high
    if name != "calibration_graphs":  # whose axis of scores ends where these do
        assert left < 0
        assert right > 1


def test_bad_scale_is_named(case):
    for name, draw in DRAW.items():
        with (
            case(name),
            pytest.raises(InvalidInput, match="scale must be one of 'probability', 'log-odds'"),
        ):
            draw(scale="logit")
