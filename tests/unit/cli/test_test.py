"""`caltest test FILE`: options, formats, exit statuses, bad files."""

import json
import re
from xml.dom import minidom

import numpy as np
import polars as pl
import pytest

import caltest as package

QUICK = ("--label", "y", "--n-resamples", "19", "--seed", "1")


def test_result_is_that_of_python(caltest, predictions_csv):
    predictions = package.Predictions.read(predictions_csv, label="y", probs="p_")
    expected = package.test_calibration(None, predictions, n_resamples=19, rng=1)
    finished = caltest("test", predictions_csv, *QUICK, "--probs", "p_")
    assert finished == (0, str(expected), "")


def test_groups_are_printed_as_in_python(caltest, wards_csv):
    """With the names of their columns, and the values of each where they are crossed."""
    frame = pl.read_csv(wards_csv)
    for by in ("site", "site,ward"):
        columns = by if by == "site" else by.split(",")
        asked = package.test_calibration(
            frame, label="y", probs="risk", by=columns, n_resamples=19, rng=1
        )
        assert f"of {' x '.join(by.split(','))}, " in str(asked)
        printed = caltest("test", wards_csv, *BINARY, "--by", by).out
        assert printed == str(asked).replace("data frame", wards_csv.name)
        assert caltest("test", wards_csv, *BINARY, "--by", by, "--format", "csv").out.startswith(by)
    held = package.Predictions.read(wards_csv, label="y", probs="risk", groups="site")
    found = package.test_calibration(held, by=True, n_resamples=19, rng=1)
    assert found.by == ("site",)
    moved = held.with_groups(held.groups)  # values, of which no column is known
    assert package.test_calibration(moved, by=True, n_resamples=19, rng=1).by == ("group",)


@pytest.mark.full
def test_verdict_takes_groups_and_segments(caltest, wards_csv):
    """All rows, groups and segments beside each other, as in Python."""
    asked = package.verdict(
        wards_csv,
        label="y",
        probs="risk",
        by="site",
        segments=["site", "ward"],
        n_resamples=19,
        rng=1,
    )
    more = ("--by", "site", "--segments", "site,ward")
    printed = json.loads(caltest("verdict", wards_csv, *BINARY, *more, "--format", "json").out)
    expected = json.loads(asked.to_json())
    helps = [dict(one["sentences"]).get("helps") for one in (printed, expected)]
    for one, text in zip((printed, expected), helps, strict=True):
        one["sentences"] = [pair for pair in one["sentences"] if pair[1] != text]
    assert printed == expected
    assert {"groups", "segments"} <= {kind for kind, _ in printed["sentences"]} | {"groups"}


@pytest.mark.parametrize(
    ("suffix", "name", "start"),
    [
        (".txt", "text", "Too few rows to tell (p = "),
        (".json", "json", '{\n  "schema": "caltest/htest/3",\n  "test": "combined"'),
        (".md", "markdown", "Too few rows to tell (p = "),
        (".csv", "csv", "data_name,group,test"),
        (".html", "html", '<div class="caltest">'),
        (".tex", "latex", "\\begin{table}"),
    ],
)
def test_format_is_chosen_by_name_or_by_the_suffix_of_the_output(
    caltest, predictions_csv, suffix, name, start
):
    """With --output nothing is left for stdout."""
    path = predictions_csv.with_name(f"result{suffix}")
    words = ("test", predictions_csv, *QUICK, "--probs", "p_")
    finished = caltest(*words, "--format", name)
    assert finished.out.startswith(start)
    assert finished.out.endswith("\n")
    assert finished.err == ""
    assert caltest(*words, "-o", path) == (0, "", "")
    assert path.read_text() == finished.out


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_rejection_fails_only_on_request(caltest, wrong_csv):
    """--level alone prints the verdict; with --fail it is the exit status."""
    arguments = ("test", wrong_csv, *QUICK, "--probs", "p_", "--level", "0.05")
    assert caltest(*arguments).status == 0
    failed = caltest(*arguments, "--fail")
    assert failed.status == 1
    assert failed.out.startswith("Not calibrated")
    assert failed.err == ""


