"""Picture of the worst segments."""

import numpy as np

import caltest as ct


def test_segments_look_as_they_did(assert_same_picture):
    """Too low and too high, rejected ones filled, long names shortened."""
    rng = np.random.default_rng(3)
    risk, ward = (
        rng.beta(3, 5, 900),
        rng.choice(["A", "B", "C of the old hospital by the river"], 900),
    )
    shift = np.where(ward == "A", 0.2, np.where(ward == "B", -0.15, 0.0))
    event = rng.random(900) < np.clip(risk + shift, 0, 1)
    columns = {"ward": ward, "sex": rng.choice(["f", "m"], 900)}
    result = ct.test_segments(risk, event, segments=columns, n_resamples=99, rng=1, level=0.05)
    assert_same_picture(result.plot().figure, "segments")
