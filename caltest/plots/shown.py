"""Figures and axes that show themselves in a notebook.

They are made without pyplot, so that a notebook does not know of them: what is the value of a cell
is drawn once, and what is not, not at all. Axes of the caller's figures are left as they are.
"""

from __future__ import annotations

import io
import warnings
from functools import lru_cache
from typing import Any

import matplotlib.axes
import matplotlib.figure
import numpy as np
from matplotlib import font_manager
from matplotlib.text import Text

from caltest.types import AnyArray

LAST_RESORT = "Last Resort"  # a font of matplotlib that has a box for each letter


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

    def draw(self, renderer: Any) -> None:
        """Draw, with other fonts for letters that the usual one has not, as those of Chinese."""
        missing = complete_fonts(self)
        with warnings.catch_warnings():
            if missing:
                warnings.filterwarnings("ignore", "Glyph .* missing from font")
                rule = f"no font that is installed has {missing}, drawn as boxes"
                warnings.warn(f"{rule}; install one, such as Noto Sans CJK", stacklevel=2)
            super().draw(renderer)


def complete_fonts(figure: matplotlib.figure.Figure) -> str:
    """Give texts a further font for letters that theirs has not; return those that none has."""
    missing: set[str] = set()
    for text in figure.findobj(Text):
        own: Any = text
        families = list(own.get_fontfamily())
        files = (font_manager.findfont(font_manager.FontProperties(family=[f])) for f in families)
        has = set().union(*map(_letters, files))
        left = {c for c in own.get_text() if c.isprintable() and ord(c) not in has}
        if left and (more := _family_with("".join(sorted(left)))):
            own.set_fontfamily([*families, more])
        else:
            missing |= left
    return "".join(sorted(missing))


@lru_cache
def _letters(file: str) -> frozenset[int]:
    return frozenset(font_manager.get_font(file).get_charmap())


@lru_cache
def _family_with(letters: str) -> str:
    """Return a family of fonts that has the letters, "" where none has."""
    wanted = set(map(ord, letters))
    fonts = {font.name: font.fname for font in font_manager.fontManager.ttflist}
    found = (name for name, file in sorted(fonts.items()) if wanted <= _letters(file))
    return next((name for name in found if not name.startswith(LAST_RESORT)), "")


class AxesArray(np.ndarray[Any, np.dtype[Any]]):
    """An array of axes of one figure, which is shown where the array is the value of a cell."""

    def _repr_png_(self) -> bytes | None:
        return self.flat[0]._repr_png_() if self.size else None


def axes_array(axes: object) -> AnyArray:
    """Return an array of axes that shows their figure, unless that is one of the caller's."""
    array = np.asarray(axes, dtype=object)
    return array.view(AxesArray) if array.size and isinstance(array.flat[0], Axes) else array
