"""Whole printed texts of results, one file for each; the values are those of result.json."""

import json
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from caltest import test_master_scale as master_scale_test
from caltest import test_segments as segments_test
from caltest.datasets import generative_model
from caltest.htests import test_calibration as calibration_test
from caltest.results import HTest, HTestTable, Interval

FOLDER = Path(__file__).parent / "results"
VALUES = json.loads((FOLDER / "result.json").read_text(encoding="utf-8"))

TEST = HTest.from_dict(VALUES)
NORMAL = HTest.from_dict(
    VALUES
    | {
        "test": "skce-linear",
        "method": "Asymptotic test of calibration: squared kernel calibration error (linear)",
        "statistic_name": "z",
        "statistic": 7.03,
        "pvalue": 1.03e-12,
        "null": "asymptotic",
        "null_text": "normal limit of the mean over 449 blocks",
        "n_resamples": None,
        "seed": None,
        "null_distribution": None,
        "if_calibrated": [],
        "level": 0.05,
        "group": "ward 7",
        "parameters": VALUES["parameters"] | {"estimator": "linear"},
        "notes": ["the last observation is left over, for blocks of two take 898 of 899"],
    }
)
ROWS = [
    VALUES,
    VALUES
    | {
        "lens": "confidence",
        "pvalue": 0.031,
        "statistic": 0.000921,
        "estimate": 0.000921,
        "parameters": VALUES["parameters"] | {"bandwidth": 0.0412},
    },
    VALUES
    | {
        "lens": "classwise[a < b]",
        "pvalue": 0.744,
        "statistic": -2.1e-06,
        "estimate": -2.1e-06,
        "parameters": VALUES["parameters"] | {"bandwidth": 0.0033},
        "notes": ["the median distance is over sampled pairs"],
    },
]
TABLE = HTestTable(tuple(map(HTest.from_dict, ROWS)), "holm", [0.003, 0.062, 0.744])
JUDGED = HTestTable(TABLE.rows, "fdr_bh", [0.003, 0.0465, 0.744], level=0.05)
GROUPS = HTestTable(
    tuple(
        HTest.from_dict(VALUES | differing)
        for differing in (
            {"group": "ward 1", "n": 520, "seed": 2968811710, "pvalue": 0.012},
            {"group": "ward 2", "n": 377, "seed": 1864190214, "pvalue": 0.41},
            {
                "group": "ward 3",
                "n": 2,
                "statistic": 0.2134,
                "estimate": 0.2134,
                "pvalue": 0.0731,
                "n_resamples": None,
                "seed": None,
                "null_text": "all 100 label vectors that the predictions allow",
                "notes": ["all predictions are equal"],
            },
        )
    ),
    "holm",
    [0.036, 0.41, 0.1462],
    omnibus=(
        HTest.from_dict(
            VALUES
            | {
                "method": "Test of calibration in all groups: squared kernel calibration error",
                "statistic_name": "Fisher's X^2",
                "estimate_name": "Fisher's X^2",
                "statistic": 15.86,
                "estimate": 15.86,
                "pvalue": 0.014,
                "null_text": "Fisher's combination of the p-values of the groups, judged by that "
                "of the resamples",
                "parameters": {"groups": 3},
            }
        ),
    ),
)
SCALE = master_scale_test(
    [0.0005, 0.002, 0.01, 0.05],
    [0, 5, 22, 69],
    [1000, 1500, 2000, 1000],
    grades=["AA", "A", "BBB", "BB"],
    test=["jeffreys", "vasicek"],
    level=0.05,
)
INTERVAL = Interval(
    low=0.0093,
    high=0.0387,
    estimate=0.0213389,
    level=0.95,
    method="bootstrap of a norm of gaps",
    measure="expected calibration error",
    name="ECE",
    data="GaussianNB() (n = 899, m = 10), lens: confidence",
    n_resamples=1999,
    seed=20,
    notes=["the interval is for the error in these bins, held fixed"],
)


@cache
def witness():
    """Return where a test of three classes looks."""
    data = generative_model("M2", n=250, m=3, rng=1)
    return calibration_test(data, test="skce", n_resamples=1, rng=1).witness()


def segments(**options):
    """Return the test of the segments of risks that are too low for old patients at one site."""
    rng = np.random.default_rng(3)
    risk, age = rng.beta(1, 9, 2000), rng.normal(50, 15, 2000).round()
    site = rng.choice(["north", "east"], 2000)
    event = rng.random(2000) < risk + 0.25 * ((site == "east") & (age > 65))
    columns = {"site": site, "age": age}
    return segments_test(
        risk, event, n_resamples=99, rng=1, keep=12, **{"features": columns, **options}
    )


@cache
def scan():
    """Return the search of all columns."""
    return segments(level=0.05)


@cache
def named():
    """Return the test of four segments."""
    return segments(features=None, segments={"site": ["a", "b", "c", "d"] * 500})


PRINTS = {
    "segments.txt": lambda: named().__str__(),
    "segments_scan.txt": lambda: scan().__str__(),
    "segments_summary.txt": lambda: scan().summary().__str__(),
    "segments.md": lambda: named().to_markdown(),
    "segments.html": lambda: named().to_html(),
    "segments.tex": lambda: named().to_latex(),
    "segments.csv": lambda: named().to_csv(),
    "htest.txt": TEST.__str__,
    "htest_asymptotic.txt": NORMAL.__str__,
    "htest_summary.txt": TEST.summary().__str__,
    "htest.md": TEST.to_markdown,
    "htest.html": TEST.to_html,
    "htest.tex": TEST.to_latex,
    "interval.txt": INTERVAL.__str__,
    "interval.json": INTERVAL.to_json,
    "interval.html": INTERVAL.to_html,
    "witness.txt": lambda: witness().__str__(),
    "witness.md": lambda: witness().to_markdown(),
    "table.txt": TABLE.__str__,
    "table_level.txt": JUDGED.__str__,
    "table_summary.txt": TABLE.summary().__str__,
    "table_groups.txt": GROUPS.__str__,
    "master_scale.txt": SCALE.__str__,
    "table.md": TABLE.to_markdown,
    "table.html": TABLE.to_html,
    "table.tex": TABLE.to_latex,
    "table.csv": TABLE.to_csv,
    "table.json": TABLE.to_json,
}


@pytest.mark.parametrize("name", PRINTS)
def test_result_prints_as_stored(name):
    """The whole text is that of the stored file, to the character."""
    if os.environ.get("CALTEST_WRITE_TEXTS"):
        (FOLDER / name).write_text(PRINTS[name](), encoding="utf-8")
    assert PRINTS[name]() == (FOLDER / name).read_text(encoding="utf-8")


def test_every_stored_print_is_compared():
    """No stored file is left behind when a print goes."""
    assert {path.name for path in FOLDER.iterdir()} == {*PRINTS, "result.json"}
