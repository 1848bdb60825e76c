"""The file of a calibration map: what `to_json` gives, and what it was fitted on.

`caltest.calibrators.Calibrator.from_json` reads it too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import __version__
from caltest.cli.inputs import STREAM
from caltest.errors import InvalidInput, invalid, shown
from caltest.results.printable import plain
from caltest.validation import check_schema, check_version
from caltest.validation.schemas import parse_json

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator

SCHEMA = "caltest/calibration-map/1"


@dataclass(frozen=True, slots=True)
class Map:
    """A fitted calibrator, and the columns that it was fitted on.

    Attributes
    ----------
    calibrator : Calibrator
        Fitted.
    columns : list of str or None
        Names of the columns of the probabilities; None where the file does not say.
    """

    calibrator: Calibrator
    columns: list[str] | None

    @property
    def classes(self) -> list[str]:
        """Names of the classes as text."""
        return [str(name) for name in self.calibrator.classes_.tolist()]


def to_json(calibrator: Calibrator, data: dict[str, Any]) -> str:
    """Return the text of the file.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted.
    data : dict
        What it was fitted on: source, n, label, columns, sha256.

    Returns
    -------
    str
        JSON that depends on the data, the options and the version only.
    """
    saved = calibrator.to_dict()
    values = {
        "schema": SCHEMA,
        "caltest": __version__,
        "title": calibrator.title,
        "classes": plain(np.asarray(calibrator.classes_)),
        "from_logits": bool(calibrator.from_logits),
        "data": data,
        **saved,
    }
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read(path: Path) -> Map:
    """Read the file of a map, or what `to_json` of a calibrator wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    Map
        The calibrator with the names of its columns.

    Raises
    ------
    InvalidInput
        If the file is none of these, was written by a later version, or is damaged.
    """
    from caltest.calibrators import Calibrator

    name = path.name
    if path == STREAM or not path.is_file():
        got = f"{str(path)!r}"
        raise invalid("MAP must name a file", got, "fit one with caltest calibrate fit")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise _corrupt(name, error) from error
    values = _object(text, f"MAP {name!r}")
    # What to_json of a calibrator wrote names no schema: it has no data.
    check = check_schema if "schema" in values else check_version
    values = check(values, SCHEMA, f"MAP {name!r}")
    if "calibrator" not in values or not values.get("state"):
        got = f"{name!r} without a fitted calibrator"
        remedy = "fit one with caltest calibrate fit"
        raise invalid("MAP must be a calibration map", got, remedy)
    try:
        calibrator = Calibrator.from_dict(values)
        columns = _columns(values, calibrator)
    except InvalidInput:
        raise
    except Exception as error:  # values of any type may stand where others belong
        raise _corrupt(name, error) from error
    return Map(calibrator, columns)


def _columns(values: dict[str, Any], calibrator: Calibrator) -> list[str] | None:
    data = values.get("data")
    columns: Sequence[str] | None = data.get("columns") if isinstance(data, dict) else None
    if columns is None:
        columns = getattr(calibrator, "feature_names_in_", None)
    if columns is None:
        return None
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"columns must be names, not {shown(columns)}")
    return list(columns)


def _object(text: str, name: str) -> dict[str, Any]:
    """Parse the text of a JSON file that holds one object."""
    remedy = "pass what caltest wrote"
    values = parse_json(text, f"{name} must be JSON", remedy)
    if not isinstance(values, dict):
        raise invalid(f"{name} must be a JSON object", f"a {type(values).__name__}", remedy)
    return values


def _corrupt(name: str, error: Exception) -> InvalidInput:
    """Word the error for a calibration map whose values do not fit together."""
    got = f"{name!r}, in which {type(error).__name__}: {error}"
    remedy = "fit it again with caltest calibrate fit"
    return invalid("MAP must be a complete calibration map", got, remedy)
