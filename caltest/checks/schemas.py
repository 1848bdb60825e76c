"""The check of JSON against the schemas that are shipped, which `caltest schema` prints."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, wraps
from importlib import resources
from itertools import pairwise
from typing import Any, TypeVar, cast

from caltest.errors import InvalidInput, NotApplicable, invalid, shown

Reader = TypeVar("Reader", bound=Callable[..., Any])
Breaches = Iterator[tuple[str, str, object]]  # where, which rule, the value

FOLDER = resources.files("caltest") / "schemas"
URN = "urn:caltest:"
LARGEST = sys.float_info.max
REMEDY = "pass what to_dict or to_json gave"


@cache
def load_schema(kind: str) -> dict[str, Any]:
    """Return the schema of a kind as it stands in its file."""
    values: dict[str, Any] = json.loads((FOLDER / f"{kind}.json").read_text(encoding="utf-8"))
    return values


def parse_json(text: str | bytes, rule: str, remedy: str) -> Any:
    """Return what JSON holds, of which a rule says what it must be."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError, TypeError) as error:
        raise invalid(rule, f"{type(error).__name__}: {error}", remedy) from error


def check_schema(values: Mapping[str, Any], schema: str, name: str = "values") -> dict[str, Any]:
    """Check JSON against its schema, and the name that it gives, if any; return what is left."""
    checked = check_version(values, schema, name)
    check_part(checked | {"schema": schema}, schema.split("/")[1], name=name)
    return checked


def check_version(
    values: Mapping[str, Any], schema: str, name: str = "values", *, earlier: Iterable[str] = ()
) -> dict[str, Any]:
    """Check the name of the schema alone, where there is one, and return what is left."""
    if not isinstance(values, Mapping):
        raise invalid(f"{name} must be an object of {schema}", shown(values), "pass one")
    found = values.get("schema", schema)
    if isinstance(found, str) and found in {schema, *earlier}:
        return {key: value for key, value in values.items() if key != "schema"}
    kind = schema.rpartition("/")[0]
    remedy = f"pass {schema}"
    if isinstance(found, str) and found.startswith(f"{kind}/"):
        remedy = "use the version of caltest that wrote it, or compute it again"
    raise invalid(f"{name} must be of the schema {schema}", shown(found), remedy)


def check_part(values: object, kind: str, part: str = "", *, name: str = "values") -> None:
    """Check values against the schema of a kind, or a part of it, and name a rule they break."""
    rule = {"$ref": f"#/$defs/{part}" if part else "#"}
    try:
        for path, broken, value in _breaches(values, rule, kind, name):
            raise invalid(f"{path} must {broken}", shown(value), REMEDY)
    except RecursionError:
        raise invalid(f"{name} must not be nested so deep", "too many levels", REMEDY) from None


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
            raise invalid(rule, f"{type(error).__name__}: {error}", REMEDY) from error

    return cast("Reader", checked)


# ---- JSON Schema --------------------------------------------------------------------------------
#
# The words of draft 2020-12 that the schemas use, and two of their own, which it allows:
# "x-ascending", of the numbers of an array, and "x-lengths", of the arrays of an object, where a
# letter stands for one number in all of them: {"cuts_": "k", "values_": "k+1", "root_": "M M"}.

_TYPES: dict[str, Callable[[Any], bool]] = {
    "any": lambda _: True,
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: isinstance(value, int) and _TYPES["number"](value),
    "number": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST
    ),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping) and all(isinstance(k, str) for k in value),
}


def _is_of(value: object, kinds: str | list[str]) -> bool:
    return any(_TYPES[one](value) for one in ([kinds] if isinstance(kinds, str) else kinds))


def _is_one_of(value: object, choices: Iterable[object]) -> bool:
    return any(type(value) is type(one) and value == one for one in choices)


