"""Print requirements of pyproject.toml: `lower-bounds` of what tests need, or those that are named.

They are named by extras; `dependencies` are those without which caltest does not run.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
groups = project["optional-dependencies"] | {"dependencies": project["dependencies"]}
if sys.argv[1:] == ["lower-bounds"]:
    lines = [line.replace(">=", "==") for line in groups["dependencies"] + groups["test"]]
else:
    lines = [line for name in sys.argv[1:] for line in groups[name]]
print(*lines, sep="\n")
