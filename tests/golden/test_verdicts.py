"""The verdict on twenty kinds of data, each of which is known to be true, in `golden/verdicts`.

python tests/golden/test_verdicts.py    # writes them: read them
"""

import warnings
from pathlib import Path

import numpy as np
import pytest

import caltest as ct

FOLDER = Path(__file__).parent / "verdicts"
GROUPS = np.repeat(["north", "south"], 400)
NAMES = ["cat", "dog", "bird", *map(str, range(97))]


def risks(n=800, *, slope=1.0, shift=0.0, group=0.0, seed=3, classes=("no", "yes")):
    """Draw risks, and events with other log odds."""
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 4, n)
    q = 1 / (1 + np.exp(-slope * np.log(p / (1 - p)) - shift))
    q = np.clip(q + group * np.where(np.arange(n) < n // 2, 1, -1), 0, 1)
    labels = np.array(classes)[(rng.random(n) < q).astype(int)]
    return ct.Predictions(p, labels, classes=list(classes))


def classes(m, n, *, temperature=1.0, boost=0.0, seed=5):
    """Draw predictions of m classes; labels at a temperature, the first class more often."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, 0.3), n).clip(1e-9)
    p /= p.sum(axis=1, keepdims=True)
    q = p ** (1 / temperature) * np.exp(boost * (np.arange(m) == 0))
    q /= q.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > np.cumsum(q, axis=1)).sum(axis=1).clip(0, m - 1)
    return ct.Predictions(p, np.array(NAMES[:m])[labels], classes=NAMES[:m])


def rare(rate, n=2000):
    """Predict a rare event for all rows, with another rate."""
    labels = (np.arange(n) < round(rate * n)).astype(int)
    return ct.Predictions(np.full(n, 0.005), labels, classes=[0, 1])


CASES = {
    "calibrated-2": lambda: (risks(), {}),
    "calibrated-2-level": lambda: (risks(), {"level": 0.05}),
    "calibrated-3": lambda: (classes(3, 600, seed=6), {}),
    "calibrated-10": lambda: (classes(10, 600), {}),
    "calibrated-100": lambda: (classes(100, 600), {}),
    "over-3": lambda: (classes(3, 600, temperature=2), {}),
    "over-10-level": lambda: (classes(10, 600, temperature=2), {"level": 0.01}),
    "over-100": lambda: (classes(100, 600, temperature=2), {}),
    "under-3": lambda: (classes(3, 600, temperature=0.5), {}),
    "extreme-2": lambda: (risks(slope=0.5, shift=-0.4), {}),
    "timid-2": lambda: (risks(slope=2.0, shift=0.9), {}),
    "shifted-up-2": lambda: (risks(shift=-0.6), {}),
    "shifted-down-2-level": lambda: (risks(shift=0.6), {"level": 0.05}),
    "one-class-10": lambda: (classes(10, 1500, boost=1.0), {}),
    "opposite-groups": lambda: (risks(group=0.1), {"by": GROUPS}),
    "calibrated-groups": lambda: (risks(), {"by": GROUPS}),
    "one-segment": lambda: (risks(group=0.1), {"segments": {"site": GROUPS}}),
    "too-few-rows": lambda: (risks(30), {}),
    "too-few-rows-level-3": lambda: (classes(3, 15), {"level": 0.05}),
    "no-event": lambda: (rare(0.0, 300), {}),
    "rare-events": lambda: (rare(0.015), {}),
    "within-tolerance": lambda: (
        risks(3000),
        {"test": "ks", "tolerance": 0.05, "equivalence": True, "level": 0.05},
    ),
    "beyond-tolerance": lambda: (risks(shift=-0.6), {"test": "ks", "tolerance": 0.02}),
    "recalibrated-3": lambda: (classes(3, 600, temperature=2), {"recalibrate": "temperature"}),
}


def printed(key):
    data, options = CASES[key]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        return str(ct.verdict(data, n_resamples=199, rng=1, **options))


@pytest.mark.parametrize("key", CASES)
def test_verdict_is_kept(key):
    """Answer, direction, size, where and what helps, letter by letter."""
    command = "python tests/golden/test_verdicts.py"
    text = (FOLDER / f"{key}.txt").read_text(encoding="utf-8")
    assert printed(key) == text, f"if it is meant: `{command}`"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in CASES:
        (FOLDER / f"{name}.txt").write_text(printed(name), encoding="utf-8")
