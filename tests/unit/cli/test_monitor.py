"""`caltest monitor STATE FILE`: a state that goes on, decisions, and errors that leave it alone."""

import json
import os

import jsonschema
import numpy as np
import pytest

import caltest as package
from caltest.cli.list_ import bundled

ASKED = ("--label", "y", "--probs", "p")


@pytest.fixture
def days(tmp_path):
    """Write a day on which the model is right, and one on which it is far too sure."""
    rng = np.random.default_rng(1)
    files = []
    for day, exponent in enumerate((1.0, 0.3)):
        p = rng.uniform(0.02, 0.98, 400)
        true = 1 / (1 + (1 / p - 1) ** exponent)
        y = (rng.random(400) < true).astype(int)
        ward = np.where(rng.random(400) < 0.5, "north", "south")
        lines = [f"{a},{b},{c}" for a, b, c in zip(y, p.tolist(), ward, strict=True)]
        files.append(tmp_path / f"day{day}.csv")
        files[-1].write_text("\n".join(["y,p,ward", *lines]) + "\n")
    return files


@pytest.fixture
def begun(caltest, days, tmp_path):
    """Return the file of a state that has the first day."""
    assert caltest("monitor", tmp_path / "state.json", days[0], *ASKED).status == 0
    return tmp_path / "state.json"


def test_state_goes_on(caltest, days, tmp_path):
    """Two calls are one monitor that took both files."""
    state = tmp_path / "state.json"
    first = caltest("monitor", state, days[0], *ASKED, "--fail")
    assert first.status == 0
    assert first.out.startswith("No alarm in 400 rows")
    second = caltest("monitor", state, days[1], *ASKED, "--fail")
    assert second.status == 1
    assert second.out.startswith("Alarm after ")
    watch = package.monitor()
    for day in days:
        watch.update(package.Predictions.read(day, label="y", probs="p"))
    assert state.read_text() == watch.to_json(indent=None)
    assert second.out == str(watch.verdict())


@pytest.mark.full
def test_groups_are_fixed_by_the_first_call(caltest, refused, days, tmp_path):
    """Later calls must say the group of each row."""
    state = tmp_path / "state.json"
    caltest("monitor", state, days[0], *ASKED, "--by", "ward", "--level", "0.01")
    kept = state.read_text()
    assert "groups must say the group of each row" in refused(
        "monitor", state, days[1], *ASKED
    ).replace("--by", "groups")
    assert state.read_text() == kept
    found = caltest("monitor", state, days[1], *ASKED, "--by", "ward")
    assert "groups: north" in found.out


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "0.2"), "fixed by the first call"),
        (("--restart",), "--restart is fixed by the first call; got True"),
        (("--memory", "100"), "--memory is fixed by the first call"),
        (("--by", "ward"), "--by has no effect on a monitor whose first call had none"),
    ],
)
def test_what_the_first_call_has_fixed(refused, days, begun, arguments, message):
    """It cannot be changed, and the state stays."""
    kept = begun.read_text()
    assert message in refused("monitor", begun, days[1], *ASKED, *arguments)
    assert begun.read_text() == kept


def test_bad_files_leave_the_state(refused, days, begun, tmp_path):
    """Rows that are no probabilities, a folder that is not there."""
    kept, bad = begun.read_text(), tmp_path / "bad.csv"
    bad.write_text("y,p\n1,0.5\n0,1.5\n")
    refused("monitor", begun, bad, *ASKED)
    refused("monitor", begun, days[1], *ASKED, "--format", "csv")  # a verdict is no table
    assert begun.read_text() == kept
    refused("monitor", tmp_path / "no" / "s.json", days[0], *ASKED)
    files = ["bad.csv", "day0.csv", "day1.csv", "state.json"]
    assert sorted(file.name for file in tmp_path.iterdir()) == files


@pytest.mark.full
def test_plan_gives_the_levels(caltest, refused, days, tmp_path):
    """To the monitor, which detects a change then, and to sample-size; another level is refused."""
    plan, state = tmp_path / "plan.json", tmp_path / "state.json"
    asked = ("--beta", "2,5", "--rows-per-day", "100", "--checks-per-day", "1", "--seed", "1")
    done = caltest("plan-monitoring", *asked, "--temperature", "3", "--n-streams", "2", "-o", plan)
    assert done.status == 0
    levels = json.loads(plan.read_text())
    assert caltest("monitor", state, days[0], *ASKED, "--plan", plan).status == 0
    watch = package.Monitor.from_json(state.read_text())
    assert (watch.restart, watch.level) == (True, levels["monitor_level"])
    assert caltest("monitor", state, days[1], *ASKED, "--plan", plan).status == 0
    assert "--level is fixed" in refused("monitor", state, days[1], *ASKED, "--level", "0.1")
    other = caltest(
        "monitor", tmp_path / "b.json", days[0], *ASKED, "--plan", plan, "--level", "0.1"
    )
    assert other.status == 2
    cox = ("--beta", "2,5", "--temperature", "3", "--test", "cox", "--null", "asymptotic")
    few = ("--n-datasets", "20", "--seed", "1", "--plan", plan)
    found = caltest("sample-size", *cox, *few, "--format", "json")
    assert json.loads(found.out)["power"]["setting"]["level"] == levels["check_level"]
    assert "--level" in refused("sample-size", *cox, *few, "--level", "0.1")


