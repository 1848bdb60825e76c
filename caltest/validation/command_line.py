"""Checks of what only the command line takes; messages name its options."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from caltest.errors import InvalidInput, invalid, shown
from caltest.validation.labels import listing
from caltest.validation.options import not_a_choice


def check_setting(text: str) -> tuple[str, str]:
    """Split KEY=VALUE; a key may have dots, and hyphens stand for underscores."""
    key, sign, value = text.partition("=")
    key = key.strip().replace("-", "_")
    if not sign or not all(part.isidentifier() for part in key.split(".")):
        rule = "--set must be KEY=VALUE"
        raise invalid(rule, shown(text), "write it as in --set bins=10")
    return key, value.strip()


def check_setting_once(key: str, given: Collection[str]) -> None:
    """Check that an option is not given two values."""
    if key in given:
        raise invalid("--set must give an option one value", f"{key} twice", "leave one out")


def check_known_settings(names: Collection[str], known: Collection[str], chosen: str) -> None:
    """Check that each option is one that what was chosen takes."""
    for name in names:
        if not known:
            rule = f"--set has no meaning for {chosen}, which takes no options"
            raise invalid(rule, shown(name), "leave it out")
        if name not in known:
            raise not_a_choice(name, known, f"--set for {chosen}")


def check_no_parts(name: str, parts: Mapping[str, object]) -> None:
    """Check that an option that is a plain value has no options of its own."""
    for part in parts:
        if part:
            rule = f"{name} has no options of its own"
            raise invalid(rule, shown(f"--set {name}.{part}"), f"write --set {name}=VALUE")


def check_output_file(output: Path, inputs: Sequence[Path] = ()) -> None:
    """Check that a file can be written and is none of those that are read."""
    if output.is_dir() or not output.parent.is_dir():
        rule = "--output must be a file in a folder that exists"
        raise invalid(rule, repr(str(output)), "make the folder, or write elsewhere")
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            rule = "--output must not be a file that is read"
            raise invalid(rule, repr(str(output)), "write elsewhere")


def check_json(text: str, name: str) -> dict[str, Any]:
    """Parse the text of a JSON file that holds one object."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise invalid(f"{name} must be JSON", f"{error}", "pass what caltest wrote") from error
    if not isinstance(values, dict):
        got = f"a {type(values).__name__}"
        raise invalid(f"{name} must be a JSON object", got, "pass what caltest wrote")
    return values


def check_schema(values: Mapping[str, Any], schema: str, name: str = "values") -> dict[str, Any]:
    """Check the format that JSON says it is in, if it says one, and return what is left."""
    found = values.get("schema", schema)
    if found == schema:
        return {key: value for key, value in values.items() if key != "schema"}
    kind = schema.rpartition("/")[0]
    remedy = f"pass {schema}"
    if isinstance(found, str) and found.startswith(f"{kind}/"):
        remedy = "use the version of caltest that wrote it, or a later one"
    raise invalid(f"{name} must be of the schema {schema}", shown(found), remedy)


def check_columns_of_map(missing: Sequence[str], names: Sequence[str]) -> None:
    """Check that the columns that a map was fitted on are there."""
    if missing:
        rule = f"NEW must have the columns of the fit, {listing(list(missing), limit=10)}"
        got = f"the columns {listing(list(names), limit=30)}"
        raise invalid(rule, got, "name its columns by --probs, in the order of the classes")


def check_classes_of_columns(found: Sequence[str], classes: Sequence[str]) -> None:
    """Check that the columns under a prefix are named after the classes of the fit."""
    if sorted(found) != sorted(classes):
        rule = f"columns of --probs must be those of the classes {listing(list(classes), limit=10)}"
        remedy = "join the names of the columns by commas, in the order of the classes"
        raise invalid(rule, listing(list(found), limit=10), remedy)


def check_width_of_map(shape: tuple[int, ...], m: int) -> None:
    """Check that there is a column for each class of the fit, or one of two classes."""
    width = shape[1] if len(shape) == 2 else 1
    if width != m and not (width == 1 and m == 2):
        rule = f"NEW must have a column for each of the {m} classes of the fit"
        remedy = "name the columns by --probs, in the order of the classes"
        raise invalid(rule, f"{width}", remedy)


def check_no_collision(names: Sequence[str], taken: Collection[str]) -> None:
    """Check that new columns do not replace old ones."""
    twice = [name for name in names if name in taken]
    if twice or len(set(names)) < len(names):
        found = twice or [name for name in names if names.count(name) > 1]
        rule = "columns that are added must have new names"
        raise invalid(rule, listing(found[:3]), "choose another --prefix")


def corrupt_map(name: str, error: Exception) -> InvalidInput:
    """Word the error for a calibration map whose values do not fit together."""
    got = f"{name!r}, in which {type(error).__name__}: {error}"
    remedy = "fit it again with caltest calibrate fit"
    return invalid("MAP must be a calibration map that is whole", got, remedy)
