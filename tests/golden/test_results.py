"""Whole printed texts of results, one file for each; the values are those of result.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from caltest.results import HTest, HTestTable

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

PRINTS = {
    "htest.txt": TEST.__str__,
    "htest_asymptotic.txt": NORMAL.__str__,
    "htest_summary.txt": TEST.summary().__str__,
    "htest.md": TEST.to_markdown,
    "htest.html": TEST.to_html,
    "htest.tex": TEST.to_latex,
    "table.txt": TABLE.__str__,
    "table_level.txt": JUDGED.__str__,
    "table_summary.txt": TABLE.summary().__str__,
    "table.md": TABLE.to_markdown,
    "table.html": TABLE.to_html,
    "table.tex": TABLE.to_latex,
    "table.csv": TABLE.to_csv,
    "table.json": TABLE.to_json,
}


@pytest.mark.parametrize("name", PRINTS)
def test_result_prints_as_stored(name):
    """The whole text is that of the stored file, to the character."""
    assert PRINTS[name]() == (FOLDER / name).read_text(encoding="utf-8")


def test_every_stored_print_is_compared():
    """No stored file is left behind when a print goes."""
    assert {path.name for path in FOLDER.iterdir()} == {*PRINTS, "result.json"}
