"""The fixture `calibration`: assertions that are recorded, and decided with the whole session."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caltest.testing.assertions import Checked, Tested
    from caltest.testing.family import Record


class Calibration:
    """Assertions of a pytest test, which the session records and decides together.

    The fixture `calibration` is one.

    Parameters
    ----------
    level : float
        Significance level where a call gives none: that of the marker, or of the session.
    seed : int
        The seed where a call gives none: that of the session.
    keep : callable
        Takes each record.
    tests : int
        How many tests the session has, for which the p-values will be adjusted.

    Attributes
    ----------
    level, seed
        As given.
    """

    def __init__(
        self, level: float, seed: int, keep: Callable[[Record], None], *, tests: int = 1
    ) -> None:
        self.level, self.seed = level, seed
        self._keep, self._tests = keep, tests

    def __repr__(self) -> str:
        return f"Calibration(level={self.level}, seed={self.seed})"

    def assert_calibrated(
        self,
        model: object,
        data: object = None,
        *,
        level: float | None = None,
        rng: object = None,
        **arguments: Any,
    ) -> Tested:
        """Assert as `caltest.testing.assert_calibrated` does, at the level of the whole session.

        A p-value above the level passes. Whether a smaller one fails depends on the other tests of
        the session: the rest of this test runs, and its outcome is reported at the end.

        Parameters
        ----------
        model, data : object
            As for `caltest.testing.assert_calibrated`.
        level : float, optional
            By default that of the marker `calibration`, or `--calibration-level`.
        rng : int, Generator or SeedSequence, optional
            By default `--calibration-seed`.
        **arguments
            As for `caltest.testing.assert_calibrated`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            What was found.

        Raises
        ------
        AssertionError
            If an earlier run of this test rejected the same data with another seed.
        """
        __tracebackhide__ = True
        from caltest.testing.assertions import check_calibrated, resamples_for

        asked: dict[str, Any] = {
            "level": self.level if level is None else level,
            "rng": self.seed if rng is None else rng,
        }
        checked = check_calibrated(model, data, **asked, arguments=arguments)
        wanted = resamples_for(checked.level, self._tests)
        is_open = "n_resamples" not in arguments and wanted > resamples_for(checked.level)
        if is_open and checked.least and not checked.holds:
            # Its p-value will be multiplied by up to the number of tests. That of more resamples
            # is valid by itself, so it is where it is asked for only below the level.
            asked = {"level": checked.level, "rng": checked.seed}
            more = {**arguments, "n_resamples": wanted}
            checked = check_calibrated(model, data, **asked, arguments=more)
        return self._kept(checked)

    def assert_within(
        self,
        model: object,
        data: object = None,
        *,
        tolerance: float,
        level: float | None = None,
        rng: object = None,
        **arguments: Any,
    ) -> Tested:
        """Assert as `caltest.testing.assert_within` does, and record it.

        It fails at once, at its own level: a session passes if every such claim is shown, which
        needs no adjustment.

        Parameters
        ----------
        model, data : object
            As for `caltest.testing.assert_within`.
        tolerance : float
            The largest error that does not matter, in the unit of the test.
        level, rng : optional
            As for `assert_calibrated`.
        **arguments
            As for `caltest.testing.assert_within`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            What was found.

        Raises
        ------
        AssertionError
            If the error is not shown to be within the tolerance.
        """
        __tracebackhide__ = True
        from caltest.testing.assertions import check_within

        checked = check_within(
            model,
            data,
            tolerance=tolerance,
            level=self.level if level is None else level,
            rng=self.seed if rng is None else rng,
            arguments=arguments,
        )
        found = self._kept(checked)
        if not checked.holds:
            raise AssertionError(checked.message)
        return found

    def record(self, result: Tested, *, level: float | None = None) -> Tested:
        """Assert what the hypothesis of a result says, of a test that was run by other means.

        Parameters
        ----------
        result : HTest, HTestTable, SegmentsTest or GroupsTest
            Of `test_calibration`, `test_segments` or `test_master_scale`.
        level : float, optional
            As for `assert_calibrated`.

        Returns
        -------
        HTest, HTestTable, SegmentsTest or GroupsTest
            The result.

        Raises
        ------
        AssertionError
            If the result is one of equivalence and does not show it.
        """
        __tracebackhide__ = True
        from caltest.testing.assertions import checked_result

        checked = checked_result(result, level=self.level if level is None else level)
        self._kept(checked)
        if checked.claims_within and not checked.holds:
            raise AssertionError(checked.message)
        return result

    def _kept(self, checked: Checked) -> Tested:
        __tracebackhide__ = True
        from caltest.testing.family import record_of

        caller = sys._getframe(2)  # noqa: SLF001, the line of the assertion
        self._keep(record_of(checked, f"{_short(caller.f_code.co_filename)}:{caller.f_lineno}"))
        return checked.result


def _short(path: str) -> str:
    near = os.path.relpath(path) if os.path.splitdrive(path)[0] == "" else path
    return path if near.startswith("..") else near
