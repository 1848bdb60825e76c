"""The whole print of every test on one small data set, in `tests/golden/prints`.

python tests/golden/test_prints.py KEY...    # writes the prints of these tests: read them
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest.htests import REGISTRY

PRINTS = Path(__file__).parent / "prints"


def printed(key):
    """Return the print of a test of a risk that is too extreme, 80 rows."""
    rng = np.random.default_rng(1)
    risk = np.round(rng.beta(1, 2, 80), 2).clip(0.01, 0.99)
    true = 1 / (1 + np.exp(-0.7 * np.log(risk / (1 - risk))))
    data = ct.Predictions(risk, (rng.random(80) < true).astype(int), classes=[0, 1])
    if REGISTRY[key].measure.of is ct.Forecasts:
        data = ct.Forecasts(risk + 0.2 * rng.normal(size=80), mean=risk, scale=0.15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        return str(ct.test_calibration(None, data, test=key, n_resamples=99, rng=1))


@pytest.mark.cases(99)
@pytest.mark.parametrize("key", REGISTRY)
def test_print_of_a_test_is_kept(key):
    """Title, data, parameters, null, numbers and notes, letter by letter."""
    file = PRINTS / f"{key}.txt"
    command = f"python tests/golden/test_prints.py {key}"
    assert file.exists(), f"the test {key!r} has no golden print: run `{command}` and read {file}"
    assert printed(key) == file.read_text(encoding="utf-8"), f"if it is meant: `{command}`"


if __name__ == "__main__":
    PRINTS.mkdir(exist_ok=True)
    for name in sys.argv[1:] or REGISTRY:
        (PRINTS / f"{name}.txt").write_text(printed(name), encoding="utf-8")
