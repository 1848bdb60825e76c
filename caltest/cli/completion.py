"""What the shell offers on TAB: keys of the registries and columns of the file.

A registry takes a second to import, for it brings SciPy or scikit-learn. The keys are therefore
read off the sources; tests/unit/cli/test_completion.py compares them with the registries.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import typer

PACKAGE = Path(__file__).parents[1]
FOLDERS = {"tests": "measures", "nulls": "nulls", "calibrators": "calibrators"}
NULL = re.compile(r'^NULL = Null\(\s*"([^"]+)"', re.MULTILINE)
KEY = re.compile(r'^    key: ClassVar\[str\] = "([^"]+)"', re.MULTILINE)
TESTS = re.compile(r"^    tests: .* = \{(\}$|.*?^    \})", re.MULTILINE | re.DOTALL)
TEST = re.compile(r'^        "([^"]+)": \{', re.MULTILINE)
# Of the keys with a blank to be filled in, one that is valid.
LENSES = ("strong", "confidence", "classwise", "top-label", "top-2", "within-top-2", "largest-5")


def keys(kind: str) -> list[str]:
    """Return the keys of a registry in alphabetical order."""
    paths = (PACKAGE / FOLDERS[kind]).rglob("*.py")
    texts = [path.read_text(encoding="utf-8") for path in paths]
    if kind == "tests":
        return sorted(key for text in texts for key in _declared_tests(text))
    return sorted(key for text in texts for key in (NULL if kind == "nulls" else KEY).findall(text))


def _declared_tests(text: str) -> Iterator[str]:
    """Yield the tests that the measures of a file declare; by default a measure is one itself."""
    for measure in text.split("\nclass ")[1:]:
        declared = TESTS.search(measure)
        yield from KEY.findall(measure) if declared is None else TEST.findall(declared[1])


def starting(choices: Iterable[str], incomplete: str) -> list[str]:
    """Return the choices that begin with what was typed after its last comma."""
    done, comma, last = incomplete.rpartition(",")
    return [f"{done}{comma}{choice}" for choice in choices if choice.startswith(last)]


def of_registry(kind: str) -> Callable[[str], list[str]]:
    """Return the completion of keys of a registry."""

    def complete(incomplete: str) -> list[str]:
        return starting(keys(kind), incomplete)

    return complete


def of_choices(choices: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the completion of words that are known beforehand."""

    def complete(incomplete: str) -> list[str]:
        return starting(choices, incomplete)

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
    chosen = [method] if method else _tests(context.params.get("test"))
    found = _options("calibrators" if method or "method" in context.params else "tests", chosen)
    return [f"{name}=" for name in found if name.startswith(incomplete)]


def _tests(values: Sequence[str] | None) -> list[str]:
    return [key for value in values or ("combined", "skce") for key in value.split(",")]


def _options(kind: str, chosen: Sequence[str]) -> list[str]:
    from caltest.cli.entries import options_of

    return sorted({name for key in chosen for name in options_of(kind, key)})


def _header(path: Path) -> list[str]:
    """Return the first row of a CSV or TSV file; of anything else nothing."""
    ends = path.name.lower()
    separator = "\t" if ".tsv" in ends else ","
    if not ends.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")) or not path.is_file():
        return []
    try:
        opened = gzip.open if ends.endswith(".gz") else open
        with opened(path, "rt", encoding="utf-8-sig", newline="") as stream:
            return [name.strip() for name in next(csv.reader(stream, delimiter=separator), [])]
    except (OSError, ValueError, csv.Error):
        return []
