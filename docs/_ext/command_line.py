"""The directive `commands`: a section for each command of caltest."""

from __future__ import annotations

from _commands import commands, section
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Commands(SphinxDirective):
    """All commands, in the order of `caltest --help`."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        text = "\n".join(section(name, command) for name, command in commands())
        return self.parse_text_to_nodes(text, allow_section_headings=True)
