"""Figures and axes that show themselves in a notebook.

They are made without pyplot, so that a notebook does not know of them: what is the value of a cell
is drawn once, and what is not, not at all. Axes of the caller's figures are left as they are.
"""

from __future__ import annotations

import io
from typing import Any

import matplotlib.axes
import matplotlib.figure
import numpy as np

from caltest.types import AnyArray


def png_of(figure: matplotlib.figure.FigureBase) -> bytes:
    """Return the picture of the figure, or of that which a part of a figure belongs to."""
    buffer = io.BytesIO()
    root: Any = figure.figure
    root.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


class Axes(matplotlib.axes.Axes):
    """Axes whose figure is shown where they are the value of a cell."""

    def _repr_png_(self) -> bytes:
        return png_of(self.figure)


class ShownFigure(matplotlib.figure.Figure):
    """A figure that is shown where it is the value of a cell."""

    def _repr_png_(self) -> bytes:
        return png_of(self)

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add axes that show their figure."""
        if not args or not isinstance(args[0], matplotlib.axes.Axes):
            kwargs.setdefault("axes_class", Axes)
        return super().add_subplot(*args, **kwargs)


class AxesArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of axes of one figure, which is shown where the array is the value of a cell."""

    def _repr_png_(self) -> bytes | None:
        return png_of(self.flat[0].figure) if self.size else None


def axes_array(axes: object) -> AnyArray:
    """Return an array of axes that shows their figure, unless that is one of the caller's."""
    array = np.asarray(axes, dtype=object)
    return array.view(AxesArray) if array.size and isinstance(array.flat[0], Axes) else array
