"""Pictures of power against the number of rows."""

from caltest import plots
from caltest.planning import Power, PowerRow, SampleSize
from caltest.planning.results import Setting
from caltest.planning.truths import Effect

SETTING = Setting(
    predictions="Beta(2, 5)",
    m=2,
    truth="p / r, expected over observed events r = 1.2",
    effect=Effect(error=0.05, excess=0.01, predicted=0.28, true=0.24, draws=20_000),
    calibrated=False,
    kind="power",
    lens="strong",
    hypothesis="P(Y = k | p) = p_k for every class k",
    level=0.05,
    n_resamples=199,
    seed=1,
)


def curve(test, *counts):
    common = {"null": "exact", "n_datasets": 100, "estimate_name": "SKCE", "estimate": 0.003}
    return tuple(PowerRow(test=test, n=n, rejections=k, **common) for n, k in counts)


def test_power_curve_looks_as_it_did(assert_same_picture):
    """Two tests over sizes on a logarithmic axis."""
    rows = curve("skce", (50, 12), (100, 24), (200, 43), (500, 81))
    rows += curve("spiegelhalter", (50, 21), (100, 35), (200, 62), (500, 97))
    ax = plots.power_curve(Power(rows=rows, setting=SETTING))
    assert_same_picture(ax.figure, "power_curve")


def test_sample_size_looks_as_it_did(assert_same_picture):
    """What was tried, the power that was asked for and the answer with its interval."""
    tried = curve("skce", (200, 43), (400, 72), (420, 73), (610, 91), (800, 98))
    answer = curve("skce", (487, 80))
    planned = SampleSize(
        n=487,
        low=452,
        high=530,
        searched=(20, 10_000),
        target=0.8,
        power=Power(rows=answer, setting=SETTING),
        search=Power(rows=tried, setting=SETTING),
    )
    assert_same_picture(plots.power_curve(planned).figure, "sample_size")
