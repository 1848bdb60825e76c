"""`caltest report FILE`: formats, options, the command that the page shows."""

import json
import zipfile

import numpy as np
import polars as pl
import pytest

QUICK = ("--label", "y", "--probs", "p_", "--n-resamples", "19", "--lens", "confidence")
SEEDED = (*QUICK, "--seed", "1")


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "suffix", "start"),
    [("html", "", "<!DOCTYPE html>"), ("md", ".md", "# Are"), ("json", ".json", "{")],
)
def test_format_is_chosen_by_name_or_by_the_suffix_of_the_output(
    caltest, predictions_csv, name, suffix, start
):
    """With --output nothing is left for stdout, and stderr says what was written."""
    finished = caltest("report", predictions_csv, *SEEDED, "--format", name)
    assert (finished.status, finished.err) == (0, "")
    assert finished.out.startswith(start)
    assert finished.out.endswith("\n")
    path = predictions_csv.with_name(f"report{suffix}")
    finished = caltest("report", predictions_csv, *SEEDED, "-o", path)
    assert (finished.status, finished.out) == (0, "")
    assert finished.err.startswith(f"wrote {path}: ")
    assert path.read_text(encoding="utf-8").startswith(start)


@pytest.mark.full
def test_options_reach_the_page(caltest, predictions_csv):
    """Title, author, level, groups and tests are those of the options."""
    named = ("--title", "T", "--author", "A", "--level", "0.1", "--by", "ward", "--test", "ece,ks")
    named += ("--meta", "data period=2024", "--tolerance", "0.2", "--profile", "ml")
    finished = caltest("report", predictions_csv, *SEEDED, *named, "--format", "json")
    page = json.loads(finished.out)
    assert (page["title"], page["author"], page["level"]) == ("T", "A", 0.1)
    assert (page["profile"], page["meta"]) == ("ml", [["data period", "2024"]])
    assert page["within"]["tolerance"] == 0.2
    assert [row["test"] for row in page["answer"]["tests"]["rows"]] == ["ece", "ks"]
    assert [row["group"] for row in page["where"]["groups"]["rows"]] == ["A", "B"]


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_recalibrate_takes_keys(caltest, wrong_csv):
    """Calibrators are compared on the held-out half."""
    more = ("--recalibrate", "platt,isotonic", "--recalibrate", "beta", "--quiet")
    arguments = ("--label", "y", "--probs", "p_", "--n-resamples", "19", "--seed", "1")
    finished = caltest("report", wrong_csv, *arguments, *more, "--test", "ece", "--format", "json")
    rows = json.loads(finished.out)["comparison"]["rows"]
    assert [row["key"] for row in rows] == ["identity", "platt", "isotonic", "beta"]


@pytest.mark.full
def test_command_has_its_seed(caltest, predictions_csv):
    """The page shows the command, with the seed that was drawn where none was given."""
    given = caltest("report", predictions_csv, *SEEDED, "--format", "json")
    told = json.loads(given.out)["reproduction"]
    assert told["command"] == f"caltest report {predictions_csv} {' '.join(SEEDED)} --format json"
    drawn = caltest("report", predictions_csv, *QUICK, "--format", "json")
    told = json.loads(drawn.out)["reproduction"]
    assert told["command"].endswith(f"--format json --seed {told['seed']}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "clinic"), "did you mean 'clinical'?"),
        (("--meta", "period"), "--meta must be KEY=VALUE"),
        (("--format", "odt"), "--format must be one of"),
        (("-o", "report.odt"), "must be one of .html, .htm, .md, .json, .pdf, .docx, .xlsx where"),
        (("--recalibrate", "temprature"), "did you mean 'temperature'?"),
        (("--grades", "0.2,0.1"), "PDs between grades must rise inside (0, 1)"),
        (("--grades", "ratings"), "--grades must be one of"),
        (("--grades", "ward,label"), "--grades must be one column, or PDs between grades; got"),
        (("--level", "2"), "level must lie strictly between 0 and 1"),
        (("--test", "skc"), "did you mean 'skce'?"),
    ],
)
def test_bad_option_is_one_line(refused, predictions_csv, arguments, message):
    """A mistake costs one line on stderr and status 2, and no work."""
    assert message in refused("report", predictions_csv, *SEEDED, *arguments)


