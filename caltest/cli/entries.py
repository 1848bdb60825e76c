"""The entries of the registries: their titles and options, for `list`, completion and errors."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

# What other options of the command line stand for.
OF_THE_COMMAND = ("from_logits", "classes", "random_state", "n_jobs")
KINDS = ("tests", "measures", "nulls", "lenses", "kernels", "calibrators")
KEYS_OF = {"kernel": "kernels", "calibrator": "calibrators"}
DASHES = "----------\n"


def registry(kind: str) -> Mapping[str, Any]:
    """Return the registry of a kind.

    Parameters
    ----------
    kind : str
        One of `KINDS`.

    Returns
    -------
    Mapping
        Key to entry.
    """
    package = "htests" if kind == "tests" else kind
    entries: Mapping[str, Any] = importlib.import_module(f"caltest.{package}").REGISTRY
    return entries


def options_of(kind: str, key: str) -> dict[str, str]:
    """Return what `--set` may give an entry: the names, and what each may be.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    key : str
        A key of its registry; one that is not there has no options.

    Returns
    -------
    dict of str
        "bins" to "int, default 15", as the documentation has it.
    """
    entry = registry(kind).get(key)
    if entry is None or kind in ("nulls", "lenses"):
        return {}
    source = entry.measure if kind == "tests" else entry
    defaults = _defaults(kind, entry, source)
    documented = _documented(source)
    return {name: _shown(name, documented.get(name, ""), value) for name, value in defaults.items()}


def _shown(name: str, documented: str, default: object) -> str:
    """Say what may follow `--set NAME=`, in words of the command line."""
    if name in KEYS_OF:
        return f"a key of `caltest list {KEYS_OF[name]}`"
    text = re.sub(r"(,| or) (callable|splitter or iterable)$", "", documented.partition(", def")[0])
    default = "none" if default is None else str(default)
    return ", ".join(filter(None, (text, f"default {default}")))


def _defaults(kind: str, entry: Any, source: Any) -> dict[str, object]:
    if kind == "calibrators":
        parameters = inspect.signature(source).parameters.values()
        return {p.name: p.default for p in parameters if p.name not in OF_THE_COMMAND}
    named = entry.options if kind == "tests" else [f.name for f in dataclasses.fields(source)]
    defaults = {f.name: f.default for f in dataclasses.fields(source)}
    return {name: defaults[name] for name in named}


def _documented(source: type) -> dict[str, str]:
    """Read the types of parameters off the docstrings of a class, its bases and its function.

    The function of a measure documents what the class only holds.
    """
    from caltest import measures

    function = None
    if issubclass(source, measures.Measure):
        function = getattr(measures, source.function_name(), None)
    found: dict[str, str] = {}
    for one in (*reversed(source.__mro__[:-1]), function):
        section = (inspect.getdoc(one) or "").partition(f"Parameters\n{DASHES}")[2]
        section = re.split(r"\n\w+\n---", section)[0]
        for names, text in re.findall(r"^(\w[\w, ]*) : (.+)$", section, re.MULTILINE):
            found |= dict.fromkeys(names.split(", "), text.removesuffix(", optional"))
    return found
