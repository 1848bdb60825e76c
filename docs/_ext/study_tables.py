"""The directive `size-and-power KEY`: the rows of one test in the tables of the studies.

The numbers are read from the pages that the studies write, so that no page repeats them by hand.
"""

from __future__ import annotations

from pathlib import Path

from _study_rows import GRADES, RATES, TOLERANCE, section_lines
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("size-and-power", SizeAndPower)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class SizeAndPower(SphinxDirective):
    """The tables of one test; a test without rows is an error of the build."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the parsed tables."""
        source = Path(self.env.srcdir)
        for page in (RATES, GRADES, TOLERANCE):
            self.env.note_dependency(str(source / page))
        try:
            lines = section_lines(self.arguments[0], source)
        except ValueError as error:
            raise self.error(str(error)) from error
        box = nodes.container(classes=["size-and-power"])
        box += self.parse_text_to_nodes("\n".join(lines))
        return [box]
