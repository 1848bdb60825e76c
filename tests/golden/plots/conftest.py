"""Comparison of a figure with its stored picture.

The pixels of a picture depend on the version of matplotlib and of its rasteriser, and so little on
anything else that a tolerance of 3 grey values in the root mean square holds one version. Under
another version of matplotlib than the one the pictures were made with, the picture is drawn, and
what is drawn is compared (limits, names, texts, numbers of artists, sums of lines) and not the
pixels.

    CALTEST_WRITE_PICTURES=1 pytest tests/golden/plots     # writes the pictures anew: look at them
"""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import image, rc_context
from matplotlib.figure import Figure

BASELINE = Path(__file__).parent / "baseline"
WRITE = "CALTEST_WRITE_PICTURES"
DPI = 64
TOLERANCE = 3.0  # grey values of 255, root mean square
MOST_BYTES = 50_000


@pytest.fixture(autouse=True)
def _default_style():
    """Pictures do not depend on the settings of whoever runs the tests."""
    with rc_context():
        mpl.rcdefaults()
        yield


def pixels(picture):
    """Return the picture of a PNG as grey values (height, width, 3)."""
    return 255.0 * image.imread(picture)[..., :3]


def facts_of(figure):
    """Return what holds under every version of matplotlib, one entry for each axes."""
    return [
        {
            "limits": [float(f"{x:.6g}") for x in (*ax.get_xlim(), *ax.get_ylim())],
            "names": [ax.get_title(loc="left"), ax.get_title(), ax.get_xlabel(), ax.get_ylabel()],
            "legend": [text.get_text() for text in legend_texts(ax)],
            "texts": [text.get_text() for text in ax.texts],
            "artists": [len(part) for part in (ax.lines, ax.patches, ax.collections, ax.images)],
            "lines": [float(f"{np.nansum(line.get_xydata()):.6g}") for line in ax.lines],
        }
        for ax in figure.axes
    ]


def legend_texts(ax):
    legend = ax.get_legend()
    return [] if legend is None else legend.get_texts()


@pytest.fixture
def assert_same_picture():
    """Return the function `(figure, name)` that compares a figure with `baseline/<name>.png`."""
    return compare


def compare(figure: Figure, name: str) -> None:
    """Fail where the figure differs from the stored one; write it where that is asked for."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    facts = facts_of(figure)
    picture, record = BASELINE / f"{name}.png", BASELINE / f"{name}.json"
    if os.environ.get(WRITE):
        assert buffer.getbuffer().nbytes < MOST_BYTES, "too large a picture to be stored"
        picture.write_bytes(buffer.getvalue())
        stored = {"matplotlib": mpl.__version__, "axes": facts}
        record.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")
        return
    stored = json.loads(record.read_text("utf-8"))
    for got, expected in zip(facts, stored["axes"], strict=True):
        for numbers in ("limits", "lines"):
            assert got.pop(numbers) == pytest.approx(expected.pop(numbers), rel=1e-4, abs=1e-6)
        assert got == expected
    if stored["matplotlib"] == mpl.__version__:
        buffer.seek(0)
        got, expected = pixels(buffer), pixels(picture)
        assert got.shape == expected.shape
        assert np.sqrt(np.mean(np.square(got - expected))) < TOLERANCE