# Of each word: the type of the values that it speaks of, the rule in words, and its check.
_RULES: dict[str, tuple[str, str, Callable[[Any, Any], bool]]] = {
    "type": ("any", "be of the type", _is_of),
    "const": ("any", "be", lambda v, one: _is_one_of(v, [one])),
    "enum": ("any", "be one of", _is_one_of),
    "minimum": ("number", "be at least", lambda v, bound: v >= bound),
    "maximum": ("number", "be at most", lambda v, bound: v <= bound),
    "exclusiveMinimum": ("number", "be above", lambda v, bound: v > bound),
    "exclusiveMaximum": ("number", "be below", lambda v, bound: v < bound),
    "minItems": ("array", "have at least the length", lambda v, bound: len(v) >= bound),
    "maxItems": ("array", "have at most the length", lambda v, bound: len(v) <= bound),
    "pattern": ("string", "match", lambda v, pattern: re.search(pattern, v) is not None),
    "x-ascending": ("array", "be sorted:", lambda v, _: all(a <= b for a, b in pairwise(v))),
}


def _breaches(value: Any, rule: Mapping[str, Any], kind: str, path: str) -> Breaches:
    """Yield the rules that a value breaks; "#" stands for the file of the kind."""
    for inner, where in _that_hold_too(value, rule, kind):
        yield from _breaches(value, inner, where, path)
    for word, (speaks_of, words, holds) in _RULES.items():
        if word in rule and _TYPES[speaks_of](value) and not holds(value, rule[word]):
            yield path, f"{words} {rule[word]}", value
    if "anyOf" in rule:
        found = [next(_breaches(value, one, kind, path), None) for one in rule["anyOf"]]
        if all(found):
            yield cast("tuple[str, str, object]", found[0])
    if _TYPES["object"](value) and (missing := set(rule.get("required", ())) - value.keys()):
        yield path, f"have the key {min(missing)!r}", [*value]
    for place, item, inner in _inside(value, rule):
        if inner is False:
            yield path, f"have no key {place[1:]!r}", item
        else:
            yield from _breaches(item, inner, kind, path + place)
    yield from _lengths(value, rule.get("x-lengths", {}), path)


def _inside(value: Any, rule: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield what a value holds, each with its place and its rule, False where it may not be."""
    if _TYPES["object"](value):
        known, others = rule.get("properties", {}), rule.get("additionalProperties", {})
        yield from ((f".{key}", item, known.get(key, others)) for key, item in value.items())
    elif _TYPES["array"](value):
        first, others = rule.get("prefixItems", []), rule.get("items", {})
        places: Iterable[int] = range(min(len(first), len(value)))
        if "items" in rule:
            places = range(len(value))
            if {*map(type, value)} in ({int}, {float}) and all(abs(x) < math.inf for x in value):
                # The ends say whether all numbers keep to the rule.
                places = value.index(min(value)), value.index(max(value))
        yield from ((f"[{k}]", value[k], first[k] if k < len(first) else others) for k in places)


def _that_hold_too(
    value: Any, rule: Mapping[str, Any], kind: str
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield the rules that one refers to, each with the kind of its file."""
    if "$ref" in rule:
        file, _, place = rule["$ref"].partition("#")
        other = file.removeprefix(URN).partition(":")[0] or kind
        target = load_schema(other)
        for key in filter(None, place.split("/")):
            target = target[key]
        yield target, other
    if "if" in rule and next(_breaches(value, rule["if"], kind, ""), None) is None:
        yield rule["then"], kind


def _lengths(value: Any, rule: Mapping[str, str], path: str) -> Breaches:
    found: dict[str, int] = {}
    keys = rule if _TYPES["object"](value) else ()
    for key in [key for key in keys if value.get(key) is not None]:
        array, letters = value[key], rule[key].split()
        if isinstance(array, Mapping):
            shape = array["shape"]
        else:
            shape = [len(array), *({*map(len, array)} if len(letters) > 1 else ())]
        if len(shape) != len(letters):
            yield f"{path}.{key}", f"have the shape {rule[key]}", shape
        for size, letter in zip(shape, letters, strict=False):
            name, _, more = letter.partition("+")
            if found.setdefault(name, size - int(more or 0)) != size - int(more or 0):
                yield f"{path}.{key}", f"have the shape {rule[key]}, {name} = {found[name]}", shape
