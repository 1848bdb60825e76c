"""Runs the code blocks of a page: what each prints, and what the page says that it prints.

With the environment variable CALTEST_WRITE_TEXTS, what the page says becomes what was printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import traceback
import warnings
from typing import NamedTuple

import pytest
from joblib.externals.loky import get_reusable_executor

from caltest.cli.app import run as run_caltest
from caltest.errors import InvalidInput, NotApplicable

FENCE = re.compile(r"^```(\S+)?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
WRITES = bool(os.environ.get("CALTEST_WRITE_TEXTS"))


class Block(NamedTuple):
    """A fenced block: its language, where its fences and its content begin and end in the page."""

    language: str
    opens: int
    start: int
    stop: int
    closes: int


class Step(NamedTuple):
    """Code or a command of a page, the line of its block, and the place of what it prints.

    The fence before and after the place is missing where the page shows no output.
    """

    language: str
    code: str
    line: int
    place: slice
    fence: tuple[str, str] = ("", "")


class Shown(NamedTuple):
    """What a block printed and what the page shows."""

    line: int
    printed: str
    promised: str


def steps_of(text):
    """What a page runs, in its order."""
    blocks = [
        Block(match[1] or "", match.start(), *match.span(2), match.end())
        for match in FENCE.finditer(text)
    ]
    after_last = Block("", 0, 0, 0, 0)
    for block, after in zip(blocks, [*blocks[1:], after_last], strict=True):
        line = text.count("\n", 0, block.opens) + 1
        if block.language == "python":
            code = text[block.start : block.stop]
            if after.language == "text":
                yield Step("python", code, line, slice(after.start, after.stop))
            else:
                end = slice(block.closes, block.closes)
                yield Step("python", code, line, end, ("\n\n```text\n", "```"))
        elif block.language == "console":
            for command in COMMAND.finditer(text, block.start, block.stop):
                code = " ".join(command[1].replace("\\\n", " ").split())
                yield Step("console", code, line, slice(*command.span(2)))


def rewritten(text, steps, printed):
    """Put what each step printed into its place, and leave what is right as it stands."""
    for step, output in reversed([*zip(steps, printed, strict=True)]):
        if output == stripped(text[step.place]):
            continue
        before, after = step.fence
        new = f"{before}{output}\n{after}" if output else ""
        text = text[: step.place.start] + new + text[step.place.stop :]
    return text


def stripped(text):
    """Lines without blanks at their ends, and without empty lines around them."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def run_python(code, place, names):
    """Return what the code prints; of an error of caltest, the last line of the traceback too."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(code, place, "exec"), names)  # noqa: S102 - the pages are ours
        except (InvalidInput, NotApplicable) as error:
            printed.writelines(traceback.format_exception_only(error))
    return printed.getvalue()


class Shell:
    """Runs `caltest` and `echo $?` in this process, with pipes and standard input."""

    def __init__(self):
        self.status = 0

    def run(self, line, monkeypatch):
        """Return what a line prints: standard output, then standard error."""
        if line == "echo $?":
            return f"{self.status}\n"
        commands, given, errors = line.split(" | "), b"", ""
        for command in commands:
            words = shlex.split(command)
            if "<" in words:
                at = words.index("<")
                with open(words[at + 1], "rb") as file:  # noqa: PTH123 - as a shell does it
                    given = file.read()
                del words[at : at + 2]
            assert words[0] == "caltest", f"a page runs no {words[0]}"
            given, error = self.run_one(words[1:], given, monkeypatch)
            errors += error
        return given.decode() + errors

    def run_one(self, words, given, monkeypatch):
        """Run one command; return the bytes of its output and its errors."""
        output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        errors = io.StringIO()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            self.status = run_caltest(words)
        return output.buffer.getvalue(), errors.getvalue()


@pytest.fixture
def run_page(tmp_path, monkeypatch):
    """A function that runs a page in a folder of its own.

    It returns what blocks printed and promised. With `write`, the page is rewritten first.
    Worker processes of joblib that an earlier test left stand in its folder: new ones are started.
    """
    get_reusable_executor().shutdown(wait=True)
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def outputs(page, steps):
        names, shell = {"__name__": "__main__"}, Shell()
        for step in steps:
            if step.language == "python":
                yield stripped(run_python(step.code, f"{page}:{step.line}", names))
            else:
                yield stripped(shell.run(step.code, monkeypatch))

    def run(path, write=WRITES):
        text = path.read_text(encoding="utf-8")
        steps = [*steps_of(text)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            printed = [*outputs(path.name, steps)]
        if write:
            text = rewritten(text, steps, printed)
            path.write_text(text, encoding="utf-8")
            steps = [*steps_of(text)]
        return [
            Shown(step.line, output, stripped(text[step.place]))
            for step, output in zip(steps, printed, strict=True)
        ]

    return run
