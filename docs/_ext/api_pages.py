"""Writes docs/api: a page for each module, group of objects and large class, and an index."""

from __future__ import annotations

import importlib
import itertools
import re
from pathlib import Path

from _groups import TITLES, grouped
from _public import Entry, entries, page_of_key
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.logging import getLogger

from caltest import htests

REGISTRIES = {
    "caltest.htests": "tests",
    "caltest.measures": "measures",
    "caltest.lenses": "lenses",
    "caltest.nulls": "nulls",
    "caltest.calibrators": "calibrators",
}
THEORY = {
    "caltest.lenses": "Theory of the :doc:`lenses </tests/lenses>`.",
    "caltest.nulls": "Theory of the :doc:`nulls </tests/nulls>`.",
    "caltest.plots": "A picture of each, with its code, is in the :doc:`gallery </gallery>`.",
}
SMALL_MODULE, SMALL_GROUP = 20, 4  # objects
SMALL_CLASS = 8  # members of its own
PLURALS = {"method": "Methods", "property": "Properties", "attribute": "Attributes"}
logger = getLogger(__name__)

INDEX = """\
API reference
=============

Everything public, by subject. ``import caltest as ct`` is enough: modules are attributes of it, and
load when they are first used. ``caltest.results``, ``caltest.comparison`` and ``caltest.planning``
hold what functions return, and are seldom imported by hand.
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.add_config_value("caltest_docs_fast", default=False, rebuild="env", types=bool)
    app.connect("builder-inited", write_pages)
    app.connect("env-check-consistency", check_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx) -> None:
    """Write what has changed, and remove pages of names that are gone."""
    folder = Path(app.srcdir) / "api"
    pages = {"index": INDEX + toctree([])} if app.config.caltest_docs_fast else all_pages()
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in folder.glob("*.rst"):
        if file.stem not in pages:
            file.unlink()


def check_names(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of a public name that autodoc has left out, which fails a build with -W."""
    documented = env.get_domain("py").objects
    for entry in () if app.config.caltest_docs_fast else entries():
        if entry.path not in documented:
            logger.warning("the public name %s is not documented", entry.path)


def all_pages() -> dict[str, str]:
    """Return the text of each page by its name."""
    found = list(entries())
    documented = {id(entry.value): entry for entry in found}
    order = {module: place for place, module in enumerate(TITLES)}
    found.sort(key=lambda entry: order.get(entry.module, len(order)))
    pages, subjects, modules = {}, "", []
    for module, group in itertools.groupby(found, lambda entry: entry.module):
        parts = parts_of(module, list(group))
        for page, (title, members) in parts.items():
            if page != page_of_module(module):
                pages[page] = heading(title) + "\n".join(described(e, documented) for e in members)
        pages[page_of_module(module)] = module_page(module, parts, documented)
        subjects += "\n" + subject(module, parts)
        modules.append(page_of_module(module))
    return pages | {"index": INDEX + subjects + toctree(modules)}


def parts_of(module: str, found: list[Entry]) -> dict[str, tuple[str, list[Entry]]]:
    """Divide a module: by the page, its title and its objects.

    A large class has a page, and so has a group of a large module; a small module is one page.
    """
    by_name = {entry.name: entry for entry in found}
    parts: dict[str, tuple[str, list[Entry]]] = {}
    for group, names in grouped(module, list(by_name)).items():
        home = page_of_module(module)
        if len(found) > SMALL_MODULE and len(names) > SMALL_GROUP:
            home = f"{module}-{'-'.join(re.findall('[a-z]+', group.lower()))}"
        for entry in (by_name[name] for name in names):
            large = len(entry.own_members) > SMALL_CLASS
            page, title = (entry.path, entry.name) if large else (home, group)
            parts.setdefault(page, (title, []))[1].append(entry)
    return parts


def page_of_module(module: str) -> str:
    """Return the name of the page of a module, which no public object has."""
    return f"{module}.all" if "." not in module else module


def overview(module: str) -> str:
    """Return the first sentence of the docstring of a module."""
    return " ".join((importlib.import_module(module).__doc__ or "").split("\n\n")[0].split())


def subject(module: str, parts: dict[str, tuple[str, list[Entry]]]) -> str:
    """Return the section of a module in the index: its groups, and the names in each."""
    title = TITLES.get(module, module)
    groups = grouped(module, [entry.name for _, found in parts.values() for entry in found])
    rows = [
        (name or title, ", ".join(f":py:obj:`~{module}.{one}`" for one in names))
        for name, names in groups.items()
    ]
    more = f":doc:`{module.removesuffix('.all')} <{page_of_module(module)}>`: {overview(module)}"
    return f"{heading(title, '-')}{more}\n\n{table(rows)}"