def test_drifts_of_a_plan_are_numbers(caltest):
    """Joined by commas; anything else is one line."""
    asked = ("plan-monitoring", "--beta", "2,5", "--rows-per-day", "100", "--n-streams", "2")
    found = caltest(*asked, "--slope", "0.3,0.5", "--format", "csv", "--seed", "1")
    assert len(found.out.splitlines()) == 3
    assert caltest(*asked, "--slope", "steep").status == 2


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace("monitor/4", "monitor/9"), "use the version of caltest"),
        (lambda text: text[: len(text) // 2], "go on from an earlier state"),
        (lambda text: text[0] + "}", "go on from an earlier state"),
    ],
)
def test_broken_states_stay_as_they_are(refused, days, begun, change, told):
    """Of another version, cut off, empty: one line, and the file is not written."""
    begun.write_text(change(begun.read_text()))
    kept = begun.read_text()
    assert told in refused("monitor", begun, days[1], *ASKED)
    assert begun.read_text() == kept


@pytest.mark.parametrize("outcomes", ["no,no", "yes,yes"])
def test_a_day_on_which_one_class_happens(caltest, refused, tmp_path, outcomes):
    """The state knows the others; a label that is none of them is refused."""
    state, file = tmp_path / "state.json", tmp_path / "day.csv"
    asked = ("monitor", state, file, "--label", "y", "--probs", "p")
    file.write_text("y,p\nno,0.2\nyes,0.7\n")
    assert caltest(*asked).status == 0
    first, second = outcomes.split(",")
    file.write_text(f"y,p\n{first},0.3\n{second},0.6\n")
    assert caltest(*asked).status == 0
    whole = package.monitor(classes=["no", "yes"])
    whole.update([0.2, 0.7, 0.3, 0.6], ["no", "yes", first, second])
    assert package.Monitor.from_json(state.read_text()).to_json() == whole.to_json()
    file.write_text("y,p\nnein,0.3\n")
    assert "nein" in refused(*asked)


def test_impossible_outcome_names_its_row(caltest, begun, tmp_path):
    file = tmp_path / "sure.csv"
    file.write_text("y,p\n0,0.5\n1,0.5\n0,1.0\n")
    found = caltest("monitor", begun, file, *ASKED, "--fail")
    assert found.status == 1
    assert "row 402, counted from 0, had probability 0" in " ".join(found.out.split())


@pytest.mark.full
def test_a_file_that_was_counted_is_refused(caltest, refused, days, tmp_path):
    """Copied under another name too; --again counts it, and so does another --batch-id."""
    state, copy = tmp_path / "state.json", tmp_path / "copy.csv"
    caltest("monitor", state, days[0], *ASKED)
    kept = state.read_text()
    lines = days[0].read_text().splitlines()
    copy.write_text("\n".join([lines[0], *reversed(lines[1:])]))
    found = refused("monitor", state, copy, *ASKED)
    assert "the same rows, counted as rows 1 to 400; pass other rows, with --batch-id" in found
    assert "or --again" in found
    assert state.read_text() == kept
    assert caltest("monitor", state, copy, *ASKED, "--again").status == 0
    assert caltest("monitor", state, days[1], *ASKED, "--batch-id", "2026-01-05").status == 0
    assert "got batch '2026-01-05', counted as rows 801 to 1,200" in refused(
        "monitor", state, days[1], *ASKED, "--batch-id", "2026-01-05"
    )


def test_an_output_that_cannot_be_written_leaves_the_state(caltest, days, begun, monkeypatch):
    """A full disk: the retry counts the rows once. A reader who has gone does not lose them."""
    kept = begun.read_text()
    monkeypatch.setattr("caltest.cli.output.typer.echo", raiser(OSError(28, "No space left")))
    assert caltest("monitor", begun, days[1], *ASKED).status == 2
    assert begun.read_text() == kept
    monkeypatch.setattr("caltest.cli.output.typer.echo", raiser(BrokenPipeError()))
    monkeypatch.setattr("caltest.cli.app.close_output", lambda: 141)
    assert caltest("monitor", begun, days[1], *ASKED).status == 141
    assert package.Monitor.from_json(begun.read_text()).n == 800


def raiser(error):
    """Return a function that raises an error where it is to write to standard output."""

    def echo(_content, *, nl=True, err=False):
        if not err:
            raise error

    return echo


@pytest.mark.full
def test_the_state_is_a_plain_file_and_not_the_output(refused, days, tmp_path):
    """No pipe, nor what - stands for; also where it is not there yet, or a link leads to it."""
    for state in ("-", os.devnull):
        assert "STATE must be a plain file" in refused("monitor", state, days[0], *ASKED)
    state, link = tmp_path / "state.json", tmp_path / "link.json"
    link.symlink_to("state.json")
    for output in (state, link):
        assert "--output must not be STATE" in refused(
            "monitor", state, days[0], *ASKED, "-o", output
        )
    assert not state.exists()


