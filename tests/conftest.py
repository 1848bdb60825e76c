"""Options, markers and fixtures that all tests share. tests/README.md says where a test goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first call of a compiled function takes as long as its compilation.
settings.register_profile("caltest", deadline=None)
settings.register_profile("caltest-ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("caltest-ci" if os.environ.get("CI") else "caltest")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --slow, --data and --reference."""
    group = parser.getgroup("caltest")
    group.addoption("--slow", action="store_true", help="run the tests marked slow too")
    group.addoption(
        "--data",
        metavar="DIR",
        default=os.environ.get("CALTEST_DATA"),
        help="folder of real data sets (default: $CALTEST_DATA); tests that need it skip without",
    )
    group.addoption(
        "--reference",
        metavar="DIR",
        default=os.environ.get("CALTEST_REFERENCE"),
        help="folder of reference values (default: $CALTEST_REFERENCE); likewise",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests marked slow unless --slow is given."""
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: runs with --slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def data_dir(request: pytest.FixtureRequest) -> Path:
    """Folder of the real data sets; without one the test is skipped."""
    return _folder(request.config.getoption("--data"), "--data or $CALTEST_DATA")


@pytest.fixture(scope="session")
def reference_dir(request: pytest.FixtureRequest) -> Path:
    """Folder of the reference values; without one the test is skipped."""
    return _folder(request.config.getoption("--reference"), "--reference or $CALTEST_REFERENCE")


def _folder(value: str | None, source: str) -> Path:
    if value is None:
        pytest.skip(f"no folder given by {source}")
    folder = Path(value)
    if not folder.is_dir():
        # A folder that was asked for and is missing is a mistake, not a reason to skip.
        pytest.fail(f"{source} is {value!r}, which is not a folder", pytrace=False)
    return folder
