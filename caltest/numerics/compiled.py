"""The decorator of all hot loops: numba is loaded at the first call of one of them.

Loading numba takes longer than many a test of a small table, which needs none of these loops.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

Loop = Callable[..., Any]
Function = TypeVar("Function", bound=Loop)

_LOCK = threading.RLock()


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
        self.py_func = function
        self._options = options
        self._ready: Loop | None = None

    def __call__(self, *args: object) -> Any:
        return (self._ready or self.dispatcher())(*args)

    def dispatcher(self) -> Loop:
        """Return the function as numba has it."""
        with _LOCK:
            if self._ready is None:
                self._ready = self._compiled()
        return self._ready

    def _compiled(self) -> Loop:
        """Hand the function to numba, and before it those that it calls."""
        import numba

        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            called = names.get(name)
            if isinstance(called, _Loop):
                names[name] = called.dispatcher()
        decorator: Callable[..., Any] = numba.njit
        return cast("Loop", decorator(nogil=True, cache=True, **self._options)(self.py_func))
