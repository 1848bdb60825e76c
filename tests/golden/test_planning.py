"""Whole printed texts of planned studies, one file for each."""

import os
from pathlib import Path

import pytest

from caltest.planning import Power, PowerRow, PrecisionRow, PrecisionSize, SampleSize
from caltest.planning.results import Setting
from caltest.planning.truths import Effect

FOLDER = Path(__file__).parent / "planning"
EFFECT = Effect(error=0.05434, excess=0.01222, predicted=0.2844, true=0.3333, draws=20_000)
SETTING = {
    "predictions": "credit.csv, 1000 rows drawn with replacement",
    "m": 2,
    "truth": "log odds a + b logit(p), slope b = 0.7, intercept a = 0",
    "effect": EFFECT,
    "calibrated": False,
    "kind": "power",
    "lens": "strong",
    "hypothesis": "P(Y = k | p) = p_k for every class k",
    "level": 0.05,
    "n_resamples": 199,
    "seed": 1,
}


def rows(*counts, **changes):
    """Return a row for each number of rows and of rejections."""
    common = {
        "test": "skce",
        "null": "exact",
        "n_datasets": 1000,
        "estimate_name": "SKCE",
        "estimate": 0.002774,
    }
    return tuple(PowerRow(n=n, rejections=k, **common | changes) for n, k in counts)


POWER = Power(rows=rows((100, 242), (200, 425), (500, 813)), setting=Setting(**SETTING))
SIZE = Power(
    rows=rows((5, 52), test="cox", null="asymptotic", estimate_name="LR", infinite=3)
    + rows((5, 0), test="skce", not_applicable=2, reason="it takes two rows"),
    setting=Setting(
        **SETTING
        | {
            "truth": "P(Y = k | p) = p_k: the predictions are calibrated",
            "calibrated": True,
            "kind": "size",
            "notes": ("with B = 199 the size of a resampling test is at most 0.05",),
        }
    ),
)
PLANNED = SampleSize(
    n=487,
    low=452,
    high=530,
    searched=(20, 10_000),
    target=0.8,
    power=Power(rows=rows((487, 804)), setting=Setting(**SETTING)),
    search=Power(
        rows=rows((100, 21), (200, 48), (400, 71), (600, 88), n_datasets=100),
        setting=Setting(**SETTING),
    ),
)
PRECISE = PrecisionSize(
    rows=(
        PrecisionRow(measure="E/O", value=1.2, width=0.2, standard_error=0.04247, n=1778),
        PrecisionRow(
            measure="calibration slope", value=0.9154, width=0.2, standard_error=0.05102, n=3854
        ),
    ),
    predictions="Beta(2, 5)",
    truth="p / r, expected over observed events r = 1.2",
    event_rate=0.2378,
    confidence=0.95,
    seed=1,
)


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (POWER, "power"),
        (SIZE, "power_size"),
        (PLANNED, "sample_size"),
        (PRECISE, "precision_size"),
    ],
)
def test_planned_study_prints_as_it_did(result, name):
    """The whole text, as R prints a power calculation."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("CALTEST_WRITE_TEXTS"):
        path.write_text(str(result), encoding="utf-8")
    assert str(result) == path.read_text(encoding="utf-8")
