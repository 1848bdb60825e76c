"""Options, tiers and fixtures that all tests share. tests/README.md says where a test goes."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

# Workers share the cores, and BLAS would start as many threads in each; NumPy reads these once.
if "PYTEST_XDIST_WORKER" in os.environ:
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent

# ---- tiers --------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add --full, --slow, --data and --reference; called before the conftests of folders load."""
    # caltest is a plugin too, and so is Hypothesis, whose asserts pytest rewrites; but for those of
    # caltest.testing none is needed, and each process would compile 400 modules whose bytecode
    # is there.
    hook = pluginmanager.rewrite_hook
    rewritten = getattr(hook, "_must_rewrite", set())
    if "caltest" in rewritten:
        rewritten.add("caltest.testing")
    rewritten -= {"caltest", "hypothesis"}
    getattr(hook, "_marked_for_rewrite_cache", {}).clear()
    group = parser.getgroup("caltest")
    group.addoption(
        "--full",
        action="store_true",
        help="run every test but those marked slow, each of up to 10 cases",
    )
    group.addoption("--slow", action="store_true", help="run all tests, those marked slow too")
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


def pytest_configure(config: pytest.Config) -> None:
    """Set how many examples Hypothesis draws, before a test file asks for a profile."""
    seeded = config.getoption("--hypothesis-seed", None) is not None
    register_profiles(full=runs_in_full(config), fresh=seeded)


def register_profiles(*, full: bool, fresh: bool = False) -> None:
    """Register the profiles: `caltest` for all, `some`, `few` and `fewest` for costly examples.

    A test takes one of these by its decorator, `@settings.get_profile("few")`. With the environment
    variable CI set, the examples are the same in every run, unless they are fresh: those of a seed
    that is given (--hypothesis-seed). Of these half as many are drawn: the next run has others.
    """
    # No deadline: the first call of a compiled function takes as long as its compilation.
    plain = settings(deadline=None, max_examples=(30 if full else 10) // (1 + fresh))
    if os.environ.get("CI"):
        plain = settings(plain, derandomize=not fresh, database=None, print_blob=True)
    settings.register_profile("caltest", plain)
    for name, examples in {"some": (20, 6), "few": (10, 4), "fewest": (4, 2)}.items():
        some = examples[0 if full else 1]
        settings.register_profile(name, plain, max_examples=(some + 1) // 2 if fresh else some)
    settings.load_profile("caltest")


def names_a_file(config: pytest.Config) -> bool:
    """Tell whether the command line names files and no folders, or benchmarks."""
    paths = [Path(argument.split("::")[0]) for argument in config.args]
    files = bool(paths) and all(path.suffix == ".py" for path in paths)
    return files or any("benchmarks" in path.parts for path in paths)


def runs_in_full(config: pytest.Config) -> bool:
    """Tell whether all tests run: with --full, and of a file that is named."""
    return config.getoption("--full") or config.getoption("--slow") or names_a_file(config)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Give each core a worker, eight at most; run a file that is named in this process."""
    if names_a_file(config):
        return 0
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(cores or 1, 8)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the folders of rates and of pictures to the full tier."""
    full = collection_path.parent in {TESTS / "statistical", TESTS / "golden" / "plots"}
    return True if full and not runs_in_full(config) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests of the other tiers; of a file that is named, skip those marked slow."""
    if config.getoption("--slow"):
        return
    if names_a_file(config):
        skip = pytest.mark.skip(reason="slow: runs with --slow")
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(skip)
        return
    others = other_tiers(config)
    kept = {item for item in items if not any(map(item.get_closest_marker, others))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def other_tiers(config: pytest.Config) -> tuple[str, ...]:
    """Return the marks of tests that do not run."""
    return ("slow",) if runs_in_full(config) else ("full", "slow")


SOME, RATES = 10, 1  # cases of a test, and of one of rates, in the full tier


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keep two cases of a test, in the full tier 10, of rates one, or as many as `cases` says.

    They are other cases for each test and the same in every run: all tests together ask for every
    measure, map and number of classes, and each of them for every claim in the full tier alone.
    The others, three of four, never become items, which each process would make and leave out.
    """
    config, test, calls = metafunc.config, metafunc.definition, metafunc._calls
    if config.getoption("--slow") or config.getoption("keyword") or names_a_file(config):
        return
    others = other_tiers(config)
    own = [call for call in calls if not any(mark.name in others for mark in call.marks)]
    mark = test.get_closest_marker("cases")
    quick, options = (mark.args[0], mark.kwargs) if mark else (2, {})
    some = RATES if test.path.parent == TESTS / "statistical" else max(quick, SOME)
    number = options.get("full", some) if runs_in_full(config) else quick
    places = random.Random(test.nodeid).sample(range(len(own)), min(number, len(own)))  # noqa: S311 - no secret
    kept = [own[i] for i in sorted(places)]
    if own and not kept:  # a test without calls would be called without arguments
        own[0].marks.append(pytest.mark.slow.mark)
    calls[:] = kept or (own or calls)[:1]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> object:
    """Keep the garbage collector from what is collected and imported, now and later.

    It finds nothing meanwhile. statsmodels calls it at each adjustment of p-values, which takes
    half a second with all tests. Later it looks seldom: compiling takes a tenth less.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(200_000, 50, 100)


def pytest_report_header(config: pytest.Config) -> str:
    """Say which tier runs."""
    return "tier: full" if runs_in_full(config) else "tier: quick; pytest --full runs more"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    """Run the loops that a test marked so is about as Python, in the quick tier.

    Their compilation takes longer than all else, and coverage sees no line of what is compiled.
    """
    if runs_in_full(item.config) or not item.get_closest_marker("loops"):
        return (yield)
    import numpy as np
    from numba.core.registry import CPUDispatcher

    CPUDispatcher.__call__ = lambda self, *args, **options: self.py_func(*args, **options)
    try:
        with np.errstate(all="ignore"):  # compiled code warns of nothing
            return (yield)
    finally:
        del CPUDispatcher.__call__


# ---- fixtures -----------------------------------------------------------------------------------


@pytest.fixture(scope="session", autouse=True)
def command_line() -> Iterator[None]:
    """Let Typer build the commands of an app once.

    Without, that is nine tenths of the time of a short command.
    """
    import typer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def case() -> Callable[..., contextlib.AbstractContextManager[None]]:
    """A context for one of many cases of a test, which an error in it names.

    A test of its own for each of some thousand short cases takes longer to collect and to report
    than to run.
    """

    @contextlib.contextmanager
    def named(*what: object) -> Iterator[None]:
        told = f"in the case {', '.join(map(str, what))}"
        try:
            yield
        except pytest.fail.Exception as failure:  # that nothing was raised
            pytest.fail(f"{failure.msg} {told}")
        except Exception as error:
            error.add_note(told)
            raise

    return named


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
