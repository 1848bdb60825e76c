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


class Shown:
    """What has a figure, or a part of one, which is shown where it is the value of a cell."""

    figure: Any

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.figure.figure.savefig(buffer, format="png", metadata={"Software": None})
        return buffer.getvalue()


class Axes(Shown, matplotlib.axes.Axes):
    """Axes that show their figure."""


class ShownFigure(Shown, matplotlib.figure.Figure):
    """A figure that is shown where it is the value of a cell."""

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add axes that show their figure."""
        if not args or not isinstance(args[0], matplotlib.axes.Axes):
            kwargs.setdefault("axes_class", Axes)
        return super().add_subplot(*args, **kwargs)


class AxesArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of axes of one figure, which is shown where the array is the value of a cell."""

    def _repr_png_(self) -> bytes | None:
        return self.flat[0]._repr_png_() if self.size else None


def axes_array(axes: object) -> AnyArray:
    """Return an array of axes that shows their figure, unless that is one of the caller's."""
    array = np.asarray(axes, dtype=object)
    return array.view(AxesArray) if array.size and isinstance(array.flat[0], Axes) else array
