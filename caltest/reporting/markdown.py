"""A report as Markdown: the same sections, with the words of the figures in their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from caltest.render import Sheet
from caltest.render.formats import escape_markdown, markdown_table
from caltest.reporting.blocks import Block, Section
from caltest.reporting.content import Content
from caltest.reporting.html import subtitle


def markdown_page(content: Content, sections: Sequence[Section]) -> str:
    """Write the document; every text of the user's is escaped."""
    parts = [f"# {escape_markdown(content.title)}", escape_markdown(subtitle(content))]
    for section in sections:
        parts.append(f"## {section.title}")
        for block in section.blocks:
            parts += _block(block)
    return "\n\n".join(parts) + "\n"


def _block(block: Block) -> Iterator[str]:
    if block.kind == "text":
        yield escape_markdown(block.text)
    elif block.kind == "headline":
        yield f"**{escape_markdown(block.text)}**"
    elif block.kind == "note":
        yield f"> Note: {escape_markdown(block.text)}"
    elif block.kind == "heading":
        yield f"### {escape_markdown(block.text)}"
    elif block.kind == "formula":
        yield f"$$\n{block.text}\n$$"
    elif block.figure is not None:
        words = f"{block.figure.title}. {block.figure.description}"
        yield f"Figure (in the HTML report): {escape_markdown(words)}"
    elif block.sheet is not None:
        yield from _table(block, block.sheet)


def _table(block: Block, sheet: Sheet) -> Iterator[str]:
    """Write a table with its lights, or lines to sign on."""
    if block.kind == "lines":
        for name, _ in sheet.facts:
            yield f"- {escape_markdown(name)}: ____________________ (date, signature)"
    elif block.lights:
        rows = tuple((*row, light) for row, light in zip(sheet.rows, block.lights, strict=True))
        yield from _sheet(replace(sheet, header=(*sheet.header, "light"), rows=rows))
    else:
        yield from _sheet(sheet)


def _sheet(sheet: Sheet) -> Iterator[str]:
    if sheet.facts:
        yield markdown_table(("", ""), sheet.facts, n_text=2)
    if sheet.rows:
        yield f"**{escape_markdown(sheet.title)}**"
        yield markdown_table(sheet.header, sheet.rows, n_text=sheet.n_text)
    if sheet.legend:
        yield escape_markdown(sheet.legend)
    for name, value in sheet.closing:
        yield f"> {escape_markdown(f'{name}: {value}')}"
