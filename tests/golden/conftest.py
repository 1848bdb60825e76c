"""Runs the code blocks of a page: what each prints, and what the page says that it prints."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import traceback
import warnings
from typing import NamedTuple

import pytest

from caltest.cli.app import run as run_caltest
from caltest.errors import InvalidInput, NotApplicable

FENCE = re.compile(r"^```(\S+)?[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block and the line it starts in."""

    language: str
    content: str
    line: int


class Shown(NamedTuple):
    """What a block printed and what the page shows."""

    line: int
    printed: str
    promised: str


def blocks_of(text):
    """Fenced blocks of a page in their order."""
    return [
        Block(match[1] or "", match[2], text[: match.start()].count("\n") + 1)
        for match in FENCE.finditer(text)
    ]


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


def commands_of(content):
    """Pairs of a command and what the page says that it prints."""
    content = content.replace("\\\n", " ")
    pairs = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", content, re.MULTILINE)
    return [(" ".join(command.split()), promised) for command, promised in pairs]


@pytest.fixture
def run_page(tmp_path, monkeypatch):
    """A function that runs a page in a folder of its own.

    It returns what blocks printed and promised. `before_console(names)` may write the files that
    the first command needs and the page does not write.
    """
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "80", "TERMINAL_WIDTH": "80", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def run(path, before_console=None):
        blocks = blocks_of(path.read_text(encoding="utf-8"))
        following = [*blocks[1:], Block("", "", 0)]
        names, shell, shown = {"__name__": "__main__"}, Shell(), []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for block, after in zip(blocks, following, strict=True):
                if block.language == "python":
                    printed = run_python(block.content, f"{path.name}:{block.line}", names)
                    promised = after.content if after.language == "text" else ""
                    shown.append(Shown(block.line, printed, promised))
                elif block.language == "console":
                    if before_console:
                        before_console(names)
                        before_console = None
                    for command, promised in commands_of(block.content):
                        shown.append(Shown(block.line, shell.run(command, monkeypatch), promised))
        return [Shown(one.line, stripped(one.printed), stripped(one.promised)) for one in shown]

    return run
