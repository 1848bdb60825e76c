"""Threads over blocks: every hot loop releases the interpreter lock."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")


def map_threads(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    """Yield `function(*task)` for every task in order, lazily, as `map` does.

    `n_jobs` follows joblib: None is one job unless `joblib.parallel_config` says otherwise.
    """
    tasks = list(tasks)
    if len(tasks) <= 1 or joblib.effective_n_jobs(n_jobs) == 1:
        return (function(*task) for task in tasks)
    return _threads(function, tasks, n_jobs)


def _threads(
    function: Callable[..., Result], tasks: list[tuple[Any, ...]], n_jobs: int | None
) -> Iterator[Result]:
    # As a number, since joblib takes one thread where its configuration names a process backend.
    jobs = joblib.effective_n_jobs(n_jobs)
    parallel = joblib.Parallel(n_jobs=jobs, require="sharedmem", return_as="generator")
    with _controller().limit(limits=1, user_api="blas"):  # or every thread would start its own
        yield from parallel(joblib.delayed(function)(*task) for task in tasks)


@cache
def _controller() -> ThreadpoolController:
    """Look for the BLAS libraries once: it takes a millisecond."""
    return ThreadpoolController()
