"""The plugin in sessions of its own: outcomes, section, XML, report, xdist, reruns, laziness."""

import importlib.metadata
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from caltest.monitoring import MonitoringPlan
from caltest.testing import plugin
from caltest.testing.assertions import check_calibrated, check_within
from caltest.testing.family import decide, record_of, section

pytest_plugins = ["pytester"]

PLUGIN = "caltest.testing.plugin"
# An environment whose metadata are older than the entry point loads it by name.
REGISTERED = bool(importlib.metadata.entry_points(group="pytest11", name="caltest"))
LOAD = () if REGISTERED else ("-p", PLUGIN)
DATA = """
import dataclasses
import numpy as np
import pytest
import caltest as ct

GOOD = ct.datasets.generative_model("M1", n=200, m=3, rng=1)
BAD = ct.datasets.generative_model("M2", n=200, m=3, rng=1)
RESULT = ct.test_calibration(GOOD, test="brier", rng=0)

def result(pvalue):
    return dataclasses.replace(RESULT, pvalue=pvalue, replicates=None, n_resamples=None)
"""


@pytest.fixture(scope="module")
def imported():
    """Import what the sessions use: pytester drops the modules that a session imported first."""
    names = {}
    exec(DATA, names)  # noqa: S102, our own lines
    good, bad = names["GOOD"], names["BAD"]
    for data in (good, bad):
        checked = check_calibrated(data, None, None, level=0.01, rng=0)
        decide([record_of(checked, "")])
    check_within(good, None, None, tolerance=0.2, level=0.01, rng=0)
    section({"test": []})


@pytest.fixture
def session(pytester, imported, monkeypatch):
    """Return a function that runs tests, after the lines of DATA, in a session of their own."""
    # pluggy takes it as an attribute, and a session before this may have taken it away.
    importlib.metadata = importlib.import_module("importlib.metadata")
    # Two files of one name, one length and one second have the same bytecode for pytest.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def run(tests, *options, more="", subprocess=False):
        pytester.makepyfile(test_model=DATA + tests, **({"test_more": DATA + more} if more else {}))
        started = pytester.runpytest_subprocess if subprocess else pytester.runpytest_inprocess
        return started(*LOAD, "-W", "default", *options)

    return run


PASSING = """
def test_good(calibration):
    calibration.assert_calibrated(GOOD, test="brier")
"""
FAILING = """
def test_bad(calibration):
    calibration.assert_calibrated(BAD)
    print("the rest runs")
"""


def test_passing_session(session):
    """The section lists the test with its p-value and seed, and says how to repeat it."""
    done = session(PASSING)
    done.assert_outcomes(passed=1)
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        [
            "*1 test of calibration, none failed*",
            "outcome *p *adjusted *level *seed *n *test",
            "not rejected *0.01 *0 *200 *test_model.py::test_good",
            "To repeat: --calibration-seed=0.",
        ]
    )


def test_failing_session(session):
    """The failure is the verdict, with the line of the assertion, and the exit status is 1."""
    done = session(PASSING + FAILING)
    done.assert_outcomes(passed=1, failed=1)
    assert done.ret == 1
    done.stdout.fnmatch_lines(
        [
            "*FAILURES*",
            "*test_bad*",
            "Not calibrated (p = *",
            "worst: *",
            "seed: 0",
            "repeat: *assert_calibrated(model, n_resamples=1999, level=0.01, rng=0)",
            "p = * adjusted for 2 tests of the session",
            "test_model.py:*: AssertionError",
            "*the rest runs*",
            "*2 tests of calibration, 1 failed*",
            "FAILED test_model.py::test_bad*",  # pytest 8.3 has no message there
        ]
    )


CORRECTED = """
@pytest.mark.parametrize("pvalue", [0.004, 0.3, 0.8, 0.9])
def test_model(calibration, pvalue):
    calibration.record(result(pvalue))
"""


