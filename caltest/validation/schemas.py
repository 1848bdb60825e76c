"""The check of the schema that JSON says it is in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caltest.errors import invalid, shown


def check_schema(
    values: Mapping[str, Any], schema: str, name: str = "values", *, earlier: str | None = None
) -> dict[str, Any]:
    """Check the format that JSON says it is in, if it says one, and return what is left.

    `earlier` is an earlier version that can be read too.
    """
    found = values.get("schema", schema)
    if found in {schema, earlier}:
        return {key: value for key, value in values.items() if key != "schema"}
    kind = schema.rpartition("/")[0]
    remedy = f"pass {schema}"
    if isinstance(found, str) and found.startswith(f"{kind}/"):
        remedy = "use the version of caltest that wrote it, or a later one"
    raise invalid(f"{name} must be of the schema {schema}", shown(found), remedy)
