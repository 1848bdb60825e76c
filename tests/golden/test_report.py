"""The Markdown of a small report, whole; versions, which change, are left out.

CALTEST_WRITE_TEXTS=1 pytest --full tests/golden/test_report.py

writes it anew.
"""

import datetime as dt
import os
import re
from pathlib import Path

import pytest

import caltest as ct

FILE = Path(__file__).parent / "reports" / "report.md"


@pytest.mark.full
def test_markdown_of_a_report():
    """Every sentence, table and figure of a report on sixty predictions."""
    data = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    page = ct.report(
        data.with_groups(["north", "south"] * 30),
        by=True,
        recalibrate="temperature",
        author="A. Author",
        level=0.05,
        n_resamples=99,
        rng=1,
        command="caltest report predictions.csv --label y --seed 1",
        time=dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC),
    )
    text = re.sub(r"\| versions \| .* \|", "| versions | ... |", page.to_markdown())
    if os.environ.get("CALTEST_WRITE_TEXTS"):
        FILE.write_text(text, encoding="utf-8")
    assert text == FILE.read_text(encoding="utf-8")
