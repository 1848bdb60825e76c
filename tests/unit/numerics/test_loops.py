"""Hot loops wait for their first call."""

import subprocess
import sys

import numpy as np

import caltest
from caltest.numerics.bins import _copies, uniform_sums
from caltest.numerics.loops import njit


@njit()
def _half(x):
    return x / 2


@njit(fastmath=True)
def _quarter(x):
    return _half(_half(x))


def test_loop_is_the_function_to_the_reader_and_to_other_loops():
    assert _quarter(8.0) == 2.0
    assert _half(8.0) == 4.0
    assert _quarter.__name__ == "_quarter"
    assert _half.py_func(np.float64(3)) == 1.5


def test_machine_code_is_of_a_version():
    """Numba would read that of another version, whose callees may have been others."""
    assert _half.py_func.__qualname__ == f"_half-{caltest.__version__}"


def test_loop_is_compiled_once_for_what_is_read_only_and_what_is_not():
    """Predictions hold read-only arrays; those that a caller has just made are not."""
    event, labels, before = (
        np.linspace(0, 1, 5),
        np.arange(5) % 2,
        len(_copies.dispatcher().signatures),
    )
    for writeable in (True, False):
        event.flags.writeable = labels.flags.writeable = writeable
        uniform_sums(event, labels, None, 3)
    assert len(_copies.dispatcher().signatures) <= before + 1


def test_small_multi_class_test_loads_no_numba():
    """The SKCE of three classes is a matter of matrix products."""
    code = (
        "import sys, caltest as ct; data = ct.datasets.generative_model('M1', n=50, m=3, rng=1);"
        "ct.test_calibration(data, test='skce', n_resamples=19, rng=1);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
