"""Threads over blocks: every hot loop releases the interpreter lock."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
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
    # As a number, since joblib takes one thread where its configuration names a process backend.
    jobs = min(len(tasks), joblib.effective_n_jobs(n_jobs))
    # BLAS has one thread in every case: its products are small here, threads that wait for each
    # other on a busy machine cost 50 times as much, and the last bits would depend on n_jobs.
    with _controller().limit(limits=1, user_api="blas"):
        if jobs > 1:
            parallel = joblib.Parallel(n_jobs=jobs, require="sharedmem", return_as="generator")
            yield from parallel(joblib.delayed(function)(*task) for task in tasks)
        else:
            yield from (function(*task) for task in tasks)


@cache
def _controller() -> ThreadpoolController:
    """Look for the BLAS libraries once: it takes a millisecond."""
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Hold BLAS to one thread, around many small products outside of `map_threads`."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit
