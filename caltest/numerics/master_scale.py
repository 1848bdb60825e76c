"""Statistics of all grades of a master scale, from their defaults, obligors and PDs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