@pytest.mark.cases(1)
@pytest.mark.parametrize("parts", ["by", "segments"])
def test_verdict_of_parts_begins_with_all_rows_as_in_python(caltest, tmp_path, parts):
    """The same sentences, but for what names a command; a badge has the p-value of the answer."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.1, 0.6, 900)
    frame = pl.DataFrame({"y": (rng.random(900) < p * 0.6).astype(int), "p": p})
    frame = frame.with_columns(g=pl.Series(["a", "b", "c"] * 300))
    frame.write_csv(path := tmp_path / "t.csv")
    words = ("--label", "y", f"--{parts}", "g", "--n-resamples", "99", "--seed", "1")
    words += ("--badge", tmp_path / "b.json")
    printed = json.loads(caltest("verdict", path, *words, "--format", "json").out)["sentences"]
    asked = package.verdict(frame, label="y", **{parts: "g"}, n_resamples=99, rng=1)
    badge = json.loads((tmp_path / "b.json").read_text())["message"]
    assert badge.partition(" (")[2] in asked.headline
    told, said = ({k: v for k, v in one if k != "helps"} for one in (printed, asked.sentences))
    assert told == said
    assert printed[1][1].startswith("P(1) too high: ")
    assert "caltest calibrate fit FILE --method platt --set slope=1" in dict(printed)["helps"]


def test_verdict_on_forecasts_names_the_command_that_helps(caltest, tmp_path):
    """With its options, which --recalibrate of a report does not take."""
    rng = np.random.default_rng(1)
    mean, error = rng.normal(size=300), rng.normal(0.5, 1.4, 300)
    frame = pl.DataFrame({"y": mean + error, "mu": mean, "sd": 1.0})
    frame.write_csv(path := tmp_path / "t.csv")
    words = ("verdict", path, "--label", "y", "--mean", "mu", "--scale", "sd", "--format", "json")
    helps = dict(json.loads(caltest(*words, "--seed", "1").out)["sentences"])["helps"]
    assert "caltest calibrate fit FILE --method variance-scaling --set offset=true, " in helps
    assert "tests what is left" not in helps


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_verdict_says_the_seed_that_was_drawn(caltest, wrong_csv):
    """The sentences have none, and with the seed they come again."""
    words = ("verdict", wrong_csv, "--label", "y", "--probs", "p_", "--n-resamples", "19")
    words += ("--level", "0.2", "--fail")
    first = caltest(*words)
    seed = re.fullmatch(r"caltest: --seed (\d+) repeats this", first.err.strip())[1]
    again = caltest(*words, "--seed", seed)
    assert (again.status, again.out, again.err) == (first.status, first.out, "")


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_rejection_of_a_table_is_by_adjusted_pvalues(caltest, wrong_csv):
    """Two p-values of 1/20 reject at 0.05 by themselves and not after Bonferroni."""
    arguments = ("test", wrong_csv, *QUICK, "--lens", "strong,confidence", "--level", "0.05")
    assert caltest(*arguments, "--fail", "--correction", "none").status == 1
    assert caltest(*arguments, "--fail", "--correction", "bonferroni").status == 0


def test_classes_name_the_columns(caltest, tmp_path):
    """Labels 1 and 2 with columns of other names need --classes."""
    path = tmp_path / "a.csv"
    path.write_text("y,a,b\n1,0.5,0.5\n2,0.5,0.5\n1,0.4,0.6\n2,0.1,0.9\n")
    arguments = ("--probs", "a,b", "--lens", "classwise", "--format", "json")
    finished = caltest("test", path, *QUICK, *arguments, "--classes", "1,2")
    rows = json.loads(finished.out)["rows"]
    assert [row["lens"] for row in rows] == ["classwise[1]", "classwise[2]"]


def test_logits_and_renormalize_are_passed_on(caltest, tmp_path):
    """Scores and rounded probabilities are read only where the user says so."""
    scores, rounded = tmp_path / "scores.csv", tmp_path / "rounded.csv"
    scores.write_text("y,p_a,p_b\n" + "a,2.0,-1.0\nb,-3.0,0.5\n" * 4)
    rounded.write_text("y,p_a,p_b\n" + "a,0.662,0.333\nb,0.332,0.664\n" * 4)
    for path, option in ((scores, "--logits"), (rounded, "--renormalize")):
        refused = caltest("test", path, *QUICK)
        assert (refused.status, refused.err.count("\n")) == (2, 1)
        assert caltest("test", path, *QUICK, option).status == 0


@pytest.mark.parametrize("option", ["--n-resamples", "--resamples"])
def test_resamples_may_be_adaptive(caltest, predictions_csv, option):
    """As in Python; another word is refused."""
    words = ("--label", "y", "--probs", "p_", "--seed", "1", "--test", "brier", "--format", "json")
    finished = caltest("test", predictions_csv, *words, option, "adaptive")
    assert json.loads(finished.out)["pvalue"] > 0
    refused = caltest("test", predictions_csv, *words, option, "many")
    assert (
        "--n-resamples must be an integer of at least 1, or 'adaptive'; got 'many'" in refused.err
    )


def test_rows_may_depend(caltest, tmp_path):
    """--cluster, --time and --lag are those of Python; a mistake names the columns."""
    rows = [f"{0.1 + i % 8 / 10:.1f},{i % 3 % 2},p{i // 5},{i}" for i in range(60)]
    file = tmp_path / "visits.csv"
    file.write_text("\n".join(["prob,y,patient,day", *rows]))
    given = ("--probs", "prob", "--test", "brier", "--format", "json")
    by_patient = json.loads(caltest("test", file, *QUICK, *given, "--cluster", "patient").out)
    by_time = json.loads(caltest("test", file, *QUICK, *given, "--time", "day", "--lag", "1").out)
    assert (by_patient["null"], by_patient["parameters"]["clusters"]) == ("cluster", "12 of 5 rows")
    assert by_time["parameters"]["blocks"] == "12 of about 5 time steps"
    mistaken = caltest("test", file, *QUICK, *given, "--cluster", "patent")
    assert "did you mean 'patient'" in mistaken.err


@pytest.mark.full
def test_features_are_those_of_python(caltest, tmp_path):
    """--design names columns, of forecasts of numbers and of a model that was fitted."""
    rng = np.random.default_rng(1)
    age, p = rng.normal(size=200), rng.random(200)
    frame = pl.DataFrame({"y": np.exp(0.5 * age) * rng.normal(size=200), "age": age, "p": p})
    frame = frame.with_columns(
        mu=0.0, sd=1.0, site=rng.integers(3, size=200), c=rng.random(200) < p
    )
    frame.write_csv(path := tmp_path / "t.csv")
    columns = ("--label", "y", "--mean", "mu", "--scale", "sd")
    rows = package.Forecasts.read(path, label="y", mean="mu", scale="sd")
    how = {"design": frame[["age", "site"]], "n_resamples": 19, "rng": 1}
    expected = package.test_calibration(rows, **how)
    more = ("--design", "age,site", "--n-resamples", "19", "--seed", "1")
    assert caltest("test", path, *columns, *more) == (0, str(expected), "")
    assert "lowest values of age" in " ".join(str(expected).split())
    assert "values of age" in caltest("verdict", path, *columns, *more).out.replace("\n", " ")
    chosen = ("--label", "c", "--probs", "p", "--test", "le-cessie-van-houwelingen")
    found = caltest("test", path, *chosen, *more, "--set", "internal=true", "--format", "json")
    internal = package.measures.le_cessie_van_houwelingen(
        p, frame["c"], internal=True, design=how["design"]
    )
    assert json.loads(found.out)["statistic"] == pytest.approx(internal)
    for wrong, message in (
        (("--design", "ag"), "--design must be one of"),
        (("--design", "y"), "--design must not be the label"),
        (("--design", "age", "--by", "site"), "by has no effect with --design"),
    ):
        assert message in caltest("test", path, *columns, *wrong).err


def test_wrong_feature_is_named_by_its_line(caltest, tmp_path):
    """As a wrong value of each other column is."""
    path = tmp_path / "t.csv"
    path.write_text("y,mu,sd,age\n1,0,1,30\n0,1,1,nan\n2,1,1,40\n", encoding="utf-8")
    columns = {"label": "y", "mean": "mu", "scale": "sd"}
    words = [word for name, column in columns.items() for word in (f"--{name}", column)]
    for command in ("test", "report"):
        assert "got nan at line 3, " in caltest(command, path, *words, "--design", "age").err
    with pytest.raises(package.InvalidInput, match="got nan at line 3, "):
        package.test_calibration(path, **columns, design="age")


# ---- segments -----------------------------------------------------------------------------------


@pytest.fixture
def wards_csv(tmp_path):
    """Write the risks of two hundred patients, too low at site b, to a file."""
    rng = np.random.default_rng(1)
    risk, site = rng.uniform(0.1, 0.4, 200).round(3), np.array(["a", "b"])[np.arange(200) % 2]
    event = (rng.random(200) < risk + 0.5 * (site == "b")).astype(int)
    rows = zip(event, risk, site, rng.integers(0, 3, 200), strict=True)
    path = tmp_path / "wards.csv"
    lines = (f"{y},{p},{s},{ward}\n" for y, p, s, ward in rows)
    path.write_text("y,risk,site,ward\n" + "".join(lines), encoding="utf-8")
    return path


BINARY = (*QUICK, "--probs", "risk")


def test_segments_are_those_of_python(caltest, wards_csv):
    """Columns by name, options of segments by --set, verdict and status by the level."""
    frame = package.Predictions.read(wards_csv, label="y", probs="risk")
    rows = [line.split(",") for line in wards_csv.read_text().splitlines()[1:]]
    columns = {"site": [row[2] for row in rows], "ward": [int(row[3]) for row in rows]}
    expected = package.test_segments(
        frame, segments=columns, depth=1, n_resamples=19, rng=1, level=0.05
    )
    more = ("--segments", "site,ward", "--set", "depth=1", "--level", "0.05", "--fail")
    assert caltest("test", wards_csv, *BINARY, *more) == (1, str(expected), "")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--segments", "sit"), "--segments must be one of"),
        (("--segments", "y"), "--segments must not be the label"),
        (("--segments", "site", "--test", "ece"), "--test has no effect on segments"),
        (("--segments", "site", "--by", "ward"), "by has no effect on segments"),
        (
            ("--segments", "site", "--cluster", "ward"),
            "take rows as independent; got 'ward'; leave out the segments",
        ),
        (("--segments", "site", "--set", "bandwidth=2"), "--set for --segments must be one of"),
    ],
)
def test_what_segments_have_not_is_refused(refused, wards_csv, more, message):
    assert message in refused("test", wards_csv, *BINARY, *more)


@pytest.fixture
def parts(tmp_path):
    """Two files of predictions of an event."""
    rng = np.random.default_rng(4)
    for part in (0, 1):
        p = rng.random(300)
        table = pl.DataFrame({"y": rng.binomial(1, p), "p": p, "day": [part] * 300})
        table.write_parquet(tmp_path / f"part-{part}.parquet")
    return tmp_path / "part-*.parquet"


def test_pattern_stands_for_several_files(caltest, parts):
    """By rows where they are few, as those of one file; by cells where they are asked for."""
    arguments = (*QUICK, "--probs", "p", "--test", "ks", "--format", "json")
    rows = json.loads(caltest("test", parts, *arguments).out)
    cells = json.loads(caltest("test", parts, *arguments, "--engine", "cells").out)
    assert rows["n"] == cells["n"] == 600
    assert rows["data_name"] == cells["data_name"] == "part-*.parquet"
    assert "cells" not in rows["parameters"]
    assert cells["parameters"]["cells"] > 500
    assert rows["statistic"] == pytest.approx(cells["statistic"], abs=1e-4)


def test_several_classes_are_read_by_chunks(caltest, tmp_path):
    rng = np.random.default_rng(1)
    p = rng.dirichlet([1, 1, 1], 200)
    names = {f"p_{k}": p[:, k] for k in range(3)}
    pl.DataFrame({"y": rng.integers(0, 3, 200), **names}).write_parquet(tmp_path / "a.parquet")
    arguments = (*QUICK, "--probs", "p_0,p_1,p_2", "--test", "skce", "--engine", "chunks")
    result = json.loads(caltest("test", tmp_path / "a.parquet", *arguments, "--format", "json").out)
    assert result["parameters"]["features"] == 32


@pytest.mark.full
def test_cells_take_weights(caltest, refused, parts):
    """As rows do; chunks and reports say that they take none."""
    arguments = (*QUICK, "--probs", "p", "--test", "ks", "--weight", "p")
    rows = json.loads(caltest("test", parts, *arguments, "--format", "json").out)
    arguments = (*arguments, "--engine")
    cells = json.loads(caltest("test", parts, *arguments, "cells", "--format", "json").out)
    assert rows["n"] == cells["n"] == 600
    assert rows["statistic"] == pytest.approx(cells["statistic"], abs=1e-4)
    assert "weight has no effect with --engine chunks" in refused(
        "test", parts, *arguments, "chunks"
    )


def test_rows_that_are_wrong_are_left_out(caltest, refused, parts):
    """With a note, where cells are counted."""
    path = parts.parent / "part-1.parquet"
    pl.read_parquet(path).with_columns(p=pl.col("p") + 0.5).write_parquet(path)
    arguments = (*QUICK, "--probs", "p", "--test", "ks", "--engine", "cells")
    broken = refused("test", parts, *arguments)
    assert "rows must have no probability outside [0, 1]; got" in broken
    assert "in part-1.parquet" in broken
    skipped = caltest("test", parts, *arguments, "--on-error", "skip")
    assert skipped.status == 0
    assert "left out: " in skipped.out


def test_output_that_cannot_be_finished_leaves_the_old_one(caltest, parts, tmp_path, monkeypatch):
    target = tmp_path / "result.txt"
    target.write_text("old", encoding="utf-8")

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    finished = caltest("test", parts, *QUICK, "--probs", "p", "--test", "ks", "-o", target)
    assert finished.status == 2
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir() if "result" in path.name] == ["result.txt"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", ("strong evidence against", "red")),
        ("--level 0.05", ("not calibrated", "red")),
        ("--tolerance 0.3 --equivalence --test ks", ("KS below 0.3 not shown", "lightgrey")),
    ],
)
def test_badge_is_the_answer_as_a_picture_and_as_json(caltest, wrong_csv, tmp_path, words, said):
    """The picture has a title, and both say the same."""
    more = words.split() if "--test" in words else [*words.split(), "--test", "brier"]
    for name in ("b.svg", "b.json"):
        finished = caltest("test", wrong_csv, *QUICK[:2], "--badge", tmp_path / name, *more, "-q")
        assert finished.status == 0
    made = json.loads((tmp_path / "b.json").read_text())
    assert made["schemaVersion"] == 1
    assert (made["message"].partition(" (p ")[0], made["color"]) == said
    picture = minidom.parse(str(tmp_path / "b.svg"))  # noqa: S318 - its own
    title = picture.getElementsByTagName("title")[0].firstChild.data
    assert title == f"calibration: {made['message']}"


def test_forecasts_where_they_lie(caltest, tmp_path):
    """A file of forecasts is read batch by batch, as in Python."""
    rng, path = np.random.default_rng(1), tmp_path / "rows.parquet"
    columns = {"mu": rng.normal(size=300), "sd": rng.uniform(0.5, 2.0, 300)}
    pl.DataFrame({"y": columns["mu"] + rng.normal(size=300), **columns}).write_parquet(path)
    own = {"label": "y", "mean": "mu", "scale": "sd", "test": "pit-ks", "engine": "chunks"}
    expected = package.test_calibration(None, str(path), **own, n_resamples=19, rng=1)
    named = ("--mean", "mu", "--scale", "sd", "--test", "pit-ks", "--engine", "chunks")
    assert caltest("test", path, *QUICK, *named) == (0, str(expected), "")
    assert "cells of the PIT" in str(expected)
