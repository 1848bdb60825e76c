"""Prints how large the package and its tests are, and what one call of a test passes through.

    python tests/benchmarks/figures.py

Code lines hold a token other than a comment, and are not those of a docstring. One call is traced
by `sys.setprofile` after the same call was made before, so that nothing is imported or compiled in
it: the functions of caltest that it enters, their files, and how often the next function that is
entered stands in another folder.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import TypeGuard

import numpy as np

import caltest as ct

PACKAGE = Path(ct.__file__).parent
TESTS = Path(__file__).parents[1]
BLANK = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def code_lines(text: str, tree: ast.Module) -> set[int]:
    """Return the numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in BLANK:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if is_text(node):
            lines.difference_update(extent(node))
    return lines


def is_text(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Tell whether a statement is a string alone, as a docstring is."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
        return False
    return isinstance(node.value.value, str)


def extent(node: ast.stmt) -> range:
    """Return the numbers of the lines of a statement."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def size(folder: Path) -> dict[str, int]:
    """Return code lines, functions, classes, files and the share of imports of a folder."""
    count = dict.fromkeys(("code lines", "functions", "classes", "files", "import lines"), 0)
    for file in folder.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(text, tree)
        imports: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count["functions"] += 1
            elif isinstance(node, ast.ClassDef):
                count["classes"] += 1
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports.update(extent(node))
        count["code lines"] += len(lines)
        count["import lines"] += len(lines & imports)
        count["files"] += 1
    return count


def calls(ask: Callable[[], object]) -> tuple[int, int, int]:
    """Return how many functions and files a call enters, and how often their folder changes."""
    entered: list[CodeType] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            entered.append(frame.f_code)

    ask()
    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
    folders = [Path(code.co_filename).parent for code in entered]
    changes = sum(one != other for one, other in pairwise(folders))
    return len(set(entered)), len({code.co_filename for code in entered}), changes


def figures() -> Iterator[tuple[str, object]]:
    """Yield each figure with its name."""
    package, tests = size(PACKAGE), size(TESTS)
    share = 100 * package.pop("import lines") / package["code lines"]
    yield from package.items()
    yield "share of imports in code lines, %", round(share, 1)
    rng = np.random.default_rng(1)
    risk = rng.uniform(size=200)
    data = ct.Predictions(risk, (rng.random(200) < risk).astype(int))
    for key in ("ece", "combined"):
        found = calls(partial(ct.test_calibration, None, data, test=key, rng=1))
        yield f"{key}: functions, files, folder changes", found
    yield "lines of tests", sum(len(f.read_text("utf-8").splitlines()) for f in TESTS.rglob("*.py"))
    yield "code lines of tests", tests["code lines"]


if __name__ == "__main__":
    sys.stdout.writelines(f"{name:<45} {value}\n" for name, value in figures())
