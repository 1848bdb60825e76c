"""The check of the schema that JSON says it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from caltest.errors import InvalidInput, NotApplicable, invalid, shown

Reader = TypeVar("Reader", bound=Callable[..., Any])


def check_schema(
    values: Mapping[str, Any], schema: str, name: str = "values", *, earlier: Sequence[str] = ()
) -> dict[str, Any]:
    """Check the format that JSON says it is in, if it says one, and return what is left.

    `earlier` are earlier versions that can be read too.
    """
    if not isinstance(values, Mapping):
        raise invalid(f"{name} must be an object of {schema}", shown(values), "pass one")
    found = values.get("schema", schema)
    if isinstance(found, str) and found in {schema, *earlier}:
        return {key: value for key, value in values.items() if key != "schema"}
    kind = schema.rpartition("/")[0]
    remedy = f"pass {schema}"
    if isinstance(found, str) and found.startswith(f"{kind}/"):
        remedy = "use the version of caltest that wrote it, or a later one"
    raise invalid(f"{name} must be of the schema {schema}", shown(found), remedy)


def checks_values(read: Reader) -> Reader:
    """Wrap a `from_dict`, so that values which do not fit together raise InvalidInput."""

    @wraps(read)
    def checked(cls: type, values: object) -> Any:
        try:
            return read(cls, values)
        except (InvalidInput, NotApplicable):
            raise
        except Exception as error:  # values of any type may stand where others belong
            rule = f"values must be those of to_dict of {cls.__name__}"
            got = f"{type(error).__name__}: {error}"
            raise invalid(rule, got, "pass what to_dict or to_json gave") from error

    return cast("Reader", checked)