def test_correction_over_the_session_decides(session):
    """0.004 fails by itself, and passes as the least of four."""
    alone = session(CORRECTED, "-k", "0.004")
    alone.assert_outcomes(failed=1)
    done = session(CORRECTED, "-v")
    done.assert_outcomes(passed=4)
    assert done.ret == 0
    done.stdout.fnmatch_lines(
        [
            "*test_model.py::test_model?0.004? PASSED*",
            "not after adjustment  0.004  0.016 *test_model?0.004?",
            "p-values are adjusted for 4 tests, Holm's method.",
        ]
    )


@pytest.mark.full
def test_same_data_are_adjusted_jointly(session):
    """Ten copies of a question on one data set are one question."""
    done = session(
        """
@pytest.mark.parametrize("k", range(10))
def test_model(calibration, k):
    calibration.assert_calibrated(BAD, test="ece", n_resamples=199)
"""
    )
    done.assert_outcomes(failed=10)
    done.stdout.fnmatch_lines(["rejected *0.005 *0.005 *", "*adjusted for 10 tests, jointly:*"])


def test_session_has_enough_resamples_for_its_tests(session):
    """With 30 data sets, 999 resamples could reject nothing at 0.01: a failing one gets more."""
    done = session(
        """
@pytest.mark.parametrize("k", range(30))
def test_model(calibration, k):
    if k:
        calibration.record(result(0.5))
    else:
        calibration.assert_calibrated(BAD, test="ece")
"""
    )
    done.assert_outcomes(failed=1, passed=29)
    done.stdout.fnmatch_lines(["Not calibrated (p < 1e-04, level 0.01)*"])


def test_level_is_that_of_call_marker_or_session(session):
    tests = """
def test_plain(calibration):
    assert calibration.level == {session}

@pytest.mark.calibration(level=0.2)
def test_marked(calibration):
    assert calibration.level == 0.2

@pytest.mark.calibration(level=0.2)
class TestClass:
    def test_of_class(self, calibration):
        assert calibration.level == 0.2
        calibration.record(result(0.04), level=0.03)

def test_without_the_fixture():
    pass
"""
    session(tests.format(session=0.01)).assert_outcomes(passed=4)
    done = session(tests.format(session=0.05), "--calibration-level=0.05", "-m", "calibration")
    done.assert_outcomes(passed=3, deselected=1)


@pytest.mark.parametrize(
    "option", ["--calibration-level=2", "--calibration-level=0.7", "--calibration-seed=-1"]
)
def test_options_are_checked(session, option):
    done = session(PASSING, option)
    assert done.ret == 4
    done.stderr.fnmatch_lines([f"*{option.split('=')[0]}*"])


def test_marker_takes_the_level_alone(session):
    """Anything else is an error of the test."""
    done = session(PASSING.replace("def", "@pytest.mark.calibration(seed=3)\ndef"))
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*marker calibration takes level=*"])


def test_seed_of_the_session_is_that_of_its_tests(session):
    done = session(
        PASSING
        + """
def test_own(calibration):
    assert calibration.assert_calibrated(GOOD, test="brier", rng=3).seed == 3
""",
        "--calibration-seed=8",
    )
    done.assert_outcomes(passed=2)
    done.stdout.fnmatch_lines(["*  8  *test_good", "*  3  *test_own"])


def test_too_few_rows_are_told(session):
    """They pass, and the section says that this means nothing."""
    done = session(
        """
def test_few(calibration):
    calibration.assert_calibrated(ct.datasets.generative_model("M1", n=12, m=3, rng=1))
"""
    )
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(
        ["too few rows *test_few", "test_model.py::test_few: * too few rows to tell, n = 12)*"]
    )


def test_within_is_decided_at_once_and_by_itself(session):
    """It is in the section, and adds nothing to the others."""
    done = session(
        """
def test_shown(calibration):
    calibration.assert_within(GOOD, tolerance=0.2)

def test_not_shown(calibration):
    calibration.assert_within(BAD, tolerance=0.02)
"""
    )
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        ["*Error: *is not shown to be below*", "within *", "not shown within *", "A claim *"]
    )


def test_assertion_without_the_fixture_fails_at_once(session):
    """At its own level; the session knows nothing of it."""
    done = session("def test_bad():\n    ct.testing.assert_calibrated(BAD, test='brier')\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E *AssertionError: Not calibrated*"])
    done.stdout.no_fnmatch_line("*of calibration, *")


