"""Print requirements of pyproject.toml: those of an extra, or `lower-bounds` of what tests need."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
(which,) = sys.argv[1:]
if which == "lower-bounds":
    lines = project["dependencies"] + project["optional-dependencies"]["test"]
    print(*(line.replace(">=", "==") for line in lines), sep="\n")
else:
    print(*project["optional-dependencies"][which], sep="\n")
