"""What is bet on: the alternatives to calibration, each with the next row's probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEAR = [0.02, 0.05, 0.08, 0.12, 0.16, 0.21, 0.26, 0.32, 0.39]
_STEPS = np.array([*_NEAR, 0.47, 0.56, 0.66, 0.77, 0.9, 1.05, 1.2, 1.4])
SLOPES = np.exp(np.concatenate([-_STEPS[::-1], _STEPS]))  # exponents of the probabilities
BINARY_OFFSETS = np.concatenate([s * np.geomspace(0.05, 2.0, 10) for s in (-1.0, 1.0)])
CLASS_OFFSETS = np.array([-1.0, -0.5, -0.2, -0.1, 0.1, 0.2, 0.5, 1.0])
MOST_RECALIBRATED = 100  # classes; the matrix of its Newton steps has a row for each
CELLS = 40  # of the log odds, for the isotonic bet
LOG_ODDS = 10.0  # they reach from -10 to 10
WITNESS_CELLS = 64  # of the probability, for the kernel bet of two classes
FEATURES = 32  # of the kernel, for the kernel bet of several classes
BANDWIDTH = 0.2
SEED = 20190601  # of the features: the same for all monitors


@dataclass(frozen=True, slots=True)
class Bets:
    """The bets for m classes: the parts of the e-process, and how many bets each is an average of.

    Attributes
    ----------
    m : int
        Number of classes.
    parts : tuple of str
        Names of the parts.
    sizes : (len(parts),) int array
        How many bets each part has.
    offset_class, offset : arrays
        Of the bets on class frequencies the class, and the change of its log odds.
    features, phases : (FEATURES, m) and (FEATURES,) arrays
        Of the kernel, for several classes: cosines of random projections.
    kernel : (WITNESS_CELLS, WITNESS_CELLS) array
        Of two classes the kernel itself, between cells of the probability.
    """

    m: int
    parts: tuple[str, ...]
    sizes: NDArray[np.int64]
    offset_class: NDArray[np.int64]
    offset: Floats
    features: Floats
    phases: Floats
    kernel: Floats

    @property
    def part_of(self) -> NDArray[np.int64]:
        """The part of each bet."""
        return np.repeat(np.arange(len(self.parts)), self.sizes)

    @property
    def weights(self) -> Floats:
        """The share of each bet in the e-process: equal parts, and equal bets within each."""
        return np.repeat(1.0 / (self.sizes * len(self.parts)), self.sizes)


def bets_for(m: int) -> Bets:
    """Return the bets on predictions of m classes; they depend on nothing else."""
    if m == 2:
        of, offset = np.ones(BINARY_OFFSETS.size, dtype=np.int64), BINARY_OFFSETS
    else:
        of, offset = np.repeat(np.arange(m), CLASS_OFFSETS.size), np.tile(CLASS_OFFSETS, m)
    rng = np.random.default_rng(SEED)
    centres = (np.arange(WITNESS_CELLS) + 0.5) / WITNESS_CELLS
    parts = ["temperature", "class-frequencies", "recalibration", "isotonic", "kernel"]
    sizes = [SLOPES.size, offset.size, 1, 1, 1]
    if m > MOST_RECALIBRATED:
        del parts[2], sizes[2]
    return Bets(
        m=m,
        parts=tuple(parts),
        sizes=np.array(sizes),
        offset_class=of,
        offset=offset,
        features=rng.normal(size=(FEATURES, m)) / BANDWIDTH if m > 2 else np.zeros((0, 0)),
        phases=rng.uniform(0.0, 2.0 * np.pi, FEATURES),
        kernel=np.exp(-np.abs(np.subtract.outer(centres, centres)) / BANDWIDTH),
    )
