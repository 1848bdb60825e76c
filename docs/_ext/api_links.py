"""Single backticks in docstrings, a link where the name has a page, else code; and the search."""

from __future__ import annotations

from functools import cache

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.search.en import SearchEnglish
from sphinx.util.nodes import make_refnode

OPTIONAL = "caltest:optional"


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the role `api` and what resolves it."""
    app.add_role("api", OptionalRole())
    app.connect("missing-reference", resolve)
    app.add_search_language(Search)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class OptionalRole(XRefRole):
    """A reference to a Python object that may be none."""

    def __init__(self) -> None:
        super().__init__()
        self.refdomain, self.reftype = "py", "obj"

    def create_xref_node(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Mark the reference; only a bare name, or one with call brackets, is looked up."""
        self.refdomain, self.reftype = "py", "obj"
        found, messages = super().create_xref_node()
        for node in found:
            node[OPTIONAL] = True
        return found, messages

    def process_link(
        self,
        env: BuildEnvironment,
        refnode: nodes.Element,
        has_explicit_title: bool,  # noqa: FBT001 - Sphinx calls it
        title: str,
        target: str,
    ) -> tuple[str, str]:
        """Note the module and the class that the docstring belongs to."""
        refnode["py:module"] = env.ref_context.get("py:module")
        refnode["py:class"] = env.ref_context.get("py:class")
        name, bracket, _ = target.partition("(")
        return title, name if bracket else target


class Search(SearchEnglish):
    """The index of words, in which each word is reduced to its stem once."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self.stem = cache(super().stem)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.Element
) -> nodes.Element | None:
    """Link to the only public object of that name; show the name where there is none."""
    if not node.get(OPTIONAL):
        return None
    objects = env.get_domain("py").objects
    target = node["reftarget"].replace("ct.", "caltest.", 1)
    found = [name for name in objects if name == target or name.endswith(f".{target}")]
    public = [name for name in found if not objects[name].aliased]
    if len(public) != 1:
        return nodes.literal(contnode.astext(), contnode.astext())
    entry = objects[public[0]]
    return make_refnode(
        app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, public[0]
    )
