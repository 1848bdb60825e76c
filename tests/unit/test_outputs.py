"""Tests of files that are written whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from caltest.errors import InvalidInput
from caltest.outputs import check_target, locked, replacing, write_whole

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and links of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_replaced_file_keeps_its_mode_and_its_link(tmp_path):
    """The target of a link is replaced, with the mode that it had."""
    target, link = tmp_path / "state.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o600)
    link.symlink_to("state.json")
    write_whole(link, "new")
    assert (target.read_text(), link.is_symlink()) == ("new", True)
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == ["link.json", "state.json"]


def test_new_file_has_the_mode_that_the_umask_leaves(tmp_path):
    """A file that was not there gets the mode of any other new file."""
    write_whole(tmp_path / "whole", b"x")
    (tmp_path / "plain").write_bytes(b"x")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("named", [False, True])
def test_exception_leaves_the_old_file_alone(tmp_path, monkeypatch, named):
    """What ends the writing leaves the old content and nothing beside it, on any system."""
    if named:  # as systems do that know no files without a name
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as file:  # noqa: PT012
        file.write(b"half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    write_whole(path, "new")
    assert path.read_text() == "new"
    assert names(tmp_path) == ["out.txt"]


def test_full_disk_leaves_the_old_file_alone(tmp_path):
    """Where no more bytes may be written the old file stays, and the error names the path."""
    resource = pytest.importorskip("resource")
    path = tmp_path / "out.txt"
    path.write_text("old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"out\.txt"):
            write_whole(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["out.txt"]


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files have a name from the start")
def test_kill_leaves_nothing_beside_the_old_file(tmp_path):
    """SIGKILL in the middle of the writing leaves the old file alone in its folder."""
    path = tmp_path / "out.txt"
    path.write_text("old")
    code = (
        "import sys; from caltest.outputs import replacing\n"
        f"with replacing({str(path)!r}) as file:\n"
        "    file.write(b'x' * 100000); file.flush(); print('ready', flush=True); input()"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    assert (path.read_text(), names(tmp_path)) == ("old", ["out.txt"])


def test_pipe_is_written_to_itself(tmp_path):
    """What is no plain file stays what it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "told")
    time.sleep(0.01)
    assert (os.read(reader, 10), stat.S_ISFIFO(pipe.stat().st_mode)) == (b"told", True)
    os.close(reader)


def test_file_of_standard_output_is_added_to(tmp_path):
    """`-o /dev/stdout >> log` keeps what the log had."""
    log = tmp_path / "log"
    log.write_text("before\n")
    code = "from caltest.outputs import write_whole; write_whole('/dev/stdout', 'after')"
    with log.open("a") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert log.read_text() == "before\nafter"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "a folder; name a file in it"),
        (".", "a folder; name a file in it"),
        ("no/such/file", "file'; make the folder"),
        ("file/below", "below'; make the folder"),
        ("a\0b", "null"),  # byte, or character
        ("x" * 300, "File name too long"),
        ("loop", "symbolic links"),
    ],
)
def test_names_that_cannot_be_written_are_refused(tmp_path, monkeypatch, name, words):
    """A name that no file can have is one message, whatever is wrong with it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InvalidInput, match=words):
        check_target(name)


@pytest.mark.parametrize(("path", "words"), [("folder/new", "its folder"), ("old", "it is read")])
def test_read_only_targets_are_refused(tmp_path, monkeypatch, path, words):
    """A folder or a file that may not be written is told before any work."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "old").write_text("old")
    locked = {str(tmp_path / "folder"), str(tmp_path / "old")}
    monkeypatch.setattr(os, "access", lambda one, _: str(one) not in locked)  # root may anything
    with pytest.raises(InvalidInput, match=words):
        check_target(tmp_path / path)


def test_file_that_is_read_is_not_written_over(tmp_path):
    """The same file under another name is the same file."""
    (tmp_path / "in.csv").write_text("p,y")
    (tmp_path / "out.csv").hardlink_to(tmp_path / "in.csv")
    with pytest.raises(InvalidInput, match="must not be a file that is read"):
        check_target(tmp_path / "out.csv", inputs=[tmp_path / "in.csv"])


def test_lock_lets_one_at_a_time_in(tmp_path):
    """Forty threads that read a number and write the next one lose none."""
    path, link = tmp_path / "number", tmp_path / "link"
    path.write_text("0")
    link.symlink_to("number")

    def add(k):
        with locked(link if k % 2 else path):
            write_whole(path, str(int(path.read_text()) + 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(40)))
    assert (path.read_text(), names(tmp_path)) == ("40", ["link", "number"])


def test_lock_of_another_is_waited_for_and_then_refused(tmp_path):
    """The message says that the file is in use; once it is free it is given."""
    path = tmp_path / "state.json"
    with (
        locked(path),
        pytest.raises(InvalidInput, match="must not be in use"),
        locked(path, timeout=0.1),
    ):
        pass
    with locked(path):
        assert names(tmp_path)[0].endswith(".lock")
    assert names(tmp_path) == []


def test_lock_of_a_process_that_was_killed_is_free(tmp_path):
    """What it left, a lock and half a file, is gone after the next call."""
    path = tmp_path / "state.json"
    code = (
        "import sys; from caltest import outputs\n"
        f"with outputs.locked({str(path)!r}):\n"
        f"    half = outputs._mark(outputs.Path({str(path)!r})) + '-half'\n"
        f"    outputs.Path({str(path)!r}).with_name(half).write_text('x')\n"
        "    print('ready', flush=True); input()"
    )
    words = [sys.executable, "-c", code]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        with pytest.raises(InvalidInput, match="in use"), locked(path, timeout=0.0):
            pass
        process.send_signal(signal.SIGKILL)
    assert len(names(tmp_path)) == 2
    with locked(path):
        pass
    assert names(tmp_path) == []


def test_lock_that_cannot_be_had_is_an_error_of_the_system(tmp_path, monkeypatch):
    """As on a drive without locks: the error names the file, and nothing is done without one."""

    def flock(_file, _kind):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("caltest.outputs.fcntl.flock", flock)
    with pytest.raises(OSError, match=r"No locks available.*\.lock"), locked(tmp_path / "state"):
        pass
