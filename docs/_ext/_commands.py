"""A section of Markdown for each command of caltest, from what its --help prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from caltest.cli.app import EXAMPLES, app


def commands() -> Iterator[tuple[str, Any]]:
    """Yield commands with their whole name, such as "calibrate fit"."""
    yield from _inside("", typer.main.get_command(app))


def _inside(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _inside(f"{prefix}{name} ", command)
        elif not command.hidden:
            yield f"{prefix}{name}", command


def section(name: str, command: Any) -> str:
    """Return the section of a command: what it does, its usage, its examples, its options."""
    words = [_metavar(one) for one in command.params if _is_argument(one)]
    usage = " ".join(["caltest", name, *words, "[OPTIONS]"])
    examples = "\n".join(EXAMPLES[name])
    return (
        f"## caltest {name}\n\n{_plain(command.help)}\n\n```none\n{usage}\n```\n\n"
        f"Examples:\n\n```sh\n{examples}\n```\n\n{_options_table(command)}\n"
    )


def _is_argument(parameter: Any) -> bool:
    return parameter.param_type_name == "argument"


def _metavar(parameter: Any) -> str:
    return parameter.metavar or parameter.name.upper()


def _options_table(command: Any) -> str:
    rows = ["| argument or option | meaning |", "|---|---|"]
    rows += [
        f"| {_spelling(one)} | {_in_a_cell(one.help)}{_remark(one)} |"
        for one in command.params
        if not getattr(one, "hidden", False)
    ]
    return "\n".join(rows)


def _in_a_cell(text: str | None) -> str:
    line = " ".join(_plain(text).split()).replace("|", r"\|").replace("*", r"\*")
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]*)", r"`\1`", line)


def _spelling(parameter: Any) -> str:
    if _is_argument(parameter):
        return f"`{_metavar(parameter)}`"
    names = ", ".join(f"`{name}`" for name in parameter.opts)
    return names if parameter.is_flag else f"{names} `{_metavar(parameter)}`"


def _remark(parameter: Any) -> str:
    if parameter.required:
        return " **Required.**"
    default = parameter.default
    if default is None or default is False or default == () or callable(default):
        return ""
    return f" Default: `{default}`."


def _plain(text: str | None) -> str:
    """Remove what terminals take for markup."""
    return re.sub(r"\[/?[a-z ]*\]|\x08", "", text or "").strip()
