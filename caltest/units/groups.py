"""P-values of very many groups of cells: each is redrawn until its p-value is clear."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from caltest.numerics.cell_counts import CellLaw, draw_counts
from caltest.numerics.joint import tie_tolerance
from caltest.numerics.labels import row_hashes
from caltest.numerics.loops import map_threads
from caltest.types import Floats, Hashes
from caltest.units.statistic import Statistic
from caltest.units.units import CellUnits

ENOUGH = 20  # redrawn statistics that are as extreme: the standard error of p is a fifth of it
CELLS = 1 << 13  # of the groups of a task
AT_A_TIME = 1 << 19  # numbers of events redrawn at a time
FEWEST, MOST = 64, 4096  # resamples at a time
STAYING = 0.95  # of the groups that are redrawn: with fewer, the others are left out


def sequential_pvalues(
    make: Callable[[CellUnits], Statistic],
    units: CellUnits,
    keys: Hashes,
    *,
    two_sided: bool,
) -> Floats:
    """Return the p-values (G,) of Besag and Clifford: redrawn until 20 are as extreme.

    Parameters
    ----------
    make : callable
        The statistic of some of the groups.
    units : CellUnits
        The cells of all of them.
    keys : (B,) array
        Of the resamples, as many as there are at most.
    two_sided : bool
        Whether small values are extreme too.

    References
    ----------
    Besag, Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78.
    """
    hashed = row_hashes(np.arange(len(units.cells)))
    task = np.searchsorted(units.start[1:], np.arange(0, len(units.cells), CELLS))
    cuts = np.append(np.unique(task), units.start.size - 1)

    def in_rounds(first: int, stop: int) -> Floats:
        kept = np.zeros(units.start.size - 1, np.bool_)
        kept[first:stop] = True
        own, cells = units.some(kept)
        hashes = hashed[cells]
        statistic, law, sides = make(own), own.cells.law, 2 if two_sided else 1
        observed = statistic.observed
        slack = tie_tolerance(observed, statistic.scale)
        out = np.full(observed.size, 1.0 / (1.0 + keys.size))
        number, running = np.arange(observed.size), np.isfinite(observed)
        counted, done = np.zeros((2, observed.size)), 0
        while done < keys.size and running.any():
            if np.count_nonzero(running) < STAYING * running.size:
                own, kept = own.some(running)
                statistic, hashes = make(own), hashes[kept]
                law = CellLaw._make(part[kept] for part in law)
                number, counted = number[running], counted[:, running]
                observed, slack = observed[running], slack[running]
                running = running[running]
            size = min(max(AT_A_TIME // hashes.size, FEWEST), MOST)
            values = statistic.values(draw_counts(law, hashes, keys[done : done + size]))
            is_extreme = np.stack([values >= observed - slack, values <= observed + slack])
            upto = counted[:, None] + np.cumsum(is_extreme, axis=1)
            extreme = upto.min(axis=0) if two_sided else upto[0]
            leaving = running & (extreme[-1] >= ENOUGH)
            last = done + 1.0 + np.argmax(extreme[:, leaving] >= ENOUGH, axis=0)
            out[number[leaving]] = sides * ENOUGH / last
            counted, done, running = upto[:, -1], done + len(values), running & ~leaving
        extreme = counted.min(axis=0) if two_sided else counted[0]
        out[number[running]] = sides * (1.0 + extreme[running]) / (1.0 + keys.size)
        return np.asarray(np.minimum(out, 1.0))

    tasks = list(itertools.pairwise(cuts))
    return np.concatenate(list(map_threads(in_rounds, tasks)))
