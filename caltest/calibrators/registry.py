"""The calibrators by key; a new one is a file and a name in this list."""

from __future__ import annotations

from caltest.calibrators.base import Calibrator
from caltest.calibrators.identity import Identity

REGISTRY: dict[str, type[Calibrator]] = {calibrator.key: calibrator for calibrator in (Identity,)}
