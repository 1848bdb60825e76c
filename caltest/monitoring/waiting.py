"""Rows whose outcome is not known yet; the order of the predictions is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import invalid, shown

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

UNKNOWN = -1
ROUNDING = 1e-9  # of a sum of probabilities


class Waiting:
    """A queue of rows: [name, probabilities, label or -1, group], in the order of prediction."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self._by_name: dict[object, list[Any]] = {}

    def check_new(self, names: list[object] | None) -> None:
        """Check that no row of these names waits."""
        for name in names or ():
            if name in self._by_name:
                raise invalid("ids must be new", f"{shown(name)}, which waits", "name it otherwise")

    def add(
        self, probs: Floats, labels: Codes | None, groups: Codes, names: list[object] | None
    ) -> None:
        """Put rows at the end of the queue."""
        for i, row in enumerate(probs):
            name = None if names is None else names[i]
            entry = [
                name,
                row.tolist(),
                UNKNOWN if labels is None else int(labels[i]),
                int(groups[i]),
            ]
            self.rows.append(entry)
            if labels is None:
                self._by_name[name] = entry

    def resolve(self, names: list[object], labels: Codes) -> None:
        """Tell the outcomes of rows, all or none."""
        self._check_waiting(names)
        for name, label in zip(names, labels.tolist(), strict=True):
            self._by_name.pop(name)[2] = label

    def drop(self, names: list[object]) -> None:
        """Take rows out of the queue, all or none."""
        self._check_waiting(names)
        gone = {id(self._by_name.pop(name)) for name in names}
        self.rows = [row for row in self.rows if id(row) not in gone]

    def settled(self) -> Iterator[tuple[Floats, Codes, Codes]]:
        """Yield the rows before the first whose outcome is not known, and forget them.

        Yields
        ------
        (probs, labels, groups)
            Arrays, once or never.
        """
        count = next((i for i, row in enumerate(self.rows) if row[2] == UNKNOWN), len(self.rows))
        if count:
            known, self.rows = self.rows[:count], self.rows[count:]
            yield (
                np.array([row[1] for row in known]),
                np.array([row[2] for row in known], dtype=np.int64),
                np.array([row[3] for row in known], dtype=np.int64),
            )

    def to_dict(self) -> list[list[Any]]:
        """Return the queue, whose names are plain values."""
        return [list(row) for row in self.rows]

    def load(self, values: object, m: int, groups: int) -> None:
        """Take over what `to_dict` returned."""
        rows: list[Any] = values if isinstance(values, list) else [values]
        for row in rows:
            if not self._is_row(row, m, groups) or (row[2] == UNKNOWN and row[0] in self._by_name):
                raise invalid(
                    "rows of a monitor that wait must be name, probabilities, label and group",
                    shown(row),
                    "go on from an earlier state, or begin anew",
                )
            entry = list(row)
            self.rows.append(entry)
            if entry[2] == UNKNOWN:
                self._by_name[entry[0]] = entry

    @staticmethod
    def _is_row(row: object, m: int, groups: int) -> bool:
        if not isinstance(row, list) or len(row) != 4 or isinstance(row[0], list | Mapping):
            return False
        probs, label, group = row[1:]
        codes = all(isinstance(value, int) for value in (label, group))
        if not codes or not isinstance(probs, list) or len(probs) != m:
            return False
        numbers = all(isinstance(value, int | float) and 0 <= value <= 1 for value in probs)
        whole = numbers and abs(sum(probs) - 1.0) <= ROUNDING
        return whole and UNKNOWN <= label < m and -1 <= group < groups

    def _check_waiting(self, names: list[object]) -> None:
        for name in names:
            if name not in self._by_name:
                raise invalid(
                    "ids must be of rows that wait", shown(name), "pass names given to update"
                )
