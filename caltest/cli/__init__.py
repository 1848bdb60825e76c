"""The command line, one file per command. No mathematics here."""

import gc
import os
import sys
from collections.abc import Sequence

from caltest.lazy import Later

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows `caltest`; by default that of the process.

    Raises
    ------
    SystemExit
        Always.
    """
    if arguments is None:  # a process of its own, where all but a little of what is made stays
        gc.set_threshold(1_000_000)
        # scikit-learn imports it for one function; it takes longer than all of caltest.
        sys.modules.setdefault("scipy.stats", Later("scipy.stats"))
        for name in ("stdout", "stderr"):  # Python has none of a stream that is closed, as by 2>&-
            setattr(sys, name, getattr(sys, name) or open(os.devnull, "w"))  # noqa: SIM115, PTH123
    try:
        from caltest.cli import app
    except Exception as error:  # noqa: BLE001 - Python would leave with 1, which --fail has
        sys.stderr.write(f"caltest: this installation is broken: {error}\n")
        sys.exit(70)
    status = app.run(arguments)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            app.close_output(stream)  # or Python would fail on it again, with a status of its own
    if arguments is None:
        gc.freeze()  # or Python would go through all objects several times before it ends
    sys.exit(status)
