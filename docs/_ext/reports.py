"""The directive `report`: a page of `ct.report`, in a frame on the page that asks for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pictures import NAMES, value_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from caltest.reporting import Report


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("report", ReportFrame)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class ReportFrame(SphinxDirective):
    """Runs its content, whose last expression is a report, and shows that in a frame.

    It has the names of the pictures above it. A warning fails the build, as an error does.
    """

    has_content = True
    option_spec: ClassVar[dict[str, Callable[[str], Any]]] = {
        "title": directives.unchanged_required
    }

    def run(self) -> list[nodes.Node]:
        """Write the report beside the page; return its frame and a link to it."""
        if "title" not in self.options:
            raise self.error("a report needs :title:")
        if self.config.caltest_docs_fast:
            return []
        names = self.env.temp_data.setdefault(NAMES, {"__name__": "__main__"})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            report = value_of("\n".join(self.content), names)
        if not isinstance(report, Report):
            raise self.error("the last line must be ct.report(...)")
        page = Path(self.env.docname)
        file = Path(self.env.app.outdir) / page.parent / f"{page.name}-report.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        report.save(file)
        title = escape(self.options["title"])
        frame = f'<iframe class="report" title="{title}" src="{file.name}" loading="lazy"></iframe>'
        link = f'<p><a href="{file.name}">{title}, on a page of its own</a></p>'
        return [nodes.raw("", frame + link, format="html")]
