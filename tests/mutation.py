"""Which small faults in measures, nulls and the runner do the tests find? By request, not in CI.

    python tests/mutation.py                          # 60 mutants, about ten minutes of one core
    python tests/mutation.py --mutants 20 --seed 7    # others
    python tests/mutation.py --root ../other          # the same kind of mutants of another checkout

A mutant is a copy of the package with one comparison, operator, number, condition or `min`/`max`
changed. The tests of its family, the golden forms of its tests and two contracts are asked in the
full tier, and stop at the first that fails: the mutant is killed. Compiled functions are left
alone, since each would be compiled anew in all that call it; tests of loops compare them with
plain code. The last lines are what survived, and how many were killed.
"""

import argparse
import ast
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

PARTS = {"measures": 0.6, "nulls": 0.25, "htests": 0.15}  # of the mutants
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARISONS |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
NAMES = {"min": "max", "max": "min", "sum": "mean", "mean": "sum", "any": "all", "all": "any"}
SECONDS = 150  # after which a mutant that never ends counts as killed
COPIED = ("caltest", "tests", "pyproject.toml", "README.md")


def changed(node):  # noqa: PLR0911 - a kind of fault a line
    """Return the node with one fault, or None where it has no kind of fault."""
    match node:
        case ast.Compare(left, [operator], others) if type(operator) in COMPARISONS:
            return ast.Compare(left, [COMPARISONS[type(operator)]()], others)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS:
            return ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.Constant(value) if type(value) in {int, float}:
            return ast.Constant(value + 1)
        case ast.BoolOp(operator, values):
            other = ast.And() if isinstance(operator, ast.Or) else ast.Or()
            return ast.BoolOp(other, values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return operand
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
        case ast.Attribute(value, name) if name in NAMES:
            return ast.Attribute(value, NAMES[name])
        case ast.Name(name) if name in {"min", "max", "any", "all"}:
            return ast.Name(NAMES[name])
    return None


def sites(tree):
    """Yield the nodes of functions that can be changed: no annotations, messages, compiled code."""
    for child in ast.iter_child_nodes(tree):
        yield from _inside(child, within=False)


def _inside(node, *, within):
    if isinstance(node, ast.FunctionDef):
        if any("jit" in ast.unparse(decorator) for decorator in node.decorator_list):
            return
        for child in node.body:
            yield from _inside(child, within=True)
    elif not isinstance(node, ast.Raise | ast.AnnAssign | ast.JoinedStr):
        if within and changed(node) is not None:
            yield node
        for child in ast.iter_child_nodes(node):
            yield from _inside(child, within=within)


def mutants(root, count, seed):
    """Return (file, node) of a sample: so many of each part, files in order of their names."""
    generator, chosen = random.Random(seed), []  # noqa: S311 - no secret
    for part, share in PARTS.items():
        files = sorted((root / "caltest" / part).rglob("*.py"))
        every = [
            (file.relative_to(root), node)
            for file in files
            for node in sites(ast.parse(file.read_text()))
        ]
        chosen += generator.sample(every, round(count * share))
    return chosen


def mutate(source, node):
    """Return the source with the node changed, and the line that it stands in."""
    lines = source.encode().splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    text = source.encode()
    fault = f"({ast.unparse(ast.fix_missing_locations(changed(node)))})".encode()
    if isinstance(node, ast.Attribute | ast.Name):
        fault = fault[1:-1]
    return b"".join([text[:start], fault, text[end:]]).decode()


def keys_of(file):
    """Return the keys of the tests of a family, or of one of each kind for what all share."""
    from caltest.measures import REGISTRY

    part, family, *_ = file.parts[1:]
    own = [key for key, measure in REGISTRY.items() if f".{family}." in measure.__module__]
    return own if part == "measures" and own else ["brier", "cox", "debiased-ece", "ks", "skce"]


def rounds_of(file, copy):
    """Yield the arguments of pytest, cheap tests first.

    A folder among the arguments asks for the quick tier, files alone for the full one.
    """
    part, *family = file.parts[1:]
    keys = " or ".join(f"[{key}" for key in keys_of(file))
    golden = ["tests/golden/prints", "tests/golden/test_prints.py", "tests/golden/forms"]
    yield [*golden, "tests/contract/test_measures.py", "-k", keys]
    unit = Path("tests/unit", part, *family[:-1])
    yield [str(unit)]
    if part == "nulls":
        yield ["tests/unit/htests"]
    yield ["tests/golden/forms/test_forms.py", "--slow", "-k", keys]


def asked(file, copy):
    """Run the tests until one fails, in the copy; return the exit status."""
    import pytest

    options = [
        "-n0",
        "-x",
        "-q",
        "-pno:cacheprovider",
        "-Wignore::pytest.PytestAssertRewriteWarning",
    ]
    for arguments in rounds_of(file, copy):
        there = [name for name in arguments if "/" not in name or (copy / name).exists()]
        status = int(pytest.main([*options, *there]))
        if status not in {0, 5}:  # 5: none was found
            return status
    return 0


def killer(file, copy):
    """Run the tests in a process of its own; return the first that fails, or an empty string."""
    output = copy / "output.txt"
    process = os.fork()
    if process == 0:
        os.setsid()
        os.chdir(copy)
        sys.path.insert(0, str(copy))
        quiet = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        status = 1  # of an import that fails
        try:
            status = asked(file, copy)
        except Exception:  # noqa: BLE001 - what the fault does
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    started = time.monotonic()
    while time.monotonic() - started < SECONDS:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            said = [line for line in output.read_text().splitlines() if line.startswith("FAILED")]
            return " ".join([*said[-1:], "import"][0].split()[:2]) if status else ""
        time.sleep(0.1)
    os.killpg(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return "time"


def copy_of(root, folder):
    """Copy what the tests read, with what numba compiled."""
    for name in COPIED:
        source = root / name
        if source.is_dir():
            shutil.copytree(source, folder / name)
        else:
            shutil.copy2(source, folder / name)
    return folder


def main():
    """Run the sample, print each mutant as it ends and at last what survived."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--mutants", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    root, survived = asked.root.resolve(), 0
    chosen = mutants(root, asked.mutants, asked.seed)
    import hypothesis  # noqa: F401 - once for all mutants

    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of(root, Path(folder))
        for file, node in chosen:
            place = copy / file
            source = place.read_text()
            place.write_text(mutate(source, node))
            found = killer(file, copy)
            place.write_text(source)
            survived += not found
            was, now = ast.unparse(node), ast.unparse(ast.fix_missing_locations(changed(node)))
            print(f"{found or 'SURVIVED'}: {file}:{node.lineno} {was} -> {now}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} killed")


if __name__ == "__main__":
    main()