@pytest.mark.full
def test_word_and_excel_files_are_written(caltest, predictions_csv, tmp_path):
    """The ending of the name chooses the format."""
    for suffix, part in (("docx", "word/document.xml"), ("xlsx", "xl/worksheets/sheet2.xml")):
        path = tmp_path / f"report.{suffix}"
        assert caltest("report", predictions_csv, *SEEDED, "-o", path).status == 0
        assert part in zipfile.ZipFile(path).namelist()


@pytest.mark.full
def test_pattern_stands_for_several_files(caltest, tmp_path):
    """A report is on the rows of all of them."""
    rng = np.random.default_rng(4)
    for part in (0, 1):
        p = rng.random(60)
        table = pl.DataFrame({"y": rng.binomial(1, p), "p": p})
        table.write_parquet(tmp_path / f"part-{part}.parquet")
    arguments = ("--label", "y", "--probs", "p", "--test", "brier", "--n-resamples", "19")
    finished = caltest("report", tmp_path / "part-*.parquet", *arguments, "--format", "json")
    assert json.loads(finished.out)["data"]["n"] == 120
    assert json.loads(finished.out)["data"]["source"] == "part-*.parquet"


@pytest.mark.full
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_rows_of_a_cluster_may_depend(caltest, predictions_csv):
    """--cluster reaches the tests, and cells, which know no rows, refuse it."""
    clustered = ("report", predictions_csv, *SEEDED, "--cluster", "ward", "--test", "ece")
    page = json.loads(caltest(*clustered, "--format", "json").out)
    assert page["answer"]["tests"]["rows"][0]["null"] == "cluster"
    assert "--cluster needs the rows" in caltest(*clustered, "--engine", "cells").err


def test_rows_that_are_near_in_time_may_depend(caltest, refused, tmp_path):
    """--time and --lag make blocks, and cells refuse them."""
    path = tmp_path / "days.csv"
    rows = "".join(f"{day % 3 // 2},0.3{day % 10},{day}\n" for day in range(60))
    path.write_text("y,p,day\n" + rows, encoding="utf-8")
    asked = ("report", path, "--label", "y", "--probs", "p", "--test", "ece", "--n-resamples", "19")
    asked += ("--time", "day", "--lag", "2", "--format", "json")
    page = json.loads(caltest(*asked).out)
    assert page["answer"]["tests"]["rows"][0]["null"] == "cluster"
    assert "--time has no effect in a report on cells" in refused(*asked, "--engine", "cells")


@pytest.mark.full
def test_report_without_output_is_a_file_beside_that_of_the_rows(caltest, refused, predictions_csv):
    """It replaces an earlier report, and what is none only where it is told to."""
    path = predictions_csv.with_name("predictions_report.html")
    for _ in range(2):
        finished = caltest("report", predictions_csv, *SEEDED, "--test", "ece")
        assert (finished.status, finished.out) == (0, "")
        assert finished.err.startswith(f"wrote {path}: ")
    path.write_text("mine")
    assert "got another file; name a file by -o, or pass --force" in refused(
        "report", predictions_csv, *SEEDED, "--test", "ece"
    )
    assert path.read_text() == "mine"
    assert caltest("report", predictions_csv, *SEEDED, "--test", "ece", "--force").status == 0


@pytest.mark.full
def test_design_of_forecasts(caltest, tmp_path):
    """Level and spread are tested along the features that --design names."""
    rng, path = np.random.default_rng(1), tmp_path / "rows.csv"
    age = rng.normal(size=200)
    columns = {"y": np.exp(0.7 * age) * rng.normal(size=200), "mu": np.zeros(200), "age": age}
    pl.DataFrame({**columns, "sd": np.ones(200)}).write_csv(path)
    named = ("--label", "y", "--mean", "mu", "--scale", "sd", "--design", "age")
    own = ("--n-resamples", "19", "--seed", "1", "--format", "markdown", "-o", "-")
    finished = caltest("report", path, *named, *own)
    assert "values of age" in finished.out
    assert "| CRPS |" in finished.out
    assert caltest("report", str(tmp_path / "*.csv"), *named[:6], *own).status == 0
    refused = caltest("report", path, *named[:6], *own, "--engine", "chunks")
    assert "engine has no effect in a report on forecasts" in refused.err


def test_design_of_classes_is_refused_by_its_own_reason(refused, tmp_path):
    """Not by a test of forecasts that nobody asked for."""
    path = tmp_path / "rows.csv"
    path.write_text("p,label,x\n" + "0.2,0,1\n0.7,1,2\n" * 20)
    asked = path, "--label", "label", "--design", "x", "-o", tmp_path / "page.html"
    assert "--design of the default test is of forecasts" in refused("report", *asked)
