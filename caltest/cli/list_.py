"""`caltest list`: what there is to choose from, read off the registries."""

from __future__ import annotations

from typing import Annotated

import typer

from caltest import render
from caltest.cli import completion, options
from caltest.cli.output import choose_format, write_text
from caltest.validation import check_choice

TITLES = {
    "tests": "Tests: --test KEY",
    "measures": "Measures: what a test computes",
    "nulls": "Nulls: --null KEY",
    "lenses": "Lenses: --lens KEY",
    "kernels": "Kernels: --set kernel=KEY",
    "calibrators": "Calibrators: --method KEY",
}
BEFORE_OPTIONS = {"tests": "--set ", "kernels": "--set kernel.", "calibrators": "--set "}


def _complete_key(context: typer.Context, incomplete: str) -> list[str]:
    from caltest.cli.entries import registry

    kind = context.params.get("kind")
    return completion.starting(registry(kind) if kind in TITLES else (), incomplete)


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="tests, measures, nulls, lenses, kernels or calibrators.",
            autocompletion=completion.of_choices(TITLES),
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
    output: options.Output = None,
) -> None:
    """List the tests, measures, nulls, lenses, kernels and calibrators, or the options of one."""
    choose_format(None, output)
    kinds = list(TITLES) if kind is None else [check_choice(kind, TITLES, "KIND")]
    sheets = [_sheet_of_kind(name) for name in kinds] if key is None else [_sheet(kinds[0], key)]
    write_text("".join(render.text(sheet) for sheet in sheets), output=output)


def _sheet_of_kind(kind: str) -> render.Sheet:
    from caltest.cli.entries import registry

    facts = tuple((key, _title(entry)) for key, entry in registry(kind).items())
    return render.Sheet(title=TITLES[kind], facts=facts, listing=True)


def _sheet(kind: str, key: str) -> render.Sheet:
    """Describe one entry: its nulls, if it is a test, and its options."""
    from caltest.cli.entries import options_of, registry

    entries = registry(kind)
    entry = entries[check_choice(key, entries, "KEY")]
    facts = [(kind.removesuffix("s").replace("lense", "lens"), key)]
    if kind == "tests":
        facts.append(("nulls", ", ".join(entry.nulls)))
    before = BEFORE_OPTIONS.get(kind, "")
    facts += [(f"{before}{name}", text) for name, text in options_of(kind, key).items()]
    return render.Sheet(title=_title(entry), facts=tuple(facts), listing=True)


def _title(entry: object) -> str:
    return str(getattr(entry, "title", ""))
