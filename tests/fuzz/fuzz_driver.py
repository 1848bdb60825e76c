"""One generated call, run and judged: `python tests/fuzz/fuzz_driver.py SEED [SEED ...]`.

A call must end in a result or in an error of caltest, in time, with no other warnings than those of
caltest, its inputs unchanged, no file left, and no NaN without a note.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_values import Case, Draw

SECONDS = 60  # after which a call hangs
MOST_WARNINGS = 40
MOST_SHOWN = 3000  # letters of a call


# What scikit-learn and matplotlib tell the user, who can act on it.
OF_OTHERS = (
    "does not have valid feature names",
    "missing from font",
    "missing from current font",
    "no font that is installed has",
    "A column-vector y was passed",
)


class Fault(AssertionError):  # noqa: N818, what the driver is to find
    """A call that ended as none may end."""


def run_case(seed: int, subject: str | None = None) -> str:
    """Run the call of a seed.

    Returns
    -------
    str
        "result", or the name of the error of caltest.

    Raises
    ------
    Fault
        With the seed and the call.
    """
    from fuzz_subjects import SUBJECTS

    rng = np.random.default_rng(seed)
    names = list(SUBJECTS)
    weights = np.array([SUBJECTS[name][1] for name in names], dtype=float)
    drawn = names[int(rng.choice(len(names), p=weights / weights.sum()))]
    name = subject or drawn
    with _folder() as folder:
        draw = Draw(rng, folder, broken=bool(rng.random() < 0.5))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what is made for the call
            case = SUBJECTS[name][0](draw)
        try:
            return _judged(case, folder)
        except Fault as fault:
            notes = "".join(f"\n{note}" for note in draw.notes)
            again = f"python tests/fuzz/fuzz_driver.py {seed}" + (f" {subject}" if subject else "")
            raise Fault(
                f"{fault}\nseed {seed}: {case.subject}\n{case.text[:MOST_SHOWN]}{notes}\n{again}"
            ) from (fault.__cause__)


def _judged(case: Case, folder: Path) -> str:
    before = [fingerprint(value) for value in case.inputs]
    files = _files(folder)
    with warnings.catch_warnings(record=True) as caught, _limit():
        warnings.simplefilter("always")
        ending = _ending(case)
    _check_warnings(caught)
    if [fingerprint(value) for value in case.inputs] != before:
        raise Fault("an input was changed")
    left = {path for path in _files(folder) - files if path not in case.makes}
    if left:
        raise Fault(f"files were left: {sorted(left)}")
    return ending


def _ending(case: Case) -> str:
    from caltest import InvalidInput, NotApplicable

    try:
        look_at(case.call())
    except (InvalidInput, NotApplicable) as error:
        if not str(error).strip():
            raise Fault("an error without words") from error
        return type(error).__name__
    except (Fault, KeyboardInterrupt):
        raise
    except BaseException as error:
        if _is_of_the_model(error):
            return "error of the model"
        told = "".join(traceback.format_exception(error)[-6:])
        raise Fault(f"{type(error).__name__}: {str(error)[:500]}\n{told}") from error
    return "result"


def _is_of_the_model(error: BaseException) -> bool:
    """Tell what a model says about its X, which is passed on, from an error within caltest."""
    import caltest

    own = Path(caltest.__file__).parent
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    asked = [k for k, path in enumerate(files) if path.parts[-2:] == ("predictions", "models.py")]
    return bool(asked) and all(own not in path.parents for path in files[asked[-1] + 1 :])


def _check_warnings(caught: list[warnings.WarningMessage]) -> None:
    from caltest import DegenerateDataWarning, SuspectInputWarning
    from caltest.errors import ReadAsWarning

    for one in caught:
        of_the_model = Path(one.filename).name == "naive_bayes.py"
        allowed = of_the_model or issubclass(
            one.category, DegenerateDataWarning | SuspectInputWarning | ReadAsWarning
        )
        if not allowed and not any(words in str(one.message) for words in OF_OTHERS):
            raise Fault(f"a warning: {one.message} ({one.filename}:{one.lineno})")
    if len(caught) > MOST_WARNINGS:
        raise Fault(f"{len(caught)} warnings: {caught[0].message}")


def look_at(result: Any) -> None:
    """Check a result: it prints, its JSON is JSON, and what is NaN has a note."""
    if isinstance(result, (list, tuple)):
        for part in result:
            look_at(part)
    elif isinstance(result, (float, np.ndarray)):
        numbers = np.asarray(result)
        if numbers.dtype.kind == "f" and np.isnan(numbers).any():
            raise Fault("the result has NaN")
    elif type(result).__module__.startswith("caltest."):
        rows = getattr(result, "rows", (result,))
        for row in rows if isinstance(rows, tuple) else ():
            _check_row(row)
        _check_prints(result)


def _check_row(row: Any) -> None:
    numbers = [getattr(row, name, 0.0) for name in ("statistic", "pvalue", "estimate")]
    if any(isinstance(x, float) and np.isnan(x) for x in numbers) and not (
        getattr(row, "notes", ()) or getattr(row, "infinite", 0)
    ):
        raise Fault(f"NaN without a note: {numbers}")
    p = getattr(row, "pvalue", 0.0)
    if isinstance(p, float) and not np.isnan(p) and not 0 <= p <= 1:
        raise Fault(f"p-value {p}")


def _check_prints(result: Any) -> None:
    str(result), repr(result)
    if hasattr(result, "to_json"):
        json.loads(result.to_json(), parse_constant=_not_json)
    if hasattr(result, "to_csv"):
        result.to_csv()
    for name in ("to_markdown", "to_latex", "to_html"):
        if hasattr(result, name):
            check_escaped(name, getattr(result, name)())


# What a name must not look like in a format: there it would be read as more than a name.
RAW = {
    "to_html": ("<script>alert",),
    "to_latex": ("\\input{", "$x_1^2$", "100 % {of}", "#1 & ~more", "two\nlines"),
    "to_markdown": ("<script>alert", "two\nlines", "![x](javascript"),
}


def check_escaped(how: str, text: str) -> None:
    """Check that hostile names stand escaped in a table or a report."""
    for raw in RAW.get(how, ()):
        if raw in text:
            raise Fault(f"{how} lets {raw!r} through")
    if how == "to_markdown":
        rows = [line for line in text.splitlines() if line.startswith("|")]
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows}
        if len(rows) == len(text.strip().splitlines()) and len(widths) > 1:
            raise Fault(f"to_markdown breaks a row: {text}")


def _not_json(name: str) -> None:
    raise Fault(f"JSON with {name}")


def fingerprint(value: Any) -> str:
    """Say all that a value holds."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tolist()!r}"
    for name in ("to_pydict", "to_dict", "to_list", "tolist"):
        if hasattr(value, name) and not isinstance(value, type):
            return f"{type(value)}{getattr(value, name)()!r}"
    if isinstance(value, dict):
        return repr([(key, fingerprint(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return repr([fingerprint(item) for item in value])
    return repr(value)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """Work in a folder of its own, where temporary files are made too."""
    here, temporary = Path.cwd(), tempfile.tempdir
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        tempfile.tempdir = name
        try:
            yield Path(name)
        finally:
            tempfile.tempdir = temporary
            os.chdir(here)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    """End a call that hangs, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise Fault(f"no end after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main() -> None:
    """Run the seeds of the command line, or a range FIRST:LAST; a subject may follow."""
    given = sys.argv[1:]
    subject = given.pop() if given and not given[-1][0].isdigit() else None
    seeds: list[int] = []
    for one in given:
        first, _, last = one.partition(":")
        seeds += range(int(first), int(last or int(first) + 1))
    endings: dict[str, int] = {}
    for seed in seeds:
        try:
            ending = run_case(seed, subject)
        except Fault as fault:
            ending = "fault"
            print(f"{fault}\n{'-' * 80}")  # noqa: T201
        endings[ending] = endings.get(ending, 0) + 1
    print(endings)  # noqa: T201


if __name__ == "__main__":
    main()
