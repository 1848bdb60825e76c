"""What a drawn point says when a pointer rests on it, in pictures that can show it (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

_TIPS: WeakKeyDictionary[Artist, tuple[str, ...]] = WeakKeyDictionary()


def set_tips(artist: Artist, texts: Sequence[str]) -> None:
    """Let each point of a scatter, or an artist as a whole, have a text."""
    _TIPS[artist] = tuple(texts)


def tips_of(figure: Figure) -> list[tuple[Artist, tuple[str, ...]]]:
    """Return the artists of a figure that have texts, with them."""
    found = figure.findobj(lambda artist: artist in _TIPS)
    return [(artist, _TIPS[artist]) for artist in dict.fromkeys(found)]