def described(entry: Entry, documented: dict[int, Entry]) -> str:
    """Return what autodoc writes of one object, with the members of a class.

    Members that another documented class defines are links to it, with an anchor here too.
    """
    if entry.directive == "null":
        return null_entry(entry)
    text = f".. auto{entry.directive}:: {entry.module}::{entry.name}\n"
    inherited: dict[tuple[str, str], list[str]] = {}
    for member, owner in entry.owners.items():
        kind, home = entry.kind_of(member), documented.get(id(owner))
        if home is None or owner is entry.value:
            text += f"\n   .. auto{kind}:: {entry.module}::{entry.name}.{member}\n"
        else:
            inherited.setdefault((home.path, kind), []).append(member)
    for (base, kind), members in inherited.items():
        anchors = "\n      ".join(members)
        links = ", ".join(f":py:obj:`~{base}.{member}`" for member in members)
        text += f"\n   .. py:{kind}:: {anchors}\n      :no-typesetting:\n      :no-index-entry:\n"
        text += f"      :no-contents-entry:\n\n   {PLURALS[kind]} of `{base}`: {links}.\n"
    return text + elsewhere(entry)


def null_entry(entry: Entry) -> str:
    """Return what is said of a null, which users know by its key."""
    null = entry.value
    run = getattr(null.run, "func", null.run)
    return (
        f".. py:data:: {entry.name}\n   :module: {entry.module}\n\n   {entry.claim}\n\n"
        f'   ``null="{null.key}"`` of :py:obj:`caltest.test_calibration`; '
        f":doc:`theory </tests/nulls>`. It runs:\n\n"
        f"   .. autofunction:: {run.__module__}::{run.__name__}\n      :no-index:\n"
    )


def elsewhere(entry: Entry) -> str:
    """Return links to the pages on tests that belong to an object."""
    tests = [key for key in htests.REGISTRY if page_of_key("tests", key) == entry.path]
    links = ", ".join(f":doc:`{key} </tests/{key}>`" for key in tests)
    return f"\n   Tests with it, and their theory: {links}.\n" if tests else ""


def module_page(
    module: str, parts: dict[str, tuple[str, list[Entry]]], documented: dict[int, Entry]
) -> str:
    """Return the page of a module: its objects in groups, and the keys of its registry."""
    doc = (importlib.import_module(module).__doc__ or "").strip()
    text = heading(TITLES.get(module, module)) + f".. module:: {module}\n\n``{module}``. {doc}\n"
    if module in THEORY:
        text += f"\n{THEORY[module]}\n"
    by_name = {entry.name: entry for _, found in parts.values() for entry in found}
    home = {entry.name: page for page, (_, found) in parts.items() for entry in found}
    for title, names in grouped(module, list(by_name)).items():
        text += "\n" + (heading(title, "-") if title else "")
        text += table([(f":py:obj:`~{by_name[n].path}`", by_name[n].claim) for n in names])
        here = [by_name[n] for n in names if home[n] == page_of_module(module)]
        text += "".join(f"\n{described(entry, documented)}" for entry in here)
    text += keys_table(module)
    pages = {page: title for page, (title, _) in parts.items() if page != page_of_module(module)}
    return text + toctree([f"{title} <{page}>" for page, title in pages.items()])


def keys_table(module: str) -> str:
    """Return the table of the keys of a module's registry and what they stand for."""
    kind = REGISTRIES.get(module)
    if kind is None:
        return ""
    registry = importlib.import_module(module).REGISTRY
    rows = []
    for key in registry:
        target = page_of_key(kind, key)
        page = f":doc:`theory </tests/{key}>`, " if kind == "tests" else ""
        rows.append((f'``"{key}"``', f"{page}:py:obj:`~{target}`"))
    return (
        f"\n{heading('Keys', '-')}``{module}.REGISTRY``, and the names on the command line.\n\n"
        + (table(rows))
    )


def heading(title: str, line: str = "=") -> str:
    """Return a title with its underline."""
    return f"{title}\n{line * max(len(title), 3)}\n\n"


def table(rows: list[tuple[str, str]]) -> str:
    """Return a table of two columns."""
    lines = [".. list-table::", "   :widths: 30 70", "   :class: api-table", ""]
    for first, second in rows:
        lines += [f"   * - {first}", f"     - {second}"]
    return "\n".join(lines) + "\n"


def toctree(pages: list[str]) -> str:
    """Return a hidden table of contents."""
    return "\n" + "\n".join([".. toctree::", "   :hidden:", "", *(f"   {p}" for p in pages)]) + "\n"