@pytest.mark.full
def test_outcomes_come_later_in_a_file_of_their_own(caltest, refused, tmp_path):
    """The state is that of rows that came with their outcomes; the order of predictions is kept."""
    state, file = tmp_path / "state.json", tmp_path / "day.csv"
    probs, y = np.random.default_rng(1).uniform(0.1, 0.9, 60), np.arange(60) % 2
    asked = ("monitor", state, file, "--ids", "id")
    file.write_text("id,p\n" + "".join(f"r{i},{p!r}\n" for i, p in enumerate(probs.tolist())))
    first = caltest(*asked, "--probs", "p")
    assert (first.status, first.out.splitlines()[0]) == (0, "No rows yet, 60 rows wait.")
    assert caltest(*asked, "--probs", "p").status == 2
    told = np.random.default_rng(2).permutation(60)
    for part in (told[:50], told[50:]):
        file.write_text("id,y\n" + "".join(f"r{i},{y[i]}\n" for i in part))
        assert caltest(*asked, "--label", "y").status == 0
        again = refused(*asked, "--label", "y")
        assert "--ids must be of rows that wait" in again or "outcomes need" in again
    found = package.Monitor.from_json(state.read_text())
    assert (found.n, found.n_waiting) == (60, 0)
    assert found.log_evalue == package.monitor().update(probs, y).log_evalue


@pytest.mark.full
def test_rows_that_wait_have_classes_and_groups(caltest, refused, tmp_path):
    """Classes are named by the columns, or by --classes; groups by --by."""
    state, file = tmp_path / "commas.json", tmp_path / "day.csv"
    file.write_text('id,"p_no, never",p_yes\n7,0.25,0.75\n')
    assert caltest("monitor", state, file, "--ids", "id", "--probs", "p_").status == 0
    assert package.Monitor.from_json(state.read_text()).classes == ("no, never", "yes")
    state = tmp_path / "state.json"
    asked = ("monitor", state, file, "--ids", "id")
    file.write_text("id,ward,p_cat,p_dog\n7,n,0.25,0.75\n8,s,0.625,0.375\n")
    assert caltest(*asked, "--probs", "p_", "--by", "ward").status == 0
    file.write_text("id,ward,p_dog,p_cat\n9,n,0.25,0.75\n")
    assert "classes must be those of the rows before" in refused(
        *asked, "--probs", "p_", "--by", "ward"
    )
    file.write_text("id,what\n7,dog\n8,bird\n")
    assert caltest(*asked, "--label", "what").status == 2
    file.write_text("id,what\n7,dog\n")
    found = caltest(*asked, "--label", "what", "--format", "json")
    told = json.loads(found.out)
    assert (told["n"], told["size"]["name"]) == (1, "dog")
    assert ["note", "1 row waits for its outcome."] in told["sentences"]


@pytest.mark.parametrize(
    ("content", "arguments", "told"),
    [
        ("y,p\n1,0.5\n", ("--probs", "p"), "--label must name the column of the labels, without"),
        ("id,y\na,1\n", ("--ids", "id", "--label", "y"), "outcomes need rows that wait"),
        ("id,p\na,0.5\na,0.5\n", ("--ids", "id", "--probs", "p"), "--ids must be different"),
        ("id,p\na,0.5\n,0.5\n", ("--ids", "id", "--probs", "p"), "--ids must not be missing"),
        ("id,p\n1,0.5\n,0.5\n", ("--ids", "id", "--probs", "p"), "--ids must not be missing"),
        ("id,p\n1,0.5\n", ("--ids", "no", "--probs", "p"), "--ids must be one of"),
        ("id,p\n1,1.5\n", ("--ids", "id", "--probs", "p"), "probs must lie in"),
        (
            "y,p\n1,0.5\n,0.5\n",
            ASKED,
            "at line 3; if it is not known yet, pass all rows with --ids",
        ),
        ("y,p\n1,0.5\n", (*ASKED, "--batch-id", ""), "--batch-id must be a name"),
    ],
)
def test_names_of_rows_and_batches_are_checked(refused, tmp_path, content, arguments, told):
    """One line, and no state is made."""
    state, file = tmp_path / "state.json", tmp_path / "day.csv"
    file.write_text(content)
    assert told in refused("monitor", state, file, *arguments)
    assert not state.exists()


@pytest.mark.parametrize("waits", [True, False])
def test_verdicts_in_json_keep_their_schema(caltest, days, tmp_path, waits):
    """Of an alarm, with all its sentences, and of rows that wait."""
    state, file = tmp_path / "state.json", tmp_path / "day.csv"
    file.write_text("id,p\n1,0.25\n")
    given = (file, "--ids", "id", "--probs", "p") if waits else (days[1], *ASKED)
    found = json.loads(caltest("monitor", state, *given, "--format", "json").out)
    assert found["answer"] == ("no alarm" if waits else "alarm")
    kinds = {"verdict": found, "monitor": json.loads(state.read_text())}
    for kind, values in kinds.items():
        jsonschema.Draft202012Validator(bundled(kind)).validate(values)
