"""`test_calibration(segments=)`: the test of segments, under the same arguments."""

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable

RNG = np.random.default_rng(5)
N = 300
P = RNG.uniform(0.05, 0.4, N)
Y = (RNG.random(N) < P).astype(int)
SITE = np.array(["a", "b", "c"])[np.arange(N) % 3]
FRAME = pl.DataFrame({"y": Y, "risk": P, "site": SITE, "x": RNG.normal(size=N)})
SETTINGS = {"n_resamples": 19, "rng": 1}


@pytest.mark.parametrize(
    "segments", [{"site": SITE}, SITE, np.column_stack([SITE == "a", SITE != "b"])]
)
def test_segments_give_what_test_segments_gives(segments):
    """Columns with their values, one column, or a boolean matrix."""
    result = ct.test_calibration(P, Y, segments=segments, level=0.1, **SETTINGS)
    assert result == ct.test_segments(P, Y, segments=segments, level=0.1, **SETTINGS)


def test_columns_are_named_in_a_data_frame():
    """By name, or all of them where True asks for a scan."""
    columns = {"label": "y", "probs": "risk"}
    named = ct.test_calibration(FRAME, segments="site", **columns, **SETTINGS)
    assert named.n_segments == (1, 3)
    scan = ct.test_calibration(FRAME, segments=True, depth=1, **columns, **SETTINGS)
    assert scan == ct.test_segments(FRAME, depth=1, **columns, **SETTINGS)


def test_more_classes_are_seen_under_the_confidence_lens():
    """By default; a lens that shows all of them is refused."""
    data = ct.datasets.generative_model("M1", n=90, m=3, rng=1)
    segments = {"half": np.arange(90) % 2}
    result = ct.test_calibration(data, segments=segments, **SETTINGS)
    assert result.lens == "confidence"
    with pytest.raises(NotApplicable, match="the lens 'strong' shows 3 classes"):
        ct.test_calibration(data, segments=segments, lens="strong", **SETTINGS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "ece"}, "test has no effect on segments"),
        ({"test": ["skce", "ece"]}, "test has no effect on segments"),
        ({"null": "bootstrap"}, "null has no effect on segments"),
        ({"tolerance": 0.1}, "tolerance has no effect on segments"),
        ({"equivalence": True}, "equivalence has no effect on segments"),
        (
            {"cluster": SITE},
            "cluster .* segments, which take rows as independent; .*; leave out the",
        ),
        ({"by": SITE}, "by has no effect on segments"),
        ({"correction": "holm"}, "correction has no effect on segments"),
        ({"correction": None}, "correction has no effect on segments"),
        ({"lens": ["strong", "confidence"]}, "lens must be a single one for segments"),
        ({"lens": "classwise"}, "lens must not be a family of lenses"),
        ({"n_resamples": "adaptive"}, "n_resamples must be an integer for segments"),
        ({"kernel": "gaussian"}, "options of segments must be one of 'depth', 'bins'"),
    ],
)
def test_what_segments_have_not_is_refused(options, message):
    """Their statistics, null and adjustment are their own."""
    with pytest.raises(InvalidInput, match=message):
        ct.test_calibration(P, Y, segments={"site": SITE}, **options)