EXPECTED = """
@pytest.mark.xfail(reason="known", strict={strict})
@pytest.mark.parametrize("data", [GOOD, BAD])
def test_model(calibration, data):
    calibration.assert_calibrated(data, test="ece")
"""


@pytest.mark.parametrize(
    ("strict", "unexpected"), [("False", {"xpassed": 1}), ("True", {"failed": 1})]
)
def test_expected_failures(session, strict, unexpected):
    """A rejection that is expected is one, though it is known at the end only."""
    done = session(EXPECTED.format(strict=strict))
    done.assert_outcomes(xfailed=1, **unexpected)
    done.stdout.fnmatch_lines(["*2 tests of calibration, none failed, 1 expected to fail*"])
    done.stdout.fnmatch_lines(["rejected, as expected *"])


def test_expected_failure_of_a_tolerance(session):
    done = session("""
@pytest.mark.xfail(reason="known")
def test_model(calibration):
    calibration.assert_within(BAD, tolerance=0.001)
""")
    done.assert_outcomes(xfailed=1)
    done.stdout.fnmatch_lines(["*1 test of calibration, none failed, 1 expected to fail*"])


def test_error_of_the_test_itself_is_reported_at_once(session):
    """What was recorded before it is in the section, and the outcome is that error."""
    done = session(FAILING + "    raise OSError('no disk')\n")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E *OSError: no disk", "rejected *test_bad"])


def test_session_that_stops_early_decides_what_it_has(session):
    """With -x, after the failure of another test."""
    done = session(FAILING + "def test_stop():\n    assert False\n" + PASSING, "-x")
    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(["*1 test of calibration, 1 failed*"])


def properties_of(path):
    """Return the properties of each test case of a JUnit XML file, and how many have failed."""
    cases = list(ET.parse(path).iter("testcase"))  # noqa: S314, our own file
    found = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in cases
    }
    assert len(found) == len(cases)
    return found, sum(case.find("failure") is not None for case in cases)


def test_junit_xml_has_the_pvalues(session, pytester):
    """One case a test, with the outcome that the session decided, and the adjusted p-value."""
    done = session(CORRECTED + FAILING, "--junitxml=x.xml")
    assert done.ret == 1
    found, failed = properties_of(pytester.path / "x.xml")
    assert failed == 1
    assert found["test_model[0.3]"]["calibration_pvalue"] == "0.3"
    assert found["test_model[0.004]"]["calibration_adjusted"] == "0.016"
    assert found["test_bad"]["calibration_seed"] == "0"


@pytest.mark.full
def test_controller_decides_for_all_workers(session, pytester):
    """Tests in two processes are adjusted for each other; joint where the data are the same."""
    same = "def test_{}(calibration):\n    calibration.assert_calibrated(BAD, test='ece')\n"
    tests = CORRECTED + same.format("a")
    options = ("-n", "2", "--dist=loadfile", "--junitxml=x.xml")
    done = session(tests, *options, more=same.format("b"), subprocess=True)
    done.assert_outcomes(passed=4, failed=2)
    done.stdout.fnmatch_lines(
        [
            "p = 0.00083 adjusted for 6 tests of the session",  # 1 / 6,000, in one of 5 blocks
            "*6 tests of calibration, 2 failed*",
            "p-values are adjusted for 6 tests, jointly where the data are the same*",
        ]
    )
    found, failed = properties_of(pytester.path / "x.xml")
    assert (len(found), failed) == (6, 2)
    assert found["test_model[0.3]"]["calibration_pvalue"] == "0.3"
    assert found["test_model[0.004]"]["calibration_adjusted"] == "0.016"
    assert found["test_b"]["calibration_seed"] == "0"


