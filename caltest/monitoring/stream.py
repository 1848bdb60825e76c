"""The e-process of one stream of rows: its state, and what it says."""

from __future__ import annotations

import base64
import math
import sys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caltest.errors import InvalidInput, invalid, shown
from caltest.monitoring import loops, numbers
from caltest.numerics.loops import plain
from caltest.types import AnyArray, Codes, Floats, Ints

_NEAR = [0.02, 0.05, 0.08, 0.12, 0.16, 0.21, 0.26, 0.32, 0.39]


_STEPS = np.array([*_NEAR, 0.47, 0.56, 0.66, 0.77, 0.9, 1.05, 1.2, 1.4])


SLOPES = np.exp(np.concatenate([-_STEPS[::-1], _STEPS]))  # exponents of the probabilities


BINARY_OFFSETS = np.concatenate([s * np.geomspace(0.05, 2.0, 10) for s in (-1.0, 1.0)])


CLASS_OFFSETS = np.array([-1.0, -0.5, -0.2, -0.1, 0.1, 0.2, 0.5, 1.0])


MOST_RECALIBRATED = 100  # classes; the matrix of its Newton steps has a row for each


CELLS = 40  # of the log odds, from -10 to 10, for the isotonic bet


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
        Number of classes; of forecasts 2, those of an event.
    parts : tuple of str
        Names of the parts.
    sizes : (len(parts),) int array
        How many bets each part has.
    game : Game
        The bets themselves.
    """

    m: int
    parts: tuple[str, ...]
    sizes: Ints
    game: loops.Game


def bets_for(m: int) -> Bets:
    """Return the bets on predictions of m classes, 0 of numbers; they depend on nothing else."""
    rng = np.random.default_rng(SEED)
    parts, sizes = [*numbers.PARTS], numbers.SIZES
    own: dict[str, Any] = {"grid": numbers.GRID}
    if m > 0:
        parts = ["temperature", "class-frequencies", "recalibration", "isotonic", "kernel"]
        of, offset = np.repeat(np.arange(m), CLASS_OFFSETS.size), np.tile(CLASS_OFFSETS, m)
        if m == 2:
            of, offset = np.ones(BINARY_OFFSETS.size, dtype=np.int64), BINARY_OFFSETS
        centres = (np.arange(WITNESS_CELLS) + 0.5) / WITNESS_CELLS
        sizes = [SLOPES.size, offset.size, 1, 1, 1]
        if m > MOST_RECALIBRATED:
            del parts[2], sizes[2]
        own = {
            "slopes": SLOPES,
            "offset_class": of,
            "offset": offset,
            "features": rng.normal(size=(FEATURES, m)) / BANDWIDTH if m > 2 else np.zeros((0, 0)),
            "phases": rng.uniform(0.0, 2.0 * np.pi, FEATURES),
            "kernel": np.exp(-np.abs(np.subtract.outer(centres, centres)) / BANDWIDTH),
        }
    game = loops.Game(
        part_of=np.repeat(np.arange(len(parts)), sizes),
        weights=np.repeat(1.0 / (np.array(sizes) * len(parts)), sizes),
        **own,
    )
    return Bets(m or 2, tuple(parts), np.array(sizes), game)


LEVELS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5, 1e-6)


PRIOR_VARIANCE = 0.1  # of the slope and the offsets, at which the online Newton step begins


class Stream:
    """One e-process, with what its bets have learned.

    Parameters
    ----------
    bets : Bets
        For the number of classes.
    levels : tuple of float
        Whose first crossing is kept.
    restart : bool
        Whether a process is begun at each row, and their sum is watched (Shiryaev and Roberts).
    memory : float
        The share of what was learned that is kept from row to row, 1 for all of it.
    whole : bool
        Whether it is that of all rows, of which the e-value over time and the gaps are kept.
    """

    def __init__(
        self, bets: Bets, levels: tuple[float, ...], *, restart: bool, memory: float, whole: bool
    ) -> None:
        self.bets, self.levels, self.restart, self.memory = bets, levels, restart, memory
        self.game = bets.game._replace(
            log_one=0.0 if restart else -math.inf,
            memory=float(memory),
            log_thresholds=-np.log(levels),
        )
        m, parts = bets.m, len(bets.parts)
        d = m + 1 if {"recalibration", "slope"} & set(bets.parts) else 0
        size = int(bets.sizes.sum())
        self.state: dict[str, AnyArray] = {
            "counts": np.array([0, 0, 1, -1, 1, 0]),
            "levels": np.array([0.0, 0.0, 0.0, 1.0, 0.0, -math.inf if restart else 0.0]),
            "crossed": np.zeros(len(levels), dtype=np.int64),
            "log_wealth": np.full(size, -math.inf if restart else 0.0),
            "product": np.ones(size),
            "restarted": np.zeros(size),
            "lowest": np.zeros(size * whole),
            "won": np.zeros(size * whole),
            "firsts": np.zeros((size * whole, loops.NEAR + 1), dtype=np.int64),
            "lasts": np.zeros((size * whole, loops.NEAR + 1), dtype=np.int64),
            "path": np.zeros((loops.MOST_POINTS * whole, 2 + parts)),
            "theta": np.concatenate([[1.0], np.zeros(m)]) if d else np.zeros(0),
            "inverse": PRIOR_VARIANCE * np.eye(d),
            "cells": np.zeros((3, CELLS)),
            "shift": np.zeros(CELLS),
            "witness": np.zeros(WITNESS_CELLS if m == 2 else 0),
            "sums": np.zeros((FEATURES if m > 2 else 0, m)),
            "gaps": np.zeros(((2 if m == 2 else m + 1) * whole, 5)),
        }

    def advance(self, probs: Floats, labels: Codes, *, traced: bool = False) -> Floats:
        """Bet on rows (n, m) in their order, and learn their labels (n,).

        Returns the logarithm of the e-value before the first row and after each, (n + 1,), where
        all rows of the stream are `traced`.
        """
        trace = np.empty(len(labels) + 1 if traced else 1)
        trace[0] = self.state["levels"][loops.LAST]
        state = loops.State(**self.state)
        rows, codes = np.ascontiguousarray(probs).view(), labels.view()
        # The loop is compiled once, for arrays that cannot be written to.
        rows.flags.writeable = codes.flags.writeable = False
        interpreted = plain(loops.advance, len(labels) * int(self.bets.sizes.sum()))
        if interpreted is not None:
            kept = {name: array.copy() for name, array in self.state.items()}
            try:
                with np.errstate(all="ignore"):
                    interpreted(rows, codes, self.game, state, trace[1:])
            except (ArithmeticError, ValueError):  # compiled, log(0) and exp(1000) are infinite
                for name, array in self.state.items():
                    array[...] = kept[name]
            else:
                return trace
        loops.advance(rows, codes, self.game, state, trace[1:])
        return trace

    # ---- what it says ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Rows so far."""
        return int(self.state["counts"][loops.ROWS])

    @property
    def impossible_row(self) -> int | None:
        """The first row, from 0, whose outcome had probability 0."""
        row = int(self.state["counts"][loops.IMPOSSIBLE])
        return None if row < 0 else row - 1

    @property
    def log_wealth(self) -> Floats:
        """The logarithm of what each bet has made of 1, or of 1 at each row."""
        before = self.state["log_wealth"]
        if self.restart:
            with np.errstate(divide="ignore"):
                before = np.logaddexp(before, np.log(self.state["restarted"]))
        return np.asarray(before + np.log(self.state["product"]))

    @property
    def log_parts(self) -> Floats:
        """The logarithm of the e-value of each part."""
        starts = np.concatenate([[0], np.cumsum(self.bets.sizes)[:-1]])
        return np.asarray(np.logaddexp.reduceat(self.log_wealth, starts) - np.log(self.bets.sizes))

    @property
    def log_evalue(self) -> float:
        """The logarithm of the e-value, infinite after an impossible outcome."""
        if self.impossible_row is not None:
            return math.inf
        parts = self.log_parts
        return float(np.logaddexp.reduce(parts) - math.log(parts.size))

    @property
    def log_largest(self) -> float:
        """The logarithm of the largest e-value so far."""
        if self.impossible_row is not None:
            return math.inf
        best, offset = self.state["levels"][[loops.BEST, loops.OFFSET]].tolist()
        return math.log(best) + offset if best > 0 else -math.inf

    @property
    def path(self) -> Floats:
        """Rows so far, log e-value, and that of each part, at up to 1024 times."""
        return self.state["path"][: self.state["counts"][loops.POINTS]]

    def won(self, part: str) -> Floats:
        """The logarithm of what each bet of a part has won since it was lowest."""
        own = self.game.part_of == self.bets.parts.index(part)
        return np.asarray((self.state["won"] + np.log(self.state["product"]))[own])

    def since(self, parts: Sequence[str]) -> tuple[int, int, int]:
        """Rows before the change: the most likely number, the least and the largest that may be.

        If outcomes after it are as one of the bets of the parts has them, the gain of this bet
        since a row is the logarithm of the likelihood ratio of a change there.
        """
        bets = np.isin(self.game.part_of, [self.bets.parts.index(part) for part in parts])
        won = np.concatenate([self.won(part) for part in parts])
        lowest, firsts, lasts = (self.state[name][bets] for name in ("lowest", "firsts", "lasts"))
        room = loops.NEAR - (won.max() - won)
        near = np.flatnonzero(room >= 0.0)
        passed = np.floor(-lowest[near] - room[near]).astype(np.int64)
        first = np.where(passed > 0, firsts[near, passed % firsts.shape[1]], 0).min()
        last = lasts[near, np.ceil(room[near]).astype(np.int64)].max()
        ends = max(0, int(first) - loops.BLOCK), min(self.n, int(last) + loops.BLOCK)
        return int(lasts[np.argmax(won), 0]), *ends

    def draw_mean(self, before: int, logs: Floats) -> None:
        """Put the mean of this e-process and others in its place on the path, after each row."""
        new = self.path[:, 0] > before
        values = logs[self.path[new, 0].astype(np.int64) - before - 1]
        self.path[new, 1] = np.where(np.isfinite(values), values, self.path[new, 1])

    # ---- JSON -----------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the arrays as text, exact to the last bit; of a symmetric matrix one half."""
        inverse = self.state["inverse"]
        arrays = dict(self.state, path=self.path, inverse=inverse[np.tril_indices_from(inverse)])
        return {
            name: base64.b64encode(zlib.compress(np.ascontiguousarray(array).tobytes())).decode()
            for name, array in arrays.items()
        }

    def load(self, values: object, *, version: int) -> None:
        """Take over what `to_dict` returned, or that of an earlier version.

        Version 1 had whole matrices, not packed; up to version 3 a change was dated otherwise, so
        that one in the rows up to here may be in any of them.
        """
        earlier, dated = version == 1, version > 3
        later = set() if dated else {"lowest", "won", "firsts", "lasts"}
        arrays = {name: array for name, array in self.state.items() if name not in later}
        before = set() if dated else {"low", "low_row"}
        if not isinstance(values, Mapping) or set(values) != set(arrays) | before:
            raise broken(values)
        for name, array in arrays.items():
            try:
                raw = base64.b64decode(values[name], validate=True)
                if not earlier:  # no more than the array can have, and all of it
                    unpack = zlib.decompressobj()
                    raw = unpack.decompress(raw, array.nbytes + 1)
                    if not unpack.eof:
                        raise broken(name)
                new = np.frombuffer(raw, dtype=array.dtype)
                own = self.path if name == "path" else array  # counts come before it
                if name == "inverse" and not earlier:
                    rows, columns = np.tril_indices_from(array)
                    array[rows, columns] = array[columns, rows] = new.reshape(rows.shape)
                elif name != "gaps" or array.size or not earlier:  # version 1 had unused ones
                    own[...] = new.reshape(own.shape)
            except (TypeError, ValueError, zlib.error) as error:
                raise broken(name) from error
        if not dated:
            self.state["lasts"][...] = self.n
        self._check_values()

    def _check_values(self) -> None:
        """Check that rows can have led to the values: counts that fit together, no NaN."""
        n, top, inf = self.n, sys.float_info.max, math.inf
        place, points = n % loops.BLOCK, len(self.state["path"])
        most = -n * math.log(loops.LEAST)
        ends: dict[str, tuple[Any, Any]] = {
            "counts": ([0, place, 1, -1, 1, 0], [n, place, inf, n, inf, points]),
            "levels": ([0, -top, 0, 1, 0, -inf], [top, top, loops.MOST_BET, top, top, inf]),
            "product": (np.nextafter(0.0, 1.0), top),
            "gaps": ([n, 0, 0, 0, 0], [n, top, top, top, top]),
            **dict.fromkeys(("crossed", "firsts", "lasts"), (0, n)),
            **dict.fromkeys(("log_wealth", "path"), (-inf, top)),  # a bet may lose all
            **dict.fromkeys(("restarted", "cells"), (0, top)),
            "won": (0, most),
            "lowest": (-most, 0),
            **dict.fromkeys(("theta", "inverse", "shift", "witness", "sums"), (-top, top)),
        }
        for name, (low, high) in ends.items():
            if not ((low <= self.state[name]) & (self.state[name] <= high)).all():
                raise broken(name)
        if self.state["counts"][loops.IMPOSSIBLE] == 0:  # rows are counted from 1
            raise broken("counts")


def broken(part: object) -> InvalidInput:
    """Return the error of a state with a part that no rows can have led to."""
    rule = "the state of a monitor must be whole, as to_json wrote it"
    got = f"a part that is not: {part if isinstance(part, str) else shown(part)}"
    return invalid(rule, got, "go on from an earlier state, or begin anew")
