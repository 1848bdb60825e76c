"""The one way up: `.plot()` draws by `caltest.plots`, which is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(function: str, *arguments: object, **options: Any) -> Axes:
    """Call a function of `caltest.plots` by its file and its name, as in "witness.witness"."""
    file, _, name = function.partition(".")
    axes: Axes = getattr(import_module(f"caltest.plots.{file}"), name)(*arguments, **options)
    return axes
