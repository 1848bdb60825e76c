"""A report as a Word document, an Excel workbook or a PDF: walks over its sections."""

from __future__ import annotations

import datetime as dt
import io
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

from caltest.errors import NotApplicable
from caltest.render import Sheet, printable
from caltest.reporting import html, methods
from caltest.reporting.content import Block, Content, Figure, Section

# ---- PDF: the page, as a browser prints it -------------------------------------------------------

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
            "msedge", "microsoft-edge", "microsoft-edge-stable",
            "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
            "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
            r"C:\Program Files\Google\Chrome\Application\chrome.exe",
            r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe")  # fmt: skip
SECONDS = 120  # for a browser to print
LIBRARIES = {"docx": "docx", "xlsx": "xlsxwriter"}  # formats, which are extras, and modules


def check_written(form: str) -> None:
    """Check that what writes a format is installed.

    Parameters
    ----------
    form : str
        "docx", "xlsx" or "pdf"; other formats need nothing.

    Raises
    ------
    NotApplicable
        If it is not.
    """
    module = LIBRARIES.get(form)
    if module and find_spec(module) is None:
        raise NotApplicable(f"a .{form} file needs {module}", f"pip install 'caltest[{form}]'")
    if form == "pdf":
        _browser()


def _browser() -> str:
    for found in filter(None, map(shutil.which, BROWSERS)):
        return found
    rule = "a .pdf file is printed by Chromium, Chrome or Edge, and none is found"
    raise NotApplicable(rule, "install one, or write .html and print it from another browser")


def pdf_file(content: Content, sections: Sequence[Section]) -> bytes:
    """Print the page on A4."""
    page, browser = html.html_page(content, sections, paper="A4"), _browser()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8", errors="backslashreplace")
        options = ["--headless", "--disable-gpu", "--disable-extensions", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update",
                   "--disable-sync", "--no-pdf-header-footer", f"--user-data-dir={folder}/profile",
                   f"--print-to-pdf={target}"]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # root has none, and the page loads nothing
        try:
            subprocess.run(  # noqa: S603 - a browser, on a page of our own
                [browser, *options, source.as_uri()], check=True, capture_output=True,
                timeout=SECONDS, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, "stderr", None) or str(error).encode()).decode(errors="replace")
            rule = f"{Path(browser).name} could not print the page: {why.strip().splitlines()[-1]}"
            raise NotApplicable(rule, "write .html and print it from a browser") from error


# ---- Word ----------------------------------------------------------------------------------------

LONGEST = 255  # letters of a property of a document
TEXT_WIDTH = 482.0  # points between the margins of A4
SHADES = {"green": "D5EFDB", "yellow": "FBECC2", "orange": "FAD9C1", "red": "F6CFCC"}


