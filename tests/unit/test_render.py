"""The formatter: cells, layout at 80 columns, escaping. Whole texts are compared in golden/."""

import csv
import io
import json

import pytest

from caltest import render

SCRIPT = "<script>alert('x')</script>"


CELLS = {
    render.pvalue: {0.0: "< 1e-04", 9.9e-5: "< 1e-04", 1e-4: "0.0001", 0.12346: "0.1235", 1.0: "1"},
    render.stars: {0.0: "***", 0.001: "***", 0.0011: "**", 0.01: "**", 0.05: "*", 0.1: ".", 1: ""},
    render.number: {899: "899", 0.02133891: "0.02134", -0.0: "0", "a": "a"},
}


def test_cells_of_pvalues_codes_and_numbers():
    """A small p-value is a bound; counts print in full, floats with four digits.

    The intervals of R's symnum, which are those of the codes, are closed on the right.
    """
    for function, cells in CELLS.items():
        assert {value: function(value) for value in cells} == cells


def test_small_pvalue_prints_as_a_bound(make_test):
    """The least of B resamples as such; a count or a tail with digits as a number."""
    assert "p-value < 1e-04" in str(make_test(pvalue=0.0, n_resamples=None))
    assert "p-value = 0.001 (the least possible with B = 999)" in str(make_test())
    assert "least possible" in str(make_test(pvalue=0.002, alternative="two-sided"))
    assert "least possible" not in str(make_test(pvalue=0.002))
    assert "least possible" not in str(make_test(pvalue=1e-9, n_resamples=None))
    assert "p-value = 3e-06" in str(make_test(pvalue=3e-6, n_resamples=999_999))
    far = make_test(pvalue=3e-9, n_resamples=None, null="saddlepoint")
    assert "p-value = 3e-09" in str(far)
    assert "p-value < 1e-04" in str(make_test(pvalue=3e-9, n_resamples=None, null="asymptotic"))


def test_verdict_prints_only_with_a_level(make_test, make_table):
    """Without a level no word says what to conclude."""
    assert "reject" not in str(make_test()) + str(make_table({}, {}))
    assert str(make_test(level=0.05)).startswith("Not calibrated (p = 0.001, level 0.05).")
    assert "Calibration is not rejected" in str(make_test(level=0.05, pvalue=0.2))
    assert "not rejected" in str(make_table({"pvalue": 0.5}, {}, level=0.05))


def test_settings_begin_a_line_at_each_text(make_test):
    """Numbers and rules stand behind the text that they qualify."""
    parameters = {"estimator": "block", "block size": 2, "kernel": "k", "nu": 1.0, "nu rule": "r"}
    lines = str(make_test(parameters=parameters)).splitlines()
    assert "estimator:  block, block size = 2" in lines
    assert "kernel:  k, nu = 1 (r)" in lines
    assert "parameters:  bins = 15" in str(make_test(parameters={"bins": 15}))


def test_table_shows_what_differs_as_columns(make_table):
    """What all rows share stands above the table or by itself, settings in the summary."""
    rows = ({"lens": "a", "notes": ("shared", "own")}, {"lens": "b", "notes": ("shared",)})
    text = str(make_table(*rows))
    assert "note: shared\n" in text
    assert "note: a: own\n" in text
    rows = ({"group": "A", "n": 5, "data_name": "x"}, {"group": "B", "n": 6, "null": "bootstrap"})
    text = str(make_table(*rows))
    header = next(line for line in text.splitlines() if "p-value" in line)
    assert header.split() == ["data", "group", "null", "n", "SKCE", "p-value", "adjusted"]
    assert "data:  n = 11, m = 10, lens: strong\n" in text
    text = str(make_table({"group": "A"}, {"group": "A", "lens": "confidence"}))
    assert "data:  GaussianNB() (n = 899, m = 10), group: A\n" in text
    text = str(make_table({"group": ""}, {"group": " "}))
    assert {"''", "'"} < {line.partition(" ")[0] for line in text.splitlines()}  # not nothing
    rows = ({}, {"estimate_name": "ECE", "statistic_name": "z", "method": "Another test"})
    text = str(make_table(*rows))
    assert "estimate  statistic  p-value" in text
    assert "\tTests of calibration\n" in text
    rows = ({"parameters": {"bandwidth": 0.5}}, {"parameters": {"bandwidth": 0.25}, "lens": "a"})
    assert "bandwidth" in str(make_table(*rows).summary())
    assert "bandwidth" not in str(make_table(*rows))
    alike = ({"parameters": {"bandwidth": 0.5}}, {"parameters": {"bandwidth": 0.25}})
    assert "bandwidth" in str(make_table(*alike))  # nothing else tells them apart


