"""The state of `caltest monitor` where processes come at once, are killed, or cannot write."""

import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest.cli.app import run

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform == "win32", reason="signals, modes and links of POSIX"),
]


@pytest.fixture
def days(tmp_path):
    """Write four days of a model that is right."""
    rng, files = np.random.default_rng(1), []
    for k in range(4):
        p = rng.uniform(0.02, 0.98, 50)
        lines = [f"{int(u < q)},{q!r}" for q, u in zip(p.tolist(), rng.random(50), strict=True)]
        files.append(tmp_path / f"day{k}.csv")
        files[-1].write_text("\n".join(["y,p", *lines]) + "\n")
    return files


def begin(state, file, **options):
    """Begin a process that takes a file into the state."""
    words = [sys.executable, "-P", "-m", "caltest", "monitor", state, file]
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.Popen([*map(str, words), "--label", "y", "--probs", "p"], **given)


def taken(state, file):
    """Take a file into the state in this process."""
    return run(["monitor", str(state), str(file), "--label", "y", "--probs", "p"])


def finished(process):
    """Return the exit status and what was said on standard error."""
    _, said = process.communicate()
    return process.returncode, said.decode()


def rows(state):
    """Return how many rows a state has counted."""
    return ct.Monitor.from_json(Path(state).read_text()).n


def test_processes_at_once_lose_no_rows(days, tmp_path):
    """Four files into a state that is not there yet, two of them through a link."""
    folder = tmp_path / "states"
    folder.mkdir()
    state, link = folder / "state.json", folder / "link.json"
    link.symlink_to("state.json")
    names = (state, link, state, link)
    begun = [begin(name, day) for name, day in zip(names, days, strict=True)]
    assert [finished(process)[0] for process in begun] == [0] * 4
    assert rows(state) == 200
    assert link.is_symlink()
    assert sorted(path.name for path in folder.iterdir()) == ["link.json", "state.json"]


def test_the_same_file_at_once_is_counted_once(days, tmp_path):
    """The one that comes second is refused."""
    state = tmp_path / "state.json"
    told = [finished(process) for process in [begin(state, days[0]) for _ in range(2)]]
    assert sorted(status for status, _ in told) == [0, 2]
    assert any("the same rows, counted as rows 1 to 50" in said for _, said in told)
    assert rows(state) == 50


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_output_counts_no_rows(days, tmp_path):
    """The state stays, with its mode; the retry counts the rows once."""
    state = tmp_path / "state.json"
    assert taken(state, days[0]) == 0
    state.chmod(0o600)
    with Path("/dev/full").open("w") as full:
        status, said = finished(begin(state, days[1], stdout=full))
    assert (status, rows(state)) == (2, 50)
    assert said == "caltest: output: No space left on device\n"
    assert taken(state, days[1]) == 0
    assert (rows(state), stat.S_IMODE(state.stat().st_mode)) == (100, 0o600)


def test_a_process_that_is_killed_leaves_a_whole_state(days, tmp_path):
    """Between its output and the new state, at the latest; the next call tidies up."""
    folder = tmp_path / "states"
    folder.mkdir()
    state = folder / "state.json"
    assert taken(state, days[0]) == 0
    for _ in range(3):
        process = begin(state, days[1])
        process.stdout.read(1)
        process.send_signal(signal.SIGKILL)
        assert finished(process)[0] in {-signal.SIGKILL, 0}
        assert rows(state) in {50, 100}
        if rows(state) == 100:  # the day was taken before the signal came: again it is refused
            break
    assert taken(state, days[2]) == 0
    assert [path.name for path in folder.iterdir()] == ["state.json"]