def test_report_has_every_test(session, pytester):
    """An HTML page with the table and the verdicts, every value escaped."""
    tests = PASSING + FAILING.replace("BAD", "(BAD.probs, BAD.labels)[0], BAD.labels")
    done = session(
        tests
        + "@pytest.mark.parametrize('k', ['<b>'])\n"
        + CORRECTED[CORRECTED.index("def") :]
        .replace("pvalue", "k")
        .replace("result(k)", "result(0.5)"),
        "--calibration-report=pages/report.html",
    )
    assert done.ret == 1
    page = (pytester.path / "pages" / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") == 3
    assert "Not calibrated (p" in page
    assert "<b>" not in page
    assert "http" not in page.replace("http-equiv", "")


# ---- repetition ---------------------------------------------------------------------------------

SEEDED = """
from pathlib import Path

def test_bad(calibration):
    calibration.assert_calibrated({data}, test="ece")
"""


@pytest.mark.full
def test_rerun_with_another_seed_is_refused(session):
    """With the same seed it fails again; new data may have any seed."""
    bad, new = SEEDED.format(data="BAD"), SEEDED.format(data="GOOD")
    session(bad).assert_outcomes(failed=1)
    refused = session(bad, "--calibration-seed=1")
    refused.assert_outcomes(failed=1)
    refused.stdout.fnmatch_lines(
        ["*Seed 1 is refused: this test rejected the same data with seed 0*"]
    )
    again = session(bad)
    again.assert_outcomes(failed=1)
    again.stdout.no_fnmatch_line("*is refused:*")
    session(new, "--calibration-seed=1").assert_outcomes(passed=1)
    session(bad, "--calibration-seed=1").assert_outcomes(failed=1)


def test_what_the_correction_kept_is_not_refused(session):
    """Only what failed the session is remembered."""
    session(CORRECTED).assert_outcomes(passed=4)
    session(CORRECTED, "--calibration-seed=1").assert_outcomes(passed=4)


@pytest.mark.full
def test_rerun_of_a_test_with_an_error(session, pytester):
    """An error of something else may be run again; its records are those of the last run."""
    pytest.importorskip("pytest_rerunfailures")
    done = session(
        """
RUNS = []

def test_bad(calibration):
    RUNS.append(1)
    calibration.assert_calibrated(BAD, test="ece")
    assert len(RUNS) == 2

def test_another_seed(calibration):
    RUNS.append(1)
    calibration.assert_calibrated(BAD, test="brier", rng=len(RUNS))
    raise OSError
""",
        "--reruns=1",
    )
    done.stdout.fnmatch_lines(["*Seed 4 is refused*", "*2 tests of calibration, 2 failed*"])
    done.stdout.fnmatch_lines(["*2 failed, 2 rerun*"])


# ---- a session that does not use it -------------------------------------------------------------


def test_session_without_calibration_imports_nothing(pytester):
    """Neither numba nor NumPy, and no module of caltest but the plugin."""
    pytester.makepyfile(
        """
import sys

def test_modules():
    heavy = {"numba", "numpy", "scipy", "caltest.results", "caltest.testing.family"}
    assert heavy.isdisjoint(sys.modules)
    assert "caltest.testing.plugin" in sys.modules
"""
    )
    done = pytester.runpytest_subprocess(*LOAD, "-p", "no:hypothesispytest")
    done.assert_outcomes(passed=1)
    done.stdout.no_fnmatch_line("*of calibration*")


def test_plugin_imports_no_heavy_module():
    """Its import is what every session pays for."""
    code = f"import pytest, sys; before = set(sys.modules); import {PLUGIN}; "
    code += "print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    added = {name for name in done.stdout.split() if name.partition(".")[0] != "caltest"}
    assert {name.partition(".")[0] for name in added} <= set(sys.stdlib_module_names)


@pytest.mark.skipif(not REGISTERED, reason="the installed metadata have no entry point")
def test_plugin_can_be_left_out(session):
    done = session(PASSING, "-p", "no:caltest")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*fixture 'calibration' not found*"])


# ---- a plan of monitoring -----------------------------------------------------------------------

BETWEEN = """
def test_between(calibration):
    calibration.record(result(0.004))
"""
LEVELS = """
def test_level(calibration):
    assert calibration.level == 0.002

@pytest.mark.calibration(level=0.03)
def test_marker_comes_first(calibration):
    assert calibration.level == 0.03
"""


def plan_file(folder, check_level):
    plan = MonitoringPlan(
        rows=(),
        false_alarms_per_year=1.0,
        monitor_level=1e-6,
        check_level=check_level,
        rows_per_day=100.0,
        checks_per_day=0.0 if check_level is None else 1.0,
        models=1,
        predictions="Beta(2, 5)",
        n_streams=2,
        seed=1,
    )
    path = folder / "plan.json"
    path.write_text(plan.to_json())
    return path


def test_level_of_a_plan_is_that_of_the_session(session, tmp_path):
    """A p-value of 0.004 passes at 0.002; without the plan it fails at 0.01."""
    option = f"--calibration-plan={plan_file(tmp_path, 0.002)}"
    session(BETWEEN + LEVELS, option).assert_outcomes(passed=3)
    session(BETWEEN).assert_outcomes(failed=1)


@pytest.mark.parametrize(
    ("check_level", "more", "told"),
    [
        (None, (), "the plan has no level for tests"),
        (0.002, ("--calibration-level=0.05",), "leave --calibration-level out"),
    ],
)
def test_plan_that_has_no_use_ends_the_session(session, tmp_path, check_level, more, told):
    done = session(PASSING, f"--calibration-plan={plan_file(tmp_path, check_level)}", *more)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([f"*{told}*"])


def test_file_that_is_no_plan_ends_the_session(session, tmp_path):
    """Other JSON, half of it, or none."""
    path = plan_file(tmp_path, 0.002)
    for text in ('{"schema": "caltest/htest/3"}', path.read_text()[:50], None):
        path.unlink() if text is None else path.write_text(text)
        done = session(PASSING, f"--calibration-plan={path}")
        assert done.ret == pytest.ExitCode.USAGE_ERROR
        done.stderr.fnmatch_lines(["*--calibration-plan: *"])


@pytest.mark.full
def test_sessions_at_once_forget_nothing(pytester):
    """Each of four that end together keeps what it rejected, though a cache is slow to be read."""
    importlib.metadata = importlib.import_module("importlib.metadata")
    config = pytester.parseconfigure()
    read = config.cache.get

    def get(key, default):
        found = read(key, default)
        time.sleep(0.05)
        return found

    config.cache.get = get

    def end(k):
        session = plugin.Decisions(config)
        session.records = {f"test_{k}": [SimpleNamespace(rejected=True, question="q", seed=k)]}
        session._remember()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(end, range(4)))
    assert read(plugin.CACHE, {}) == {f"test_{k}": {"q": k} for k in range(4)}


