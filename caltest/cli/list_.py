"""`caltest list`: what there is to choose from, read off the registries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from caltest import render
from caltest.validation import check_choice

TITLES = {
    "tests": "Tests: --test KEY",
    "measures": "Measures: what a test computes",
    "nulls": "Nulls: --null KEY",
    "lenses": "Lenses: --lens KEY",
}


def list_(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="tests, measures, nulls or lenses.")
    ] = None,
) -> None:
    """List the tests, measures, nulls and lenses."""
    kinds = TITLES if kind is None else [check_choice(kind, TITLES, "KIND")]
    for name in kinds:
        facts = tuple((key, entry.title) for key, entry in _registry(name).items())
        sheet = render.Sheet(title=TITLES[name], facts=facts, listing=True)
        typer.echo(render.text(sheet), nl=False)


def _registry(kind: str) -> Mapping[str, Any]:
    from caltest import htests, lenses, measures, nulls

    registries: dict[str, Mapping[str, Any]] = {
        "tests": htests.REGISTRY,
        "measures": measures.REGISTRY,
        "nulls": nulls.REGISTRY,
        "lenses": lenses.REGISTRY,
    }
    return registries[kind]
