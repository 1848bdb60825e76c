"""Properties of lenses: redrawn labels follow the induced probabilities, and tests keep a level."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from caltest.errors import SuspectInputWarning
from caltest.htests import test_calibration
from caltest.lenses import Lens, resolve_lens
from caltest.lenses.base import departure
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.testing.htest_checks import assert_super_uniform, calibrated
from caltest.types import Floats, Ints

DRAWS = 64  # data sets, redrawn and simulated, whose labels are compared with the probabilities
FOUND = 20  # miscalibrated data sets of each kind, of one of which half must be found at LEVEL
LEVEL = 0.05


def check_lens(
    lens: str | Lens,
    *,
    n_classes: Sequence[int] = (2, 3),
    n_datasets: int = 300,
    n: int = 100,
    rng: int = 0,
) -> None:
    """Fail where tests under a lens have a wrong null distribution: in law, in size, or in power.

    The labels that its redrawing makes, and those that it makes of labels drawn from the
    predictions, must follow its probabilities, which must not depend on the labels. Tests of
    calibrated predictions must keep their level, and find labels that are far off.

    Parameters
    ----------
    lens : str or Lens
        A key, or an object; of a family each member is checked.
    n_classes : sequence of int, default (2, 3)
        Numbers of classes of the predictions.
    n_datasets : int, default 300
        Calibrated data sets, whose p-values must be no smaller than uniform ones: at each of the
        levels 0.01 to 0.5, no more rejections than a valid test has in all but one of 100,000 runs.
    n : int, default 100
        Rows of each.
    rng : int, default 0
        The seed.

    Returns
    -------
    None
        Where nothing is broken. Each sum of labels that is compared with its expectation fails for
        a right lens in one of 10^12 runs at most.

    Raises
    ------
    AssertionError
        If one of them does not hold; in power, if of 20 data sets of each kind, in which labels are
        always the likeliest, the least likely or one and the same class, or have nothing to do with
        the predictions, the exact test of the Brier score rejects fewer than half of every kind at
        level 0.05.
    InvalidInput
        If there is no such lens.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.testing.check_lens("confidence", n_datasets=20)
    """
    family = resolve_lens(lens)
    for m in n_classes:
        generator = np.random.default_rng([rng, m])
        data = Predictions(*calibrated(generator, m, n), classes=list(range(m)))
        for member in family.members(data):
            with warnings.catch_warnings():  # labels that are far off look like a mistake
                warnings.simplefilter("ignore", SuspectInputWarning)
                _assert_in_law(member, data, generator)
                ask = _asker(member)
                assert_super_uniform(ask, m=m, n=n, n_datasets=n_datasets, rng=rng)
                _assert_power(member, ask, m=m, n=n, rng=generator)


def _asker(lens: Lens) -> Callable[[Floats, Ints, int], float]:
    def ask(probs: Floats, labels: Ints, rng: int) -> float:
        data = Predictions(probs, labels, classes=list(range(probs.shape[1])))
        found = test_calibration(data, test="brier", lens=lens, n_resamples=99, rng=rng)
        return found.pvalue

    return ask


def _assert_in_law(lens: Lens, data: Predictions, rng: np.random.Generator) -> None:
    seen = lens(data)
    simulated = [lens(data.simulate(rng)) for _ in range(DRAWS)]
    for one in simulated:
        assert np.array_equal(one.probs, seen.probs), f"{lens}: probabilities depend on the labels"
    redrawn = np.asarray(seen.redrawing.labels(resample_keys(0, DRAWS)))
    drawn = np.stack([one.labels for one in simulated])
    for what, labels in {"labels that it redraws": redrawn, "labels of drawn ones": drawn}.items():
        found = departure(seen.probs, labels)
        assert not found, f"{lens}: {what} have {found}"


def _assert_power(
    lens: Lens, ask: Callable[..., float], *, m: int, n: int, rng: np.random.Generator
) -> None:
    counts = [0] * (m + 3)
    for _ in range(FOUND):
        probs, labels = calibrated(rng, m, n)
        wrong = [probs.argmax(axis=1), probs.argmin(axis=1), rng.permutation(labels)]
        for kind, codes in enumerate([*wrong, *(np.full(n, k) for k in range(m))]):
            counts[kind] += ask(probs, codes, int(rng.integers(2**31))) <= LEVEL
    told = f"{lens}: of labels that are far off at most {max(counts)} of {FOUND} data sets"
    assert max(counts) >= FOUND / 2, f"{told} of {m} classes have p <= {LEVEL}"
