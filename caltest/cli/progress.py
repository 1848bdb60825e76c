"""A progress bar on stderr, on a terminal only and for work over a second only."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer

DELAY = 1.0  # seconds
ROWS = 100_000  # steps from which on they are rows of data, and their number in a second is shown


@contextmanager
def progress_bar(what: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Context whose value is to be called with (done, total).

    Parameters
    ----------
    what : str
        A word before the bar.
    quiet : bool
        Whether to show nothing in any case, and no warnings either.

    Yields
    ------
    callable
        Takes the numbers of steps done and in all; the bar pulses until its first call.
    """
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        if quiet or not sys.stderr.isatty():
            yield lambda _done, _total: None
        else:
            with _bar(what) as update:
                yield update


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int], None]]:
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    columns = (*Progress.get_default_columns(), TextColumn("{task.fields[speed]}"))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, total=None, speed="")

    def update(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total)
        speed = bar.tasks[0].speed
        if total >= ROWS and speed:
            bar.update(task, speed=f"{speed:,.0f} rows/s")

    timer = Timer(DELAY, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
