"""Reports as Word, Excel and PDF files: read again by other libraries."""

import io
import shutil
import subprocess
import zipfile

import numpy as np
import pytest
from docx import Document
from python_calamine import CalamineWorkbook

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.reporting import files


@pytest.fixture(scope="module")
def word(page):
    return page.to_format("docx")


def blocks_of(page, kind):
    return [block for one in page.sections for block in one.blocks if getattr(block, kind)]


def tables_of(document):
    return [one for one in document.tables if one.style.name == "Table Grid"]


@pytest.mark.full
def test_word_has_the_sections_tables_and_pictures_of_the_page(page, word):
    """Nothing of the page is missing, and cells hold its texts."""
    document = Document(io.BytesIO(word))
    heads = [one.text for one in document.paragraphs if one.style.name == "Heading 1"]
    assert heads == [section.title for section in page.sections]
    sheets = [block.sheet for block in blocks_of(page, "sheet")]
    assert len(tables_of(document)) == len(sheets)
    table = next(sheet for sheet in sheets if sheet.rows)
    found = tables_of(document)[sheets.index(table)]
    assert [cell.text for cell in found.rows[1].cells][: len(table.header)] == list(table.rows[0])
    pictures = [one._inline.docPr.get("descr") for one in document.inline_shapes]
    told = [block.figure.description for block in blocks_of(page, "figure")]
    assert [text for text in pictures if text in told] == told
    assert document.core_properties.author == "Ann"
    signed = [cell.text for cell in tables_of(document)[-1].rows[0].cells]
    assert signed == ["name", "role", "date", "signature"]


def test_excel_has_a_sheet_of_each_table_with_numbers(page):
    """Numbers are those of the page, with its decimals in the format."""
    book = CalamineWorkbook.from_filelike(io.BytesIO(page.to_format("xlsx")))
    sheets = [block.sheet for block in blocks_of(page, "sheet")]
    assert len(book.sheet_names) == 1 + len(sheets)
    answer = book.get_sheet_by_name("The answer").to_python()
    assert [page.sections[0].blocks[0].text] in answer
    tests = book.get_sheet_by_name("Tests of calibration").to_python()
    place = tests[0].index("p-value")
    row = page.content.answer.tests[0]
    assert tests[1][0] == row.test
    assert tests[1][place] == pytest.approx(row.pvalue, abs=5e-4)


@pytest.mark.full
def test_names_of_users_are_no_code(hostile):
    """Scripts, formulas and characters that XML forbids are texts."""
    hostile = hostile.__class__(
        hostile.content.__class__(
            **{name: getattr(hostile.content, name) for name in hostile.content.__slots__}
            | {"title": "=1+1\x00\ud800", "author": "\x0b" + 300 * "a"}
        ),
        hostile.figures,
    )
    assert Document(io.BytesIO(hostile.to_format("docx"))).paragraphs[0].text == r"=1+1\x00\ud800"
    book = zipfile.ZipFile(io.BytesIO(hostile.to_format("xlsx")))
    assert not any(b"<f>" in book.read(name) for name in book.namelist())


def test_missing_library_is_said_before_anything_is_written(page, tmp_path, monkeypatch):
    """The message says what to install, and the old file stays."""
    monkeypatch.setattr(files, "find_spec", lambda _name: None)
    monkeypatch.setattr(files, "BROWSERS", ())
    for suffix, words in {
        "docx": r"pip install 'caltest\[docx\]'",
        "xlsx": r"pip install 'caltest\[xlsx\]'",
        "pdf": "Chromium, Chrome or Edge, and none is found; install one",
    }.items():
        old = tmp_path / f"report.{suffix}"
        old.write_bytes(b"old")
        with pytest.raises(NotApplicable, match=words):
            page.save(old)
        assert old.read_bytes() == b"old"


def test_unknown_ending_names_the_known_ones(page, tmp_path):
    with pytest.raises(
        InvalidInput, match=r"suffix of path must be one of '\.html', .*'\.xlsx'; got '\.odt'"
    ):
        page.save(tmp_path / "report.odt")
    assert not list(tmp_path.iterdir())


@pytest.mark.full
@pytest.mark.skipif(not any(map(shutil.which, files.BROWSERS)), reason="needs a browser")
def test_browser_prints_a_pdf(page, tmp_path):
    path = page.save(tmp_path / "report.pdf")
    assert path.read_bytes().startswith(b"%PDF")


@pytest.mark.full
@pytest.mark.skipif(
    not (any(map(shutil.which, files.BROWSERS)) and shutil.which("pdftotext")),
    reason="needs a browser and pdftotext",
)
def test_printed_table_has_its_header_on_each_page(tmp_path):
    p = np.linspace(0.2, 0.8, 1600)
    labels, wards = np.random.default_rng(1).random(1600) < p, np.arange(1600) % 80
    made = ct.report(p, labels, by=wards, test="brier", n_resamples=19, rng=1)
    path = made.save(tmp_path / "report.pdf")
    said = subprocess.run(
        [shutil.which("pdftotext"), "-layout", path, "-"], capture_output=True, check=True
    )
    pages = [page for page in said.stdout.decode().split("\f") if "too high | too low" in page]
    assert len(pages) > 1
    assert all("adjusted p" in page for page in pages)