@pytest.mark.parametrize("summary", [False, True])
def test_text_fits_80_columns(make_test, make_table, summary):
    """Long names are shortened in a table and wrapped elsewhere."""
    long = "a name of fifty characters, or a little more than that"
    rows = ({"lens": f"classwise[{long}]", "data_name": long * 2}, {"notes": (long * 3,)})
    for result in (make_table(*rows, level=0.05), make_test(**rows[0])):
        text = str(result.summary() if summary else result)
        assert max(map(len, text.expandtabs().splitlines())) <= 80


def test_names_of_tests_are_whole_where_the_table_is_wide_anyhow():
    rows = [("calibration-in-the-large", *["1234567"] * 10)]
    text = render.text(render.Sheet(title="", header=("test", *"abcdefghij"), rows=rows, n_text=1))
    assert "calibration-in-the-large  1234567" in text


def test_shortened_names_keep_both_ends(make_table):
    """Names of classes often differ at their ends only."""
    rows = [{"lens": f"classwise[{'x' * 90}{end}]"} for end in "ab"]
    text = str(make_table(*rows))
    assert "...xxx" in text
    assert "xa]" in text
    assert "xb]" in text


def test_wide_characters_stay_aligned(make_table):
    """A wide character takes two columns of a terminal, a combining one none."""
    lines = str(make_table({"lens": "猫"}, {"lens": "ab"}, {"lens": "e\u0301"})).splitlines()
    rows = [line for line in lines if "***" in line or line.endswith("**")]
    starts = [line.index("0.02134") for line in rows if "0.02134" in line]
    assert starts == [5, 6, 7]


def test_html_escapes_names(make_test, make_table):
    """A class named like a script is shown, not run."""
    changes = {"lens": f"classwise[{SCRIPT}]", "data_name": SCRIPT, "notes": (SCRIPT,)}
    changes |= {"group": SCRIPT, "parameters": {SCRIPT: SCRIPT}, "method": SCRIPT}
    test, table = make_test(**changes), make_table(changes, {"lens": SCRIPT})
    for result in (test, table, test.summary(), table.summary()):
        assert "<script" not in result._repr_html_()
        assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;" in result.to_html()


def test_markdown_escapes_names(make_table):
    """Neither markup nor the border of a cell comes from a name."""
    text = make_table({"lens": SCRIPT}, {"lens": "a|b*c*`d`"}, {"lens": "[x](y)"}).to_markdown()
    assert "<script" not in text
    assert r"| a\|b\*c\*\`d\` |" in text
    assert r"| [x]\(y) |" in text


def test_latex_escapes_names(make_table):
    """Special characters print, and a row cannot begin with an argument of the row before."""
    text = make_table({"lens": r"50%_of $x \y"}, {"lens": "[2pt]"}, {"lens": "~^{}<>#&"}).to_latex()
    assert r"50\%\_of \$x \textbackslash{}y" in text
    assert "\n{}[2pt] &" in text
    assert r"\textasciitilde{}\textasciicircum{}\{\}\textless{}\textgreater{}\#\&" in text


def test_control_characters_do_not_reach_the_terminal(make_test, make_table):
    """An escape sequence or a line break in a name is shown as Python writes it."""
    changes = {"lens": "classwise[\x1b[31mred\n]", "data_name": "two\nlines"}
    for result in (make_test(**changes), make_table(changes, {})):
        for text in (str(result), result.to_markdown(), result.to_latex(), result.to_html()):
            assert "\x1b" not in text
            assert r"\n" in text.replace(r"\textbackslash{}", "\\").replace(r"\\", "\\")


def test_csv_quotes_names(make_table):
    """And defuses formulas in those of columns, which are a user's."""
    assert '"a,b"' in make_table({"lens": "a,b"}, {}).to_csv()
    assert render.csv([{"=cmd()": 1, "a": "=b"}]) == "'=cmd(),a\n1,'=b\n"


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1"])
def test_csv_defuses_formulas_in_names(make_table, name):
    """A spreadsheet shows them as text; JSON and frames keep them."""
    table = make_table({"data_name": name}, {})
    rows = list(csv.DictReader(io.StringIO(table.to_csv(), newline="")))
    assert rows[0]["data_name"] == "'" + name
    assert table.to_frame()["data_name"][0] == name
    assert json.loads(table.to_json())["rows"][0]["data_name"] == name


@pytest.mark.parametrize("value", [-0.25, float("-inf"), -3, 1e-300])
def test_csv_leaves_numbers(make_table, value):
    """A minus is no formula before a number."""
    rows = list(csv.DictReader(io.StringIO(make_table({"statistic": value}, {}).to_csv())))
    assert float(rows[0]["statistic"]) == value
