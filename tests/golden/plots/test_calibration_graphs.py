"""The four calibration graphs, before and after recalibration."""

from matplotlib.figure import Figure

import caltest as ct
from caltest.plots import calibration_graphs

DATA = ct.datasets.generative_model("M2", 60, 3, rng=1)


def test_graphs(assert_same_picture):
    figure = Figure(figsize=(9.0, 2.3), layout="constrained")
    calibration_graphs(DATA, fig=figure)
    assert_same_picture(figure, "calibration_graphs")


def test_graphs_of_few_scores(assert_same_picture):
    data = ct.Predictions([0.1, 0.3, 0.3, 0.6, 0.8, 0.8], [0, 1, 0, 1, 1, 0])
    figure = Figure(figsize=(9.0, 2.3), layout="constrained")
    calibration_graphs(data, fig=figure)
    assert_same_picture(figure, "calibration_graphs_few")