SUBTESTS = """
def test_parts(calibration, subtests):
    with subtests.test("far off"):
        calibration.assert_calibrated(BAD)
    with subtests.test("good"):
        calibration.assert_calibrated(GOOD, test="brier")
    with subtests.test("wrong"):
        assert 1 + 1 == 3
"""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="one process"),
        pytest.param(("-n", "1"), id="xdist", marks=pytest.mark.full),
    ],
)
def test_subtests_have_outcomes_of_their_own(session, options):
    """One that passes stays so after one that is rejected, and one that fails fails by itself."""
    pytest.importorskip("_pytest.subtests")
    result = session(SUBTESTS, *options)
    result.stdout.fnmatch_lines_random(["SUBFAILED[[]far off]*Not cal*", "SUBFAILED*wrong*assert*"])
    result.stdout.no_fnmatch_line("SUBFAILED*good*")
    result.stdout.no_fnmatch_line("*xfailed*")


LATE = """
@pytest.fixture
def after(calibration):
    yield
    calibration.assert_calibrated(GOOD, test="brier")

def test_late(after):
    pass

def test_skipped(calibration):
    calibration.assert_calibrated(BAD)
    pytest.skip("the rest")
"""


def test_no_assertion_is_lost(session):
    """Not one of a teardown, when others were reported, nor one that a skip follows."""
    result = session(LATE)
    result.stdout.fnmatch_lines_random(["*must be asserted before the teardown, to be decided"])
    result.stdout.fnmatch_lines(["FAILED*test_skipped - Not calibrated*", "ERROR*test_late*"])
    result.assert_outcomes(passed=1, failed=1, errors=1)
