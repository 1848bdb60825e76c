"""`caltest list` shows the registries."""

from __future__ import annotations

import pytest

from caltest import htests, lenses, measures, nulls

REGISTRIES = {
    "tests": htests.REGISTRY,
    "measures": measures.REGISTRY,
    "nulls": nulls.REGISTRY,
    "lenses": lenses.REGISTRY,
}


def test_list_shows_every_key_and_title(caltest):
    """All registries are there, each entry with its one line."""
    finished = caltest("list")
    assert (finished.status, finished.err) == (0, "")
    words = " ".join(finished.out.split())
    for registry in REGISTRIES.values():
        for key, entry in registry.items():
            assert f"{key}: {entry.title}" in words


@pytest.mark.parametrize("kind", REGISTRIES)
def test_list_of_one_kind(caltest, kind):
    """A kind by name shows that registry alone."""
    finished = caltest("list", kind)
    assert finished.out.count("\t") == 1
    assert all(f"{key}: " in finished.out for key in REGISTRIES[kind])


def test_list_fits_80_columns(caltest):
    """No line is wider than a terminal."""
    assert max(map(len, caltest("list").out.expandtabs().splitlines())) <= 80