def docx_file(content: Content, sections: Sequence[Section]) -> bytes:
    """Write a Word document with headings, tables and pictures."""
    from docx import Document
    from docx.shared import Mm, Pt, RGBColor

    document = Document()
    paper = document.sections[0]
    paper.page_width, paper.page_height = Mm(210), Mm(297)
    paper.left_margin = paper.right_margin = paper.top_margin = paper.bottom_margin = Mm(20)
    document.styles["Normal"].font.name = "Calibri"
    document.styles["Normal"].font.size = document.styles["Caption"].font.size = Pt(10)
    document.styles["Normal"].paragraph_format.space_after = Pt(6)
    document.styles["Caption"].font.bold = False
    document.styles["Caption"].font.color.rgb = RGBColor(0x44, 0x44, 0x44)
    about = document.core_properties
    about.title = _legal(content.title)[:LONGEST]
    about.author = _legal(content.author or "")[:LONGEST]
    about.created = about.modified = _time(content)
    about.comments = ""
    document.add_heading(_legal(content.title), 0)
    document.add_paragraph(_legal(html.subtitle(content)), "Subtitle")
    body = True
    for section in sections:
        heading = document.add_heading(_legal(section.title), 1)
        heading.paragraph_format.page_break_before = body and section.is_appendix
        body = not section.is_appendix
        for small, blocks in groupby(section.blocks, _small_figure):
            if not small:
                for block in blocks:
                    _add(document, block)
                continue
            figures: list[Any] = [block.figure for block in blocks]
            grid = document.add_table(-(-len(figures) // 3), 3)
            cells = (cell for row in grid.rows for cell in row.cells)
            for cell, figure in zip(cells, figures, strict=False):
                _add_figure(cell, cell.paragraphs[0], figure, TEXT_WIDTH / 3 - 12)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _add(document: Any, block: Block) -> None:
    """Add a block to a Word document."""
    from docx.shared import Pt

    if block.figure is not None:
        _add_figure(document, document.add_paragraph(), block.figure)
    elif block.sheet is not None:
        _add_table(document, block, block.sheet)
    elif block.kind == "heading":
        document.add_heading(_legal(block.text), 2)
    elif block.kind == "formula":
        drawn, plain = html.formula_image(block.text), methods.plain_formula(block.text)
        paragraph = document.add_paragraph("" if drawn else _legal(plain))
        if drawn:
            _add_picture(paragraph, *drawn, plain)
    else:
        paragraph = document.add_paragraph()
        if block.kind == "note":
            paragraph.add_run("Note: ").bold = True
        run = paragraph.add_run(_legal(block.text))
        if block.kind == "headline":
            run.bold, run.font.size = True, Pt(13)


def _small_figure(block: Block) -> bool:
    """Whether a block is one of the figures that stand three to a line."""
    return block.figure is not None and block.figure.width < TEXT_WIDTH / 2


def _add_figure(place: Any, paragraph: Any, figure: Figure, widest: float = TEXT_WIDTH) -> None:
    """Add a figure of at most so many points in a paragraph, and its caption below."""
    buffer = io.BytesIO()
    figure.canvas.savefig(buffer, format="png", dpi=200)
    _add_picture(paragraph, buffer, min(0.75 * figure.width, widest), figure.description)
    paragraph.paragraph_format.keep_with_next = True
    place.add_paragraph(_legal(f"{figure.title}. {figure.description}"), "Caption")


def _add_picture(paragraph: Any, image: io.BytesIO, width: float, text: str) -> None:
    """Add a picture of so many points, with words for who does not see it."""
    from docx.shared import Pt

    picture = paragraph.add_run().add_picture(image, width=Pt(min(width, TEXT_WIDTH)))
    picture._inline.docPr.set("descr", _legal(text))  # noqa: SLF001 - python-docx has no name for it


def _add_table(document: Any, block: Block, sheet: Sheet) -> None:
    """Add a table whose header stands on each page, and whose rows are not broken."""
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement, parse_xml
    from docx.oxml.ns import nsdecls
    from docx.shared import Pt

    header, rows, n_text = block.grid
    if sheet.rows and sheet.title:
        caption = document.add_paragraph(_legal(sheet.title), "Caption")
        caption.paragraph_format.keep_with_next = True
    lines = [*([header] if header else []), *rows]
    grid = document.add_table(len(lines), len(lines[0]), "Table Grid")
    longest = [max(map(len, column)) for column in zip(*lines, strict=True)]
    signed = block.kind == "lines"
    widths = [4.7 * (25 if signed else min(36 if header else 72, n)) + 14 for n in longest]
    widths = [width * min(1.0, TEXT_WIDTH / sum(widths)) for width in widths]
    for column, width in zip(grid.columns, widths, strict=True):
        column.width = Pt(width)
    for number, (row, texts) in enumerate(zip(grid.rows, lines, strict=True)):
        heads = number == 0 and bool(header)
        for name in ("w:tblHeader", "w:cantSplit") if heads else ("w:cantSplit",):
            row._tr.get_or_add_trPr().append(OxmlElement(name))  # noqa: SLF001 - as above
        for place, (cell, text) in enumerate(zip(row.cells, texts, strict=True)):
            cell.width = Pt(widths[place])
            paragraph = cell.paragraphs[0]
            run = paragraph.add_run(_legal(text))
            run.font.size, run.bold = Pt(8.5), heads
            paragraph.paragraph_format.space_after = Pt(0)
            paragraph.paragraph_format.keep_with_next = heads
            if place >= n_text and longest[place] < 30:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            if block.lights and place == len(texts) - 1 and text in SHADES:
                fill = f'<w:shd {nsdecls("w")} w:val="clear" w:fill="{SHADES[text]}"/>'
                cell._tc.get_or_add_tcPr().append(parse_xml(fill))  # noqa: SLF001 - as above
        if signed:
            row.height = Pt(30)
    for text in _below(sheet):
        document.add_paragraph(_legal(text)).paragraph_format.space_before = Pt(3)
    document.add_paragraph().paragraph_format.space_after = Pt(0)


def _below(sheet: Sheet) -> list[str]:
    """Return the texts below a table."""
    return [f"{name[:1].upper()}{name[1:]}: {value}" for name, value in sheet.closing]


def _legal(text: str) -> str:
    """Return the text without what XML has no place for: control characters, half surrogates."""
    return "\n".join(map(printable, text.split("\n")))


def _time(content: Content) -> dt.datetime:
    return dt.datetime.fromisoformat(content.reproduction.time).replace(tzinfo=None)


# ---- Excel ---------------------------------------------------------------------------------------

_NUMBER = re.compile(r"([+\u2212-]?)(\d[\d,]*)(?:\.(\d+))?( %)?")
_NOT_IN_A_NAME = re.compile(r"[\[\]:*?/\\']")


def xlsx_file(content: Content, sections: Sequence[Section]) -> bytes:
    """Write a workbook: the answer, then each table on a sheet of its own, numbers as numbers."""
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        names = {"title": _legal(content.title), "author": _legal(content.author or "")}
        book.set_properties({**names, "created": _time(content)})
        bold = book.add_format({"bold": True, "bottom": 1})
        shaped = cache(lambda shape: book.add_format({"num_format": shape}))
        answer = book.add_worksheet("The answer")
        answer.set_column(0, 0, 110, book.add_format({"text_wrap": True, "valign": "top"}))
        answer.write_string(0, 0, _legal(content.title), bold)
        texts = [block.text for one in sections if one.key == "answer" for block in one.blocks]
        for number, text in enumerate([html.subtitle(content), *filter(None, texts)], 1):
            answer.write_string(number, 0, _legal(text))
        taken = {"the answer"}
        blocks = [block for section in sections for block in section.blocks]
        for block, sheet in ((block, block.sheet) for block in blocks if block.sheet):
            header, rows, n_text = block.grid
            page = book.add_worksheet(_sheet_name(sheet.title, taken))
            page.freeze_panes(1, 1) if header else None
            for place, name in enumerate(header):
                page.write_string(0, place, _legal(name), bold)
            first = bool(header)
            for number, row in enumerate(rows, first):
                for place, text in enumerate(row):
                    value, shape = _number(text) if place >= n_text else (None, "")
                    if value is None:
                        page.write_string(number, place, _legal(text))
                    else:
                        page.write_number(number, place, value, shaped(shape))
            page.autofit(400)
            for number, text in enumerate(_below(sheet), first + len(rows) + 1):
                page.write_string(number, 0, _legal(text))
    return buffer.getvalue()


def _sheet_name(title: str, taken: set[str]) -> str:
    """Return a name that Excel takes: 31 characters, without some, once in the book."""
    plain = " ".join(_NOT_IN_A_NAME.sub(" ", _legal(title)).split())[:31].strip() or "Table"
    numbered = (f"{plain[: 30 - len(str(k))].strip()} {k}" for k in count(2))
    name = next(name for name in chain([plain], numbered) if name.lower() not in taken)
    taken.add(name.lower())
    return name


def _number(text: str) -> tuple[float | None, str]:
    """Read a cell as a number, with the format that shows it so; None where it is none.

    Examples
    --------
    >>> _number("1,628"), _number("\u22123.5 %"), _number("< 0.001")
    ((1628.0, '#,##0'), (-0.035, '0.0%'), (None, ''))
    """
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None, ""
    sign, whole, decimals, percent = found.groups()
    plain = text.removesuffix(" %").replace(",", "").replace("\u2212", "-")
    shape = ("#,##0" if "," in whole else "0") + ((decimals and "." + "0" * len(decimals)) or "")
    shape += "%" if percent else ""
    shape = f"+{shape};\u2212{shape};{shape}" if sign == "+" else shape
    return float(plain) / (100 if percent else 1), shape
