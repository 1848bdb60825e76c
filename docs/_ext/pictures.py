"""The directive `picture`: code, the picture that it draws, and how to read that."""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib import rc_context
from matplotlib.figure import Figure
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

LARGEST_SVG = 300_000  # bytes; many points are lighter as pixels
NAMES, COUNT = "caltest:names", "caltest:pictures"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Picture(SphinxDirective):
    """Runs its content and shows the figure of its last expression.

    Pictures of a page share their names. A warning of the code fails the build, as an error does.
    """

    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        "alt": directives.unchanged_required,
        "caption": directives.unchanged_required,
        "hide-code": directives.flag,
        "width": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Return the code, unless it is hidden, and the figure."""
        for option in ("alt", "caption"):
            if option not in self.options:
                raise self.error(f"a picture needs :{option}:")
        code = "\n".join(self.content)
        shown: list[nodes.Node] = []
        if "hide-code" not in self.options:
            shown.append(nodes.literal_block(code, code, language="python"))
        if not self.config.caltest_docs_fast:
            shown.append(self.drawn(code))
        return shown

    def drawn(self, code: str) -> nodes.figure:
        """Run the code; return its picture over the caption."""
        names = self.env.temp_data.setdefault(NAMES, {"__name__": "__main__"})
        number = self.env.temp_data[COUNT] = self.env.temp_data.get(COUNT, 0) + 1
        try:
            with warnings.catch_warnings(), rc_context({"svg.hashsalt": "caltest"}):
                warnings.simplefilter("error")
                file = save(figure_of(value_of(code, names)), self.place(number))
        except Exception as error:
            raise self.error(f"the picture's code: {type(error).__name__}: {error}") from error
        page = Path(self.env.doc2path(self.env.docname)).parent
        image = nodes.image(uri=os.path.relpath(file, page), alt=self.options["alt"])
        if "width" in self.options:
            image["width"] = self.options["width"]
        inlines, messages = self.parse_inline(self.options["caption"])
        caption = nodes.caption("", "", *inlines)
        return nodes.figure("", image, caption, *messages, classes=["picture"], align="center")

    def place(self, number: int) -> Path:
        """Return where the picture is kept, without a suffix."""
        folder = Path(self.env.doctreedir) / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{self.env.docname.replace('/', '-')}-{number}"


def value_of(code: str, names: dict[str, object]) -> object:
    """Run the code; return the value of its last line, which is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop()
    if not isinstance(last, ast.Expr):
        raise TypeError("the last line must be an expression, such as ct.plots.witness(result)")
    exec(compile(tree, "picture", "exec"), names)  # noqa: S102 - the pages are ours
    return eval(compile(ast.Expression(last.value), "picture", "eval"), names)  # noqa: S307


def figure_of(value: object) -> Figure:
    """Find the figure of axes, of an array of axes, or of what has a figure."""
    if isinstance(value, Figure):
        return value
    first = np.ravel(np.asarray(value, dtype=object))[0]
    figure = first.figure
    if not isinstance(figure, Figure):
        raise TypeError("the last line must give axes or a figure")
    return figure


def save(figure: Figure, place: Path) -> Path:
    """Write SVG, or PNG where that is smaller by far."""
    file = place.with_suffix(".svg")
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
    if file.stat().st_size > LARGEST_SVG:
        file.unlink()
        file = place.with_suffix(".png")
        figure.savefig(file, bbox_inches="tight", dpi=150)
    return file
