"""`caltest schema KIND`: the JSON Schema of what `--format json` writes."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from caltest import render
from caltest.cli import completion, options
from caltest.cli.output import choose_format, write_text
from caltest.validation import check_choice, load_schema
from caltest.validation.schemas import FOLDER, URN

SHARED = "common"  # no kind of its own


def kinds() -> list[str]:
    """Return the kinds of JSON that have a schema."""
    return [name for name in _files() if name != SHARED]


def _files() -> list[str]:
    return sorted(file.name.removesuffix(".json") for file in FOLDER.iterdir())


def _complete(incomplete: str) -> list[str]:
    return completion.starting(kinds(), incomplete)


def schema(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="Kind of JSON; without it the kinds are listed.",
            autocompletion=_complete,
        ),
    ] = None,
    *,
    output: options.Output = None,
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
