"""The pytest plugin: fixture, marker and options, and a session that decides its tests together.

pytest loads this module in every session of an environment that has caltest, so it imports
nothing before a test asks for the fixture. `pytest -p no:caltest` leaves it out.

A test that uses the fixture is decided with the others: its report is held back where its p-value
is at most its level, and logged when all tests have run, as passed or failed. So every part of
pytest that reads reports, and every plugin, sees one outcome, the right one. Under pytest-xdist
the records travel with the reports of the workers, and the controller decides.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from contextlib import suppress
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from caltest.testing.family import Calibration, Record

LEVEL, SEED = 0.01, 0
CACHE = "caltest/rejected"
STRICT = "[XPASS(strict)] "  # how pytest begins the report of a test that should have failed
PROPERTIES = ("pvalue", "level", "seed")


REJECTED = pytest.StashKey[dict[str, dict[str, int]]]()  # test, question: seed
SESSION_LEVEL = pytest.StashKey[float]()
RECORDS = pytest.StashKey[list[Any]]()
REPORTED = pytest.StashKey[int | None]()  # records on reports so far; None before the first


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("calibration", "tests of calibration (caltest)")
    tests = "of the session's tests of calibration"
    plan = "take the level from this plan, JSON of caltest.plan_monitoring"
    for metavar, kind, option, text in (
        ("LEVEL", _level, "--calibration-level", f"significance level {tests} (default: 0.01)"),
        ("FILE", Path, "--calibration-plan", plan),
        ("FILE", Path, "--calibration-report", "write every test of calibration to this HTML file"),
        ("SEED", _seed, "--calibration-seed", f"seed {tests} (default: 0)"),
    ):
        group.addoption(option, metavar=metavar, type=kind, help=text)


def _level(text: str) -> float:
    if not 0 < float(text) <= 0.5:
        raise ValueError(text)
    return float(text)


def _seed(text: str) -> int:
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and read what the last session rejected."""
    config.addinivalue_line(
        "markers", "calibration(level=0.01): a test of calibration, and the level of its fixture"
    )
    level, plan = config.getoption("calibration_level"), config.getoption("calibration_plan")
    if plan is not None:
        if level is not None:
            raise pytest.UsageError("--calibration-plan has a level: leave --calibration-level out")
        from caltest.errors import InvalidInput, NotApplicable
        from caltest.monitoring import MonitoringPlan

        try:
            level = MonitoringPlan.read(plan).level_of_checks()
        except (InvalidInput, NotApplicable) as error:
            raise pytest.UsageError(f"--calibration-plan: {error}") from error
    config.stash[SESSION_LEVEL] = LEVEL if level is None else float(level)
    cache = getattr(config, "cache", None)
    config.stash[REJECTED] = {} if cache is None else cache.get(CACHE, {})
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Decisions(config), "caltest-decisions")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-m calibration` find every test that uses the fixture."""
    if "calibration" in getattr(item, "fixturenames", ()):
        item.add_marker("calibration")


@pytest.fixture
def calibration(request: pytest.FixtureRequest) -> Calibration:
    """Assertions on calibration that the session decides together: `assert_calibrated`, ..."""
    from caltest.checks import check_level
    from caltest.testing.family import Calibration

    item = request.node
    records = item.stash.setdefault(RECORDS, [])
    records.clear()  # of an attempt before
    item.stash[REPORTED] = None
    rejected = item.config.stash[REJECTED].setdefault(item.nodeid, {})

    def keep(record: Record) -> None:
        __tracebackhide__ = True
        before = rejected.get(record.question, record.seed)
        if before != record.seed:
            raise AssertionError(
                f"Seed {record.seed} is refused: this test rejected the same data with seed "
                f"{before}, and another seed is another chance to pass.\nUse rng={before} or "
                f"--calibration-seed={before}; new data or another model may have any seed, and "
                "--cache-clear forgets what was rejected."
            )
        number = f"_{len(records) + 1}" if records else ""
        records.append(record)
        for name in PROPERTIES:
            item.user_properties.append((f"calibration_{name}{number}", getattr(record, name)))
        if record.rejected:
            rejected[record.question] = record.seed

    levels = []
    for marker in item.iter_markers("calibration"):
        if marker.args or set(marker.kwargs) - {"level"}:
            pytest.fail("the marker calibration takes level= and nothing else", pytrace=False)
        levels += [check_level(level) for level in marker.kwargs.values()]
    level = next(iter(levels), item.config.stash[SESSION_LEVEL])
    tests = sum("calibration" in getattr(one, "fixturenames", ()) for one in item.session.items)
    seed = item.config.getoption("calibration_seed")
    return Calibration(level, SEED if seed is None else seed, keep, tests)


# ---- reports ------------------------------------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the records of a test on its report, which takes them to the process that decides."""
    report = yield
    records = item.stash.get(RECORDS, None)
    if records is None:
        return report
    first = item.stash[REPORTED]
    if call.when == "call":
        item.stash[REPORTED] = len(records)
    if call.when == "call" and records:
        expected = hasattr(report, "wasxfail") or str(report.longrepr).startswith(STRICT)
        report.__dict__ |= {
            "calibration": [{**asdict(record), "expected": expected} for record in records],
            "calibration_held": (expected or not report.failed)
            and any(one.rejected for one in records),
            "calibration_first": first,
        }
    if call.when == "teardown" and first is not None and len(records) > first:
        report.outcome = "failed"
        report.longrepr = "calibration must be asserted before the teardown, to be decided"
    return report


class Decisions:
    """The hooks of the process that logs the reports; under pytest-xdist that is the controller.

    Parameters
    ----------
    config : pytest.Config
        Of this session.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.records: dict[str, list[Record]] = {}
        self.held: dict[tuple[str, object], list[tuple[pytest.TestReport, slice]]] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, Any, Any]:
        """Collect the records, and hold back the reports of a test that is not decided yet."""
        calibration = report.__dict__.pop("calibration", None)
        own = slice(report.__dict__.pop("calibration_first", None), len(calibration or ()))
        if calibration is not None:
            from caltest.testing.family import Record

            # Those of a test that is run again take the place of the attempt before.
            self.records[report.nodeid] = [Record(**values) for values in calibration]
        key = (report.nodeid, getattr(report, "worker_id", None))
        if report.__dict__.pop("calibration_held", False) or key in self.held:
            # Of a subtest, which has a context, those that it made; of a test all.
            own = own if hasattr(report, "context") else slice(None)
            self.held.setdefault(key, []).append((copy.copy(report), own))
            # What everybody passes over: the report of a setup without an error.
            report.when, report.outcome, report.duration = "setup", "passed", 0.0
            report.longrepr, report.sections, report.user_properties = None, [], []
            report.__dict__.pop("wasxfail", None)
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, Any, Any]:
        """Decide when all tests have run, also where the session was stopped before its end."""
        try:
            return (yield)
        finally:
            if self.records:
                self._decide()

    def _decide(self) -> None:
        from caltest.testing.family import decide

        decide(record for records in self.records.values() for record in records)
        held, self.held = self.held, {}
        for (nodeid, _worker), reports in held.items():
            for report, own in reports:
                if report.when == "call":
                    _outcome(report, self.records[nodeid][own])
                    # One process: the terminal names the file before the dots.
                    if not hasattr(report, "node"):
                        place = {"nodeid": report.nodeid, "location": report.location}
                        self.config.hook.pytest_runtest_logstart(**place)
                else:
                    for k, record in enumerate(self.records[nodeid], start=1):
                        name = f"calibration_adjusted{f'_{k}' if k > 1 else ''}"
                        report.user_properties = [*report.user_properties, (name, record.adjusted)]
                self.config.hook.pytest_runtest_logreport(report=report)
        self._remember()

    def _remember(self) -> None:
        """Keep in pytest's cache with which seed each question was rejected."""
        cache = getattr(self.config, "cache", None)
        if cache is None:
            return
        from caltest.errors import InvalidInput
        from caltest.outputs import locked

        # Of two sessions at once the second must not forget what the first rejected.
        with suppress(OSError, InvalidInput), locked(cache.mkdir("caltest") / "rejected"):
            known = cache.get(CACHE, {})
            for nodeid, records in self.records.items():
                known[nodeid] = {one.question: one.seed for one in records if one.rejected}
            cache.set(CACHE, {nodeid: seeds for nodeid, seeds in known.items() if seeds})

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section on the tests of calibration, and write the report."""
        if not self.records:
            return
        from caltest.testing.family import section, write_report

        title, lines = section(self.records)
        terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)
        path = self.config.getoption("calibration_report")
        if path is not None:
            write_report(path, self.records)
            terminalreporter.write_line(f"report: {path}")


def _outcome(report: pytest.TestReport, records: list[Record]) -> None:
    """Give a report that was held back its outcome, in place."""
    rejected = [record for record in records if record.rejected]
    if not rejected:
        return
    # of a test that was expected to fail, and must
    strict = str(report.longrepr).startswith(STRICT)
    if report.outcome == "failed" and not strict:  # for another reason, after a subtest
        return
    if strict or hasattr(report, "wasxfail"):
        report.wasxfail = getattr(report, "wasxfail", str(report.longrepr).removeprefix(STRICT))
        report.outcome, report.longrepr = "skipped", None
        return
    report.outcome = "failed"
    messages = ["\n".join(filter(None, (one.message, one.decision))) for one in rejected]
    places = [f"{one.where}: AssertionError" for one in rejected]
    report.longrepr = "\n\n".join(chain.from_iterable(zip(messages, places, strict=True)))
