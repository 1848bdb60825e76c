"""What `import caltest` loads, and that its version has one source."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import pytest

import caltest

HEAVY = "matplotlib narwhals numba pandas polars pyarrow scipy.stats sklearn statsmodels typer"


def modules_loaded_by(statement: str) -> set[str]:
    """Names in sys.modules after `statement` in a fresh interpreter."""
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


def test_import_and_dir_load_no_heavy_module():
    assert modules_loaded_by("import caltest").isdisjoint(HEAVY.split())
    assert modules_loaded_by("import caltest; dir(caltest)").isdisjoint(HEAVY.split())


def test_version_is_that_of_the_distribution():
    """`caltest.__version__` and the metadata of the installed wheel agree."""
    try:
        installed = importlib.metadata.version("caltest")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("caltest is on the path, but not installed")
    assert caltest.__version__ == installed
