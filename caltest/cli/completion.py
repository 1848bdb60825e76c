"""What there is to choose: entries of the registries with their options; what TAB offers of it.

A registry takes a second to import, for it brings SciPy or scikit-learn. The keys are therefore
read off the sources; tests/unit/cli/test_completion.py compares them with the registries.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

PACKAGE = Path(__file__).parents[1]
FOLDERS = {"tests": "measures", "nulls": "nulls", "calibrators": "calibrators"}
NULL = re.compile(r'^[A-Z_]+ = (?:base\.)?(?:Null|formula_null)\(\s*"([^"]+)"', re.MULTILINE)
KEY = re.compile(r'^    key(?:, title(?:, symbol)?|: ClassVar\[str\])? = "([^"]+)"', re.MULTILINE)
CLASS = re.compile(r"(\w+)\((\w+)")
TESTS = re.compile(r"^    tests: [^\n]* = (?:None|\{(\}$|.*?^    \}))", re.MULTILINE | re.DOTALL)
TEST = re.compile(r'^        "([^"]+)": \{', re.MULTILINE)
# Of the keys with a blank to be filled in, one that is valid.
LENSES = ("strong", "confidence", "classwise", "top-label", "top-2", "within-top-2", "largest-5")

# What other options of the command line stand for.
OF_THE_COMMAND = ("from_logits", "classes", "random_state", "n_jobs")
KEYS_OF = {"kernel": "kernels", "calibrator": "calibrators"}
DASHES = "----------\n"


def keys(kind: str) -> list[str]:
    """Return the keys of a registry in alphabetical order; of lenses some."""
    if kind == "lenses":
        return [*LENSES]
    texts = [path.read_text(encoding="utf-8") for path in (PACKAGE / FOLDERS[kind]).rglob("*.py")]
    if kind != "tests":
        pattern = NULL if kind == "nulls" else KEY
        return sorted({key for text in texts for key in pattern.findall(text)})
    parts = [part for text in texts for part in text.split("\nclass ")[1:]]
    classes = {head[1]: (head[2], part) for part in parts if (head := CLASS.match(part))}
    found: list[str] = []
    for above, part in classes.values():
        parent, declared = above, TESTS.search(part)
        while declared is None and parent in classes:
            parent, inherited = classes[parent]
            declared = TESTS.search(inherited)
        tests = None if declared is None else declared[1]  # without, it is one test itself
        found += KEY.findall(part) if tests is None else TEST.findall(tests)
    return sorted(found)


def starting(choices: Iterable[str], incomplete: str) -> list[str]:
    """Return the choices that begin with what was typed after its last comma."""
    done, comma, last = incomplete.rpartition(",")
    return [f"{done}{comma}{choice}" for choice in choices if choice.startswith(last)]


def of(offers: str | Iterable[str] | Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Return the completion of words, of keys of a registry, of columns, or of settings."""
    if callable(offers):
        return offers
    if offers in ("columns", "settings"):
        return of_columns if offers == "columns" else of_settings

    def complete(incomplete: str) -> list[str]:
        return starting(keys(offers) if isinstance(offers, str) else offers, incomplete)

    return complete


def of_columns(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the names of the columns of a text file that was typed before."""
    # Before an option without its value, the parser gives up and leaves the arguments in a list.
    words = [context.params.get("file"), *reversed(context.args)]
    headers = [_header(Path(word)) for word in words if word]
    return starting(next(filter(None, headers), ()), incomplete)


def of_settings(context: typer.Context, incomplete: str) -> list[str]:
    """Complete the names of the options of the tests, or of the method, that were typed before."""
    method = context.params.get("method")
    tests = context.params.get("test") or ("combined", "skce")
    chosen = [method] if method else [key for value in tests for key in value.split(",")]
    kind = "calibrators" if "method" in context.params else "tests"
    found = sorted({name for key in chosen for name in options_of(kind, key)})
    return [f"{name}=" for name in found if name.startswith(incomplete)]


def _header(path: Path) -> list[str]:
    """Return the first row of a CSV or TSV file; of anything else nothing."""
    ends = path.name.lower()
    if not ends.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")) or not path.is_file():
        return []
    try:
        opened = gzip.open if ends.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            line = stream.readline()
            separator = max(",;\t|", key=line.count)
            return [name.strip() for name in next(csv.reader([line], delimiter=separator), [])]
    except (OSError, ValueError, csv.Error):
        return []


# ---- entries of the registries -------------------------------------------------------------------


def registry(kind: str) -> Mapping[str, Any]:
    """Return the registry of a kind.

    Parameters
    ----------
    kind : str
        One of `caltest list`.

    Returns
    -------
    Mapping
        Key to entry; of calibrators those of forecasts too.
    """
    package = importlib.import_module(f"caltest.{'htests' if kind == 'tests' else kind}")
    entries: Mapping[str, Any] = package.REGISTRY | getattr(package, "FORECAST_MAPS", {})
    return entries


def options_of(kind: str, key: str) -> dict[str, str]:
    """Return what `--set` may give an entry: the names, and what each may be.

    Parameters
    ----------
    kind : str
        One of `caltest list`.
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
    parameters = inspect.signature(source).parameters
    own = entry.options if kind == "tests" else parameters.keys() - {*OF_THE_COMMAND}
    documented, found = _documented(source), {}
    for name in filter(own.__contains__, parameters):
        default = parameters[name].default
        text = documented.get(name, "").partition(", def")[0]
        text = re.sub(r"(,| or) (callable|splitter or iterable)$", "", text)
        shown = f"default {'none' if default is None else default}"
        found[name] = ", ".join(filter(None, (text, shown)))
        if name in KEYS_OF:
            found[name] = f"a key of `caltest list {KEYS_OF[name]}`"
    return found


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
