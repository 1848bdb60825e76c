"""What holds for every command: the same options by the same names, and examples that run."""

import contextlib
import io
import re
import shlex

import numpy as np
import polars as pl
import pytest
import typer

from caltest.cli.app import EXAMPLES, app, run


def commands(group=None, before=()):
    """Yield the name of each command and what Typer made of it."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), command


COMMANDS = dict(commands())
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
every_command = pytest.mark.parametrize("command", COMMANDS)

# Options that a command has, unless it is left out with a reason.
COMMON = {
    "--output": {},
    "--quiet": {"list": "it has no progress bar and no warnings", "schema": "as list"},
    "--jobs": {
        "list": "it computes nothing",
        "schema": "as list",
        "calibrate apply": "a map is applied faster than a file is read",
        "precision": "it has formulas",
        "monitor": "rows follow each other",
        "plan-monitoring": "as monitor",
    },
    "--seed": {
        "list": "it draws nothing",
        "schema": "as list",
        "calibrate apply": "what a map draws, it draws from the seed of its fit",
        "monitor": "it draws nothing",
    },
    "--format": {
        "demo": "it is to be read",
        "list": "it is to be read",
        "schema": "it is JSON",
        "calibrate fit": "the map is JSON",
    },
    "--n-resamples": {
        "list": "it tests nothing",
        "schema": "as list",
        "calibrate apply": "it tests nothing",
        "precision": "it tests nothing",
        "monitor": "its answer holds at all times without redrawn labels",
        "plan-monitoring": "as monitor",
    },
}
NO_FILE = dict.fromkeys(("demo", "list", "schema"), "it reads no predictions")
OF_THE_FILE = {
    "--input-format": NO_FILE,
    "--probs": NO_FILE,
    "--renormalize": NO_FILE,
    "--label": NO_FILE | {"calibrate apply": "new predictions have no labels yet"},
    "--classes": NO_FILE | {"calibrate apply": "the map has them", "precision": "no lens has one"},
    "--logits": NO_FILE | {"calibrate apply": "the map knows"},
    "--weight": NO_FILE | {"calibrate apply": "it fits nothing"},
}
ALL = COMMON | OF_THE_FILE


def options(command):
    """Map the first long name of each option to the option."""
    found = {}
    for parameter in COMMANDS[command].params:
        if parameter.param_type_name == "option":
            found[next(name for name in parameter.opts if name.startswith("--"))] = parameter
    return found


@every_command
def test_command_has_the_option_or_a_reason(command, case):
    """What is common is there; an exception that is none any more has to go."""
    for option, exceptions in ALL.items():
        with case(option):
            assert (option in options(command)) == (command not in exceptions)


def test_option_is_the_same_in_every_command(case):
    """One short name and one metavar for a name."""
    of_commands = [options(command) for command in COMMANDS]
    for option in {name for named in of_commands for name in named}:
        found = [named[option] for named in of_commands if option in named]
        with case(option):
            assert len({tuple(sorted(parameter.opts)) for parameter in found}) == 1
            assert len({parameter.metavar for parameter in found}) == 1


@every_command
def test_option_is_explained(command):
    """Each option and argument has a sentence of help."""
    for parameter in COMMANDS[command].params:
        assert parameter.help, parameter.name
        assert parameter.help.endswith((".", "KEY`.")), parameter.help
    # No line break within a paragraph: Typer would show it.
    assert "\n" not in COMMANDS[command].help.replace("\n\n", "")


# ---- help and examples --------------------------------------------------------------------------


@every_command
def test_help_ends_with_examples(command, capsys):
    """`--help` shows each example of the command."""
    assert run([*command.split(), "--help"]) == 0
    shown = " ".join(COLOUR.sub("", capsys.readouterr().out).split())
    examples = " ".join(f"$ {line}" for line in EXAMPLES[command])
    assert shown.endswith(f"Examples: {examples}")
    assert "[[" not in shown


def test_examples_are_those_of_commands():
    """No example is left behind when a command goes, and each fits a line of 80 columns."""
    assert EXAMPLES.keys() == COMMANDS.keys()
    assert max(len(line) for lines in EXAMPLES.values() for line in lines) <= 76


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(1)
    z = rng.normal(size=(80, 3))
    probs = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    names = ("ant", "bee", "cat")
    columns = {"y": np.array(names)[[rng.choice(3, p=row) for row in probs]]}
    columns["ward"] = np.array(["A", "B"] * 40)
    models = {
        f"{model}_{name}": (probs[:, k] + add) / (1 + 3 * add)
        for model, add in (("forest", 0), ("boosting", 1))
        for k, name in enumerate(names)
    }
    columns |= {f"p_{name}": probs[:, k] for k, name in enumerate(names)}
    for name in ("predictions", "val", "new"):
        pl.DataFrame(columns).write_csv(folder / f"{name}.csv")
    pl.DataFrame({"y": columns["y"], **models}).write_csv(folder / "models.csv")
    risk = rng.beta(2, 5, 200)
    pl.DataFrame({"p_1": risk, "y": rng.binomial(1, risk)}).write_csv(folder / "risks.csv")
    pl.DataFrame({"mu": risk, "sd": risk}).write_csv(folder / "days.csv")
    return folder


def example(line, folder):
    """Run an example as the shell would, with less work, and return its status."""
    line = line.replace("--n 100,200,500", "--n 100")
    first, _, second = line.partition(" | ")
    words = shlex.split(second or first)[1:]
    if words[0] in ("test", "report", "compare") and "--n-resamples" not in words:
        words += ["--n-resamples", "19"]
    if words[0] in {"power", "sample-size"}:
        words += ["--n-datasets", "20"]
    if second:
        content = (folder / first.split()[1]).read_bytes()
        stdin = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.stdin", stdin)
            return run(words)
    return run(words)


@pytest.mark.full
@pytest.mark.parametrize("command", [name for name in EXAMPLES if name != "demo"])
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_examples_run(command, folder, monkeypatch, capsys):
    """Every line of the help works on files of these names; the demo has a test of its own."""
    monkeypatch.chdir(folder)
    for line in EXAMPLES["calibrate fit"][: command == "calibrate apply"] + EXAMPLES[command]:
        with contextlib.redirect_stderr(io.StringIO()) as told:
            status = example(line, folder)
        assert status in (0, 1 if "--fail" in line else 0), told.getvalue()


BAD_OUTPUTS = ("", ".", "no/such/folder.json", "a\0b.json", "predictions.csv/x", "loop")
BAD_OUTPUTS += ("x" * 300 + ".json",)


@pytest.mark.cases(1, full=5)
@every_command
def test_output_that_cannot_be_written_is_one_line(command, folder, monkeypatch, capsys, case):
    """No name of --output leads to a traceback, and each is told before any work."""
    monkeypatch.chdir(folder)
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
        (folder / "map.json").write_text("{}")
    words = next(shlex.split(line)[1:] for line in EXAMPLES[command] if line.startswith("caltest"))
    for output in BAD_OUTPUTS:
        with case(repr(output[:12])):
            assert run([*words, "-o", output]) == 2
            told = capsys.readouterr().err
            assert re.match("caltest: .*--output", told)
            assert told.count("\n") == 1
