"""How hot loops run: compiled when they are first called, and in threads over blocks.

Loading numba takes longer than many a test of a small table, which needs none of these loops. Every
compiled loop releases the interpreter lock.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import FunctionType
from typing import Any, TypeVar, cast

from threadpoolctl import ThreadpoolController

from caltest._version import __version__
from caltest.types import AnyArray

Loop = Callable[..., Any]
Function = TypeVar("Function", bound=Loop)
_LOCK = threading.RLock()
_N_JOBS: ContextVar[int | None] = ContextVar("n_jobs", default=None)
STEPS = 120_000  # of an inner loop: half a second as Python code
Result = TypeVar("Result")


def njit(**options: object) -> Callable[[Function], Function]:
    """Compile a function when it is first called, to run without the interpreter lock.

    Parameters
    ----------
    **options : object
        Further options of `numba.njit`, such as fastmath.
    """

    def decorate(function: Function) -> Function:
        return cast("Function", _Loop(function, options))

    return decorate


class _Loop:
    """A function that is handed to numba at its first call."""

    def __init__(self, function: Loop, options: dict[str, object]) -> None:
        functools.update_wrapper(self, function)
        # Names the file of the machine code: that of another version, whose callees and types may
        # have been others, is left alone.
        function.__qualname__ += f"-{__version__}"
        self.py_func = function
        self._options = options
        self.ready: Loop | None = None  # once it was handed to numba
        self.interpreted = 0

    def __call__(self, *args: object, **options: object) -> Any:
        return (self.ready or self.dispatcher())(*args, **options)

    def as_python(self) -> Loop:
        """Return the function as it was written, and so those that it calls."""
        names = self.py_func.__globals__
        called = {name: names.get(name) for name in self.py_func.__code__.co_names}
        own = {name: x.as_python() for name, x in called.items() if isinstance(x, _Loop)}
        return FunctionType(self.py_func.__code__, {**names, **own})

    def dispatcher(self) -> Loop:
        """Return the function as numba has it, handed to it after those that it calls."""
        with _LOCK:
            if self.ready is not None:
                return self.ready
            import numba

            names = self.py_func.__globals__
            for name in self.py_func.__code__.co_names:
                called = names.get(name)
                if isinstance(called, _Loop):
                    names[name] = called.dispatcher()
            decorator: Callable[..., Any] = numba.njit
            try:
                compiled = decorator(nogil=True, cache=True, **self._options)(self.py_func)
            except RuntimeError as error:
                if "no locator available" not in str(error):
                    raise
                # Neither the installation nor a home can be written to: compiled anew in each
                # process.
                compiled = decorator(nogil=True, **self._options)(self.py_func)
            self.ready = cast("Loop", compiled)
        return self.ready


def frozen(array: AnyArray) -> AnyArray:
    """Return a read-only view: a loop is compiled once more for arrays that may be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def plain(loop: Loop, steps: int) -> Loop | None:
    """Return a loop as Python code, with those that it calls, where numba is not worth loading.

    That is so until the process has run `STEPS` of it in this way, unless it is compiled already.
    """
    if not isinstance(loop, _Loop) or loop.ready is not None or loop.interpreted + steps > STEPS:
        return None
    loop.interpreted += steps
    return loop.as_python()


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads: `n_jobs`, that of `threads`, or that which joblib has."""
    n_jobs = _N_JOBS.get() if n_jobs is None else n_jobs
    if n_jobs in (None, 1) and "joblib" not in sys.modules:  # nobody can have configured it
        return 1
    import joblib

    # As a number, since joblib takes one thread where its configuration names other processes.
    return int(joblib.effective_n_jobs(n_jobs))


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Set how many threads what is called within takes, and BLAS one; None leaves it as it is."""
    token = _N_JOBS.set(_N_JOBS.get() if n_jobs is None else n_jobs)
    try:
        with one_blas_thread():
            yield
    finally:
        _N_JOBS.reset(token)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows, in order, that make up all n of them."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def map_threads(
    function: Callable[..., Result], tasks: Iterable[tuple[Any, ...]], n_jobs: int | None = None
) -> Iterator[Result]:
    """Yield `function(*task)` for every task in order, lazily, as `map` does.

    A function that runs in one of several threads has one thread itself.
    """
    tasks = list(tasks)
    jobs = min(len(tasks), thread_count(n_jobs))
    # BLAS has one thread in every case: its products are small here, threads that wait for each
    # other on a busy machine cost 50 times as much, and the last bits would depend on n_jobs.
    with one_blas_thread():
        if jobs > 1:
            import joblib

            parallel = joblib.Parallel(n_jobs=jobs, require="sharedmem", return_as="generator")
            yield from parallel(joblib.delayed(function)(*task) for task in tasks)
        else:
            yield from (function(*task) for task in tasks)


@cache
def _controller(*, has_scipy: bool) -> ThreadpoolController:
    """Look for the BLAS libraries: once, it takes a millisecond, and when SciPy brings its own."""
    del has_scipy
    return ThreadpoolController()


_BLAS = threading.Lock()
_INSIDE: list[Any] = []  # how BLAS was before, once for each that holds it to one thread


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, around many small products outside of `threads`.

    Who is the last to leave gives it back those that it had.
    """
    with _BLAS:
        found = _controller(has_scipy="scipy.linalg._fblas" in sys.modules)
        _INSIDE.append(_INSIDE[0] if _INSIDE else found.limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _BLAS:
            before = _INSIDE.pop()
            if not _INSIDE:
                before.restore_original_limits()
