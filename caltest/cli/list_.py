"""`caltest list`, read off the registries, and `caltest schema`: JSON that caltest writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from caltest import render
from caltest.checks import check_choice, load_schema
from caltest.checks.schemas import FOLDER, URN
from caltest.cli import completion
from caltest.cli.options import grouped
from caltest.cli.output import choose_format, write_text

TITLES = {
    "tests": "Tests: --test KEY",
    "measures": "Measures: what a test computes",
    "nulls": "Nulls: --null KEY",
    "lenses": "Lenses: --lens KEY",
    "kernels": "Kernels: --set kernel=KEY",
    "calibrators": "Calibrators: --method KEY",
}
SHARED = "common"  # no kind of its own
BEFORE_OPTIONS = {"tests": "--set ", "kernels": "--set kernel.", "calibrators": "--set "}


def _complete_key(context: typer.Context, incomplete: str) -> list[str]:
    kind = context.params.get("kind")
    return completion.starting(completion.registry(kind) if kind in TITLES else (), incomplete)


@grouped
def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="tests, measures, nulls, lenses, kernels or calibrators.",
            autocompletion=completion.of(TITLES),
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="KEY",
            help="One of that kind, to see its options.",
            autocompletion=_complete_key,
        ),
    ] = None,
    *,
    output: Path | None = None,
) -> None:
    """List the tests, measures, nulls, lenses, kernels and calibrators, or the options of one."""
    choose_format(None, output)
    kinds = list(TITLES) if kind is None else [check_choice(kind, TITLES, "KIND")]
    sheets = [_sheet_of_kind(name) for name in kinds] if key is None else [_sheet(kinds[0], key)]
    write_text("".join(render.text(sheet) for sheet in sheets), output=output)


def _sheet_of_kind(kind: str) -> render.Sheet:
    facts = tuple((key, _title(entry)) for key, entry in completion.registry(kind).items())
    return render.Sheet(title=TITLES[kind], facts=facts, listing=True)


def _sheet(kind: str, key: str) -> render.Sheet:
    """Describe one entry: its nulls, if it is a test, and its options."""
    entries = completion.registry(kind)
    entry = entries[check_choice(key, entries, "KEY")]
    facts = [(kind.removesuffix("s").replace("lense", "lens"), key)]
    if kind == "tests":
        facts.append(("nulls", ", ".join(entry.nulls)))
    before = BEFORE_OPTIONS.get(kind, "")
    facts += [(f"{before}{name}", text) for name, text in completion.options_of(kind, key).items()]
    return render.Sheet(title=_title(entry), facts=tuple(facts), listing=True)


def _title(entry: object) -> str:
    return str(getattr(entry, "title", ""))


# ---- schemas -------------------------------------------------------------------------------------


def kinds() -> list[str]:
    """Return the kinds of JSON that have a schema."""
    return [name for name in _files() if name != SHARED]


def _files() -> list[str]:
    return sorted(file.name.removesuffix(".json") for file in FOLDER.iterdir())


def _complete_kind(incomplete: str) -> list[str]:
    return completion.starting(kinds(), incomplete)


@grouped
def schema(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind of JSON; without it the kinds are listed.",
            autocompletion=_complete_kind,
        ),
    ] = None,
    *,
    output: Path | None = None,
) -> None:
    """Print the JSON Schema (draft 2020-12) of a kind of JSON that caltest writes."""
    choose_format(None, output)
    if kind is None:
        facts = tuple((name, str(load_schema(name)["title"])) for name in kinds())
        content = render.text(render.Sheet(title="Schemas of JSON", facts=facts, listing=True))
    else:
        bundle = bundled(check_choice(kind, kinds(), "KIND"))
        content = json.dumps(bundle, indent=2, ensure_ascii=False) + "\n"
    write_text(content, output=output)


def bundled(kind: str) -> dict[str, Any]:
    """Return the schema of a kind with those that it refers to, so that it stands alone.

    Parameters
    ----------
    kind : str
        One of `kinds()`.

    Returns
    -------
    dict
        A JSON Schema; the others are in its "$defs", as section 9.3 of the specification has it.
    """
    found = {kind: load_schema(kind)}
    waiting = [kind]
    while waiting:
        text = json.dumps(found[waiting.pop()])
        for other in _files():
            if f'"$ref": "{URN}{other}:' in text and other not in found:
                found[other] = load_schema(other)
                waiting.append(other)
    whole = found.pop(kind)
    return whole | {"$defs": whole.get("$defs", {}) | found}
