"""Writes docs/api: a page for each public object, one of groups for each module, an index."""

from __future__ import annotations

import importlib
import itertools
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
logger = getLogger(__name__)

INDEX = """\
API reference
=============

Everything public. ``import caltest as ct`` is enough: modules are attributes of it, and load when
they are first used. ``caltest.results``, ``caltest.comparison`` and ``caltest.planning`` hold what
functions return, and are seldom imported by hand.
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
    order = {module: place for place, module in enumerate(TITLES)}
    found.sort(key=lambda entry: order.get(entry.module, len(order)))
    modules = {
        module: list(group)
        for module, group in itertools.groupby(found, lambda entry: entry.module)
    }
    pages = {entry.path: object_page(entry) for entry in found}
    pages |= {page_of_module(name): module_page(name, group) for name, group in modules.items()}
    rows = [(f":doc:`{TITLES.get(m, m)} <{page_of_module(m)}>`", overview(m)) for m in modules]
    pages["index"] = INDEX + "\n" + table(rows) + toctree([page_of_module(m) for m in modules])
    return pages


def page_of_module(module: str) -> str:
    """Return the name of the page of a module, which no public object has."""
    return f"{module}.all" if "." not in module else module


def overview(module: str) -> str:
    """Return the module's name and the first sentence of its docstring."""
    doc = (importlib.import_module(module).__doc__ or "").split("\n\n")[0]
    return f"``{module}``: {' '.join(doc.split())}"


def object_page(entry: Entry) -> str:
    """Return the page of one object."""
    title = entry.path.removeprefix("caltest.")
    if entry.directive == "null":
        return null_page(entry)
    text = heading(title) + f".. auto{entry.directive}:: {entry.module}::{entry.name}\n"
    for member in entry.members:
        text += f"\n   .. auto{entry.kind_of(member)}:: {entry.module}::{entry.name}.{member}\n"
    return text + elsewhere(entry)


def null_page(entry: Entry) -> str:
    """Return the page of a null, which users know by its key."""
    null = entry.value
    run = getattr(null.run, "func", null.run)
    return heading(f"nulls.{entry.name}") + (
        f'``null="{null.key}"`` of :py:obj:`caltest.test_calibration`; '
        f":doc:`theory </tests/nulls>`.\n\n.. py:data:: {entry.path}\n\n   {entry.claim}\n\n"
        f".. autofunction:: {run.__module__}::{run.__name__}\n   :no-index:\n"
    )


def elsewhere(entry: Entry) -> str:
    """Return links to the pages on tests, lenses and plots that belong to an object."""
    tests = [key for key in htests.REGISTRY if page_of_key("tests", key) == entry.path]
    if tests:
        links = ", ".join(f":doc:`{key} </tests/{key}>`" for key in tests)
        return f"\nTests with it, and their theory: {links}.\n"
    if entry.module == "caltest.lenses":
        return "\nTheory of the :doc:`lenses </tests/lenses>`.\n"
    if entry.module == "caltest.plots":
        return "\nA picture is in the :doc:`gallery </gallery>`.\n"
    return ""


def module_page(module: str, group: list[Entry]) -> str:
    """Return the page that lists a module's objects in groups, and the keys of its registry."""
    doc = (importlib.import_module(module).__doc__ or "").strip()
    by_name = {entry.name: entry for entry in group}
    groups = grouped(module, list(by_name))
    text = heading(TITLES.get(module, module)) + f".. module:: {module}\n\n``{module}``. {doc}\n"
    for title, names in groups.items():
        text += "\n" + (heading(title, "-") if title else "")
        text += table([(f":py:obj:`~{by_name[n].path}`", by_name[n].claim) for n in names])
    text += keys_table(module)
    order = itertools.chain.from_iterable(groups.values())
    return text + toctree([f"{name} <{by_name[name].path}>" for name in order])


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
