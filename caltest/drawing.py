"""The one way up: `.plot()` and `.verdict()` call folders above, imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from caltest.types import Axes


def draw(function: str, *arguments: object, **options: Any) -> Axes:
    """Call a function of `caltest.plots` by its file and its name, as in "witness.witness"."""
    axes: Axes = above(f"plots.{function}", *arguments, **options)
    return axes


def above(function: str, *arguments: object, **options: Any) -> Any:
    """Call a function of a folder above by its file and its name, as in "verdicts.verdict_of"."""
    file, _, name = function.rpartition(".")
    return getattr(import_module(f"caltest.{file}"), name)(*arguments, **options)
