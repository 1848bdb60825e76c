"""Types of arrays, one meaning each, and that of what is drawn on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib import axes

    Axes = axes.Axes
else:  # which is loaded where something is drawn
    Axes = Any

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
SmallInts = NDArray[np.int32]
Codes = NDArray[np.int64]  # classes 0..m-1
Labels = NDArray[np.unsignedinteger]  # redrawn classes (B, n), of a small type
Events = NDArray[np.uint8]  # 0 and 1
Order = NDArray[np.intp]  # places, as argsort gives them
Flags = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
AnyArray = NDArray[Any]
