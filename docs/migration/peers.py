"""Runs the calls of other packages in the tables of index.md and compares with the numbers there.

`python docs/migration/peers.py` needs scikit-learn and those of the packages that are to be run; a
row of a package that is not installed is passed over, and said.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from decimal import Decimal
from pathlib import Path

PAGE = Path(__file__).with_name("index.md").read_text(encoding="utf-8")
DATA = re.search(r"^rng = .*?(?=^\n^def)", PAGE, re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(-?((?:\w+\.)+)\w+\(.*)` \| `.*` \| (\S+) \|$", re.MULTILINE)


def module(path: str) -> str:
    """Import as much of a dotted name as is a module; return its first part."""
    parts = path.strip(".").split(".")
    importlib.import_module(parts[0])
    for end in range(2, len(parts) + 1):
        importlib.import_module(".".join(parts[:end]))
    return parts[0]


def main() -> int:
    """Return the number of rows that differ."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    names: dict[str, object] = {"np": np, "LogisticRegression": LogisticRegression}
    exec(DATA[0] if DATA else "", names)  # noqa: S102 - the page is ours
    wrong = 0
    for code, path, number in ROW.findall(PAGE):
        try:
            first = module(path)
        except ImportError as error:
            print(f"passed over  {code}: {error}")  # noqa: T201
            continue
        names |= {name: sys.modules[name] for name in (first, "torch") if name in sys.modules}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = float(eval(code, names))  # noqa: S307 - as above
        same = abs(value - float(number)) <= 0.51 * 10.0 ** Decimal(number).as_tuple().exponent
        wrong += not same
        print(f"{'same' if same else 'DIFFERS':11}  {code}: {value!r}, {number}")  # noqa: T201
    return wrong


if __name__ == "__main__":
    sys.exit(main())
