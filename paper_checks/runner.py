"""Runs the tasks of a check: kept ones are read, the others are shared out over processes."""

from __future__ import annotations

import csv
import hashlib
import importlib
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from paper_checks.check import Outcome, Part, Row, Setting, Task, beside

CHECKS = (
    "skce_tests",
    "dirichlet_calibration",
    "dirichlet_networks",
    "splines",
    "gp_calibration",
    "dirichlet_gp",
)
CACHE = Path(__file__).parent / ".cache"
RESULTS = Path(__file__).parent / "results"


def load(name: str) -> ModuleType:
    """Import the module of a check."""
    return importlib.import_module(f"paper_checks.{name}")


def run(
    name: str,
    setting: Setting,
    *,
    jobs: int = 1,
    fresh: bool = False,
    quiet: bool = False,
    stored: bool = False,
    folder: Path = CACHE,
    results: Path = RESULTS,
) -> Outcome:
    """Run the tasks of a check that are not kept, and compare.

    Parameters
    ----------
    name : str
        Name of the check.
    setting : Setting
        Size of the run, and its folders.
    jobs : int
        Number of processes.
    fresh : bool
        Whether kept rows are computed again.
    quiet : bool
        Whether to show no progress.
    stored : bool
        Whether the rows in `results` stand in for tasks that this machine has not run.
    folder : Path
        Folder of the kept rows.
    results : Path
        Folder of the results.

    Returns
    -------
    Outcome
        Claims and rows.
    """
    module = load(name)
    if stored and (summed := _summed_up(results, name, setting.mode)):
        return Outcome(name, setting, _parts(module, summed, setting), summed, [], 0.0)
    tasks = module.tasks(setting)
    _check_keys(name, tasks)
    folder = folder / name / setting.mode
    kept = {} if fresh else {task.key: found for task in tasks if (found := _read(folder, task))}
    sources = {task.key: _source_digest(task.function.__module__) for task in tasks}
    if stale := sum(found["source"] != sources[key] for key, found in kept.items()):
        print(
            f"{name}: {stale} tasks were kept by other code than today's; --fresh runs them again",
            file=sys.stderr,
        )
    if stored:
        kept = _stored(results, name, setting.mode) | kept
    waiting = [task for task in tasks if task.key not in kept]
    with _progress(name, len(tasks), quiet=quiet) as advance:
        advance(len(kept))
        for task, rows, seconds in _results(waiting, jobs):
            kept[task.key] = _keep(folder, task, sources[task.key], rows, seconds)
            advance(1)
    rows = [_rounded(row) for task in tasks for row in kept[task.key]["rows"]]
    sizes = [{"key": task.key, "rows": len(kept[task.key]["rows"])} for task in tasks]
    seconds = sum(kept[task.key].get("seconds", 0.0) for task in tasks)
    return Outcome(name, setting, _parts(module, rows, setting), rows, sizes, seconds)


def _parts(module: ModuleType, rows: list[Row], setting: Setting) -> list[Part]:
    """Return the claims of a check, each cell of a table with the others of its row."""
    parts = module.claims(rows, setting)
    return [replace(part, claims=beside(part.claims)) for part in parts]


def _check_keys(name: str, tasks: list[Task]) -> None:
    keys = [task.key for task in tasks]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{name}: the key {twice!r} names two tasks")


def _results(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, list[Row], float]]:
    from joblib import Parallel, delayed, parallel_config
    from threadpoolctl import threadpool_limits

    if jobs == 1 or len(tasks) < 2:
        with threadpool_limits(1):
            for task in tasks:
                yield (task, *_timed(task))
        return
    # As they end, not in their order: what is done when the run is stopped is kept.
    with parallel_config(backend="loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        for i, rows, seconds in parallel(delayed(_indexed)(i, t) for i, t in enumerate(tasks)):
            yield tasks[i], rows, seconds


def _timed(task: Task) -> tuple[list[Row], float]:
    start = time.perf_counter()
    rows = task()
    return rows, time.perf_counter() - start


def _indexed(i: int, task: Task) -> tuple[int, list[Row], float]:
    return (i, *_timed(task))


# ------------------------------------------------------------------------------------ kept rows


@cache
def _source_digest(module: str) -> str:
    """Digest of the file of a task's function."""
    path = Path(str(sys.modules[module].__file__))
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _path(folder: Path, task: Task) -> Path:
    return folder / (hashlib.sha256(task.key.encode()).hexdigest()[:20] + ".json")


def _read(folder: Path, task: Task) -> dict[str, Any] | None:
    try:
        found = json.loads(_path(folder, task).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):  # a file that is damaged counts as none
        return None
    whole = isinstance(found, dict) and {"source", "seconds", "rows"} <= found.keys()
    return found if whole and found.get("key") == task.key else None


def _keep(folder: Path, task: Task, source: str, rows: list[Row], seconds: float) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(
        {"key": task.key, "source": source, "seconds": seconds, "rows": rows},
        default=lambda value: value.item(),  # numpy's scalars
    )
    # Written beside and renamed: a run that is stopped leaves no half of a file.
    half = _path(folder, task).with_suffix(".half")
    half.write_text(text, encoding="utf-8")
    half.replace(_path(folder, task))
    # What was read back from the file is what a run that is resumed sees.
    return json.loads(text)


# ---------------------------------------------------------------------------------- stored rows


def plain(value: Any) -> Any:
    """Ten significant digits: what two machines agree on."""
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else value


def _rounded(row: Row) -> Row:
    """What is compared is what is stored, so that stored rows give the same numbers."""
    return {name: float(plain(one)) if isinstance(one, float) else one for name, one in row.items()}


def _stored(results: Path, name: str, mode: str) -> dict[str, dict[str, Any]]:
    """Rows of the tasks of an earlier run, from the CSV files that it has written."""
    tasks, lines = (results / f"{name}_{mode}_{what}.csv" for what in ("tasks", "rows"))
    if not tasks.exists():
        return {}
    rows = iter(_read_csv(lines))
    return {
        task["key"]: {"rows": [next(rows) for _ in range(task["rows"])]}
        for task in _read_csv(tasks)
    }


def _summed_up(results: Path, name: str, mode: str) -> list[Row]:
    """Rows of a check that stores what its samples sum up to, not the rows of each task."""
    tasks, lines = (results / f"{name}_{mode}_{what}.csv" for what in ("tasks", "rows"))
    return _read_csv(lines) if lines.exists() and not tasks.exists() else []


def _read_csv(path: Path) -> list[Row]:
    """Rows as they were written: what is empty was None or not there."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {name: _value(text) for name, text in line.items() if text}
            for line in csv.DictReader(file)
        ]


def _value(text: str) -> str | float | bool:
    if text in {"True", "False"}:
        return text == "True"
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


# ------------------------------------------------------------------------------------- progress


@contextmanager
def _progress(name: str, total: int, *, quiet: bool) -> Iterator[Any]:
    if quiet or total == 0:
        yield lambda _steps: None
        return
    if not sys.stderr.isatty():
        yield _Lines(name, total)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=total)
        yield lambda steps: bar.update(task, advance=steps)


class _Lines:
    """Progress in a log: a line at most twice a minute."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total = name, total
        self.done, self.shown = 0, time.monotonic()

    def __call__(self, steps: int) -> None:
        self.done += steps
        if time.monotonic() - self.shown > 30:
            self.shown = time.monotonic()
            print(f"{self.name}: {self.done} of {self.total} tasks", file=sys.stderr, flush=True)
