"""The directives `report`, a page of `ct.report` in a frame, and `remarks` on such pages.

In the text of remarks, `{{ NAME.pvalue }}` is replaced by what it gives. NAME is that of a report,
on whatever page it is, and stands for its verdict.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pictures import NAMES, value_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from caltest.reporting import Report
from caltest.results import Verdict

PLACE = re.compile(r"\{\{ (.*?) \}\}", re.DOTALL)
REMARKS = "remarks"


def setup(app: Sphinx) -> dict[str, object]:
    """Add the directives, and what fills in numbers when all pages are read."""
    app.add_directive("report", ReportFrame)
    app.add_directive("remarks", Remarks)
    app.connect("env-merge-info", merge)
    app.connect("doctree-resolved", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}


def verdicts(env: BuildEnvironment) -> dict[str, Verdict]:
    """Return the verdict of each report by its name."""
    kept: dict[str, Verdict] = env.__dict__.setdefault("caltest_verdicts", {})
    return kept


def merge(_: Sphinx, env: BuildEnvironment, __: Iterable[str], other: BuildEnvironment) -> None:
    """Take the verdicts of pages that another process has read."""
    verdicts(env).update(verdicts(other))


def percent(share: float) -> str:
    """Format a share in per cent, or a gap in points, to one decimal."""
    return f"{100 * share:.1f}"


def fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace each place in remarks by its value; one that fails stops the build."""
    names = {"percent": percent, "abs": abs, **verdicts(app.env)}
    for box in doctree.findall(nodes.container):
        if app.config.caltest_docs_fast or REMARKS not in box["classes"]:
            continue
        for text in list(box.findall(nodes.Text)):
            try:
                filled = PLACE.sub(lambda found: str(eval(found[1], names)), text)  # noqa: S307
            except Exception as error:
                raise ExtensionError(f"remarks of {docname}: {text}: {error}") from error
            text.parent.replace(text, nodes.Text(filled))


class Remarks(SphinxDirective):
    """Remarks on a report, beside or below it, with numbers from its verdict."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the parsed text in a box."""
        box = nodes.container(classes=[REMARKS])
        box += self.parse_content_to_nodes()
        return [box]


class ReportFrame(SphinxDirective):
    """Runs its content, whose last expression is a report, and shows that in a frame.

    It has the names of the pictures above it. A warning fails the build, as an error does. Remarks
    call it by the name of its page.
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
        verdicts(self.env)[page.name] = report.verdict()
        file = Path(self.env.app.outdir) / page.parent / f"{page.name}-report.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        report.save(file)
        title = escape(self.options["title"])
        frame = f'<iframe class="report" title="{title}" src="{file.name}" loading="lazy"></iframe>'
        link = f'<p><a href="{file.name}">{title}, on a page of its own</a></p>'
        return [nodes.raw("", frame + link, format="html")]
