"""`assert_calibrated` and `assert_within`: a test of calibration whose failure is the verdict."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Unpack

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.htests import test_calibration
from caltest.htests.run import CalibrationOptions
from caltest.measures.own import name_of
from caltest.predictions import ModelData, options
from caltest.results import GroupsTest, HTest, HTestTable, sheets, wording
from caltest.segments import SegmentsTest

LEVEL = 0.01
SEED = 0

Tested = HTest | HTestTable | SegmentsTest | GroupsTest
NO_QUESTION = ("n_resamples", "n_jobs")
LONGEST = 100  # characters of an argument in the line that repeats an assertion


class Arguments(CalibrationOptions, total=False):
    """What `test_calibration` takes beside level and seed."""

    test: object
    lens: object
    null: str | None
    by: object
    segments: object
    equivalence: bool
    correction: str | None
    n_resamples: int | str
    n_jobs: int | None


class ArgumentsWithTolerance(Arguments, total=False):
    """The same with a tolerance."""

    tolerance: float | None


class TooFewRowsWarning(UserWarning):
    """Calibration was not rejected, but so few rows would not have shown a large error either."""


@dataclass(frozen=True, slots=True)
class Checked:
    """An assertion about a model, before anything is raised.

    Attributes
    ----------
    result : HTest, HTestTable, SegmentsTest or GroupsTest
        What was found.
    pvalue, level : float
        Of the answer, and the level it is compared with.
    seed : int
        The seed of the call.
    holds : bool
        Whether the assertion holds at this level.
    few : bool
        Whether there are too few rows to tell.
    headline : str
        The answer in a sentence or two.
    repeat : str
        The line that repeats the assertion.
    asked : str
        The arguments that say what is tested: without level, seed and what changes no question.
    """

    result: Tested
    pvalue: float
    level: float
    seed: int
    holds: bool
    few: bool
    headline: str
    repeat: str
    asked: str = ""

    @property
    def message(self) -> str:
        """The verdict, with the seed and the line that repeats it."""
        text = str(_row(self.result).verdict() if self.claims_within else self.result.verdict())
        few = f"\ntoo few rows: {self.headline}" if self.few and self.claims_within else ""
        repeat = f"\nrepeat: {self.repeat}" if self.repeat else ""
        return f"{text.rstrip()}{few}\nseed: {self.seed}{repeat}"

    @property
    def least(self) -> float:
        """The smallest p-value that the resamples can give; 0 where nothing is resampled."""
        row = _row(self.result)
        is_counted = isinstance(row, SegmentsTest)
        return 1 / (row.n_resamples + 1) if is_counted else row.least_pvalue or 0.0

    @property
    def claims_within(self) -> bool:
        """Whether the error is asserted to be within a tolerance: the failure to show it fails."""
        return isinstance(self.result, HTest | HTestTable) and _is_equivalence(_row(self.result))


def assert_calibrated(
    model: object,
    data: object = None,
    y: object = None,
    *,
    level: float = LEVEL,
    rng: object = SEED,
    **arguments: Unpack[ArgumentsWithTolerance],
) -> Tested:
    """Fail where the hypothesis that the model is calibrated is rejected.

    A calibrated model fails with a probability of at most `level`. With the same seed, the same
    model and data always give the same answer.

    Parameters
    ----------
    model, data, y : object
        As for `caltest.test_calibration`.
    level : float, default 0.01
        Significance level in (0, 0.5].
    rng : int, Generator or SeedSequence, default 0
        The seed.
    **arguments
        The others of `caltest.test_calibration`, such as `test=`, `lens=`, `by=`, `segments=`,
        `cluster=` and `label=`; with `tolerance=` it fails where the error is shown to be larger.
        `n_resamples` is by default 999, and more where the level is below 0.01.

    Returns
    -------
    HTest, HTestTable, SegmentsTest or GroupsTest
        What was found, where nothing is raised.

    Raises
    ------
    AssertionError
        If calibration is rejected: the message is the verdict, with the p-value, the seed and the
        line that repeats the test.
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the test has no meaning for the data.

    Warns
    -----
    TooFewRowsWarning
        If calibration is not rejected, but would not be of a model far off either.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=300, m=3, rng=1)
    >>> result = ct.testing.assert_calibrated(data)
    >>> bool(result.pvalue > 0.01)
    True
    """
    __tracebackhide__ = True
    checked = check_calibrated(model, data, y, level=level, rng=rng, **arguments)
    if not checked.holds:
        raise AssertionError(checked.message)
    if checked.few:
        warnings.warn(checked.headline, TooFewRowsWarning, stacklevel=2)
    return checked.result


def assert_within(
    model: object,
    data: object = None,
    y: object = None,
    *,
    tolerance: float,
    level: float = LEVEL,
    rng: object = SEED,
    **arguments: Unpack[Arguments],
) -> HTest | HTestTable:
    """Fail unless the calibration error is shown to be within the tolerance.

    The hypothesis that the error is at least `tolerance` must be rejected, in every row where
    tests, lenses or groups are several: a model that is off by more passes with a probability of at
    most `level`. Too few rows fail.

    Parameters
    ----------
    model, data, y : object
        As for `caltest.test_calibration`.
    tolerance : float
        The largest error that does not matter, in the unit of the test.
    level : float, default 0.01
        Significance level in (0, 0.5].
    rng : int, Generator or SeedSequence, default 0
        The seed.
    **arguments
        The others of `caltest.test_calibration`, such as `by=`. By default `test="ks"`, the largest
        cumulative gap in the unit of probabilities, with `lens="confidence"` for more than two
        classes.

    Returns
    -------
    HTest or HTestTable
        What was found, where nothing is raised.

    Raises
    ------
    AssertionError
        If the error is not shown to be within the tolerance; the message is the verdict.
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the test has no tolerance or no meaning for the data.

    References
    ----------
    Wellek (2010), Testing statistical hypotheses of equivalence and noninferiority; Berger (1982),
    Multiparameter hypothesis testing and acceptance sampling (several hypotheses that must all be
    rejected need no adjustment).

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=5000, m=2, rng=1)
    >>> result = ct.testing.assert_within(data, tolerance=0.05)
    >>> bool(result.pvalue <= 0.01)
    True
    """
    __tracebackhide__ = True
    asked: Any = {"tolerance": tolerance, **arguments}
    checked = check_within(model, data, y, level=level, rng=rng, **asked)
    if not checked.holds:
        raise AssertionError(checked.message)
    return checked.result  # type: ignore[return-value]  # segments have no tolerance


def check_calibrated(
    model: object, data: object, y: object, *, level: float, rng: object, **arguments: Any
) -> Checked:
    """Test calibration as `assert_calibrated` does, and raise nothing."""
    if arguments.get("equivalence"):
        remedy = "use assert_within, which fails unless the error is shown to be within it"
        raise invalid("assert_calibrated must not have equivalence=True", "True", remedy)
    level, seed = checks.check_level(level), _seed(rng)
    given: dict[str, Any] = {"n_resamples": resamples_for(level), **arguments}
    found = test_calibration(model, data, y, level=level, rng=seed, **given)
    repeat = f"ct.testing.assert_calibrated({_named(data, y)}"
    repeat += f"{_in_words({**arguments, 'level': level, 'rng': seed})})"
    # The arguments but those that change no question, in an order, and without addresses.
    others = {name: arguments[name] for name in sorted(arguments) if name not in NO_QUESTION}
    asked = re.sub(r" at 0x[0-9a-f]+", "", _in_words(others))
    checked = checked_result(found, level=level, seed=seed, repeat=repeat, asked=asked)
    if checked.least > level:
        got = f"{given['n_resamples']}, whose least p-value is {checked.least:.2g}"
        remedy = f"pass {resamples_for(level)} or more, or leave it out"
        raise invalid(f"n_resamples must allow a p-value of {level:g}", got, remedy)
    return checked


def resamples_for(level: float, tests: int = 1) -> int:
    """Return how many resamples make the p-value stable at a level, with so many tests.

    The smallest p-value is a tenth of the level, where it is multiplied by the number of tests.
    """
    return max(999, int(np.ceil(10 * tests / level)) - 1)


def check_within(
    model: object, data: object, y: object, *, level: float, rng: object, **arguments: Any
) -> Checked:
    """Test the tolerance as `assert_within` does, and raise nothing."""
    level, seed = checks.check_level(level), _seed(rng)
    if arguments.get("segments") is not None:
        rule = "segments must not be given for a tolerance"
        raise invalid(rule, shown(arguments["segments"]), "use by=, which tests each group")
    if not arguments.get("equivalence", True):
        remedy = "use assert_calibrated, which fails where the error is shown to be larger"
        raise invalid("assert_within must not have equivalence=False", "False", remedy)
    asked: dict[str, Any] = {"equivalence": True, "level": level, "rng": seed, **arguments}
    if "test" in arguments:
        found = test_calibration(model, data, y, **asked)
    else:
        read, asked = options.parted(asked, options.RowOptions)
        by = asked.pop("by", None)
        predictions = ModelData(model, data, y, by=by, **read).predictions()
        asked["by"] = None if by is None else True
        asked.setdefault("lens", "strong" if predictions.m == 2 else "confidence")
        found = test_calibration(None, predictions, test="ks", **asked)
    repeat = f"ct.testing.assert_within({_named(data, y)}"
    repeat += f"{_in_words({**arguments, 'level': level, 'rng': seed})})"
    return checked_result(found, level=level, seed=seed, repeat=repeat)


def checked_result(
    found: Tested, *, level: float, seed: int | None = None, repeat: str = "", asked: str = ""
) -> Checked:
    """Return what a result says of the assertion that its hypothesis is about.

    Parameters
    ----------
    found : HTest, HTestTable, SegmentsTest or GroupsTest
        The result, at this level.
    level : float
        Significance level.
    seed : int, optional
        The seed of the call; by default that of the result.
    repeat : str
        The line that repeats the test.
    asked : str
        The arguments that say what is tested.
    """
    row = _row(found)
    within = isinstance(row, HTest) and _is_equivalence(row)
    if within:
        pvalue, headline = row.pvalue, wording.headline(row, row.pvalue)
        few = pvalue > level and row.estimate < float(str(row.parameters["tolerance"]))
        if few:
            headline += f" {row.n:,} rows do not show an error of {row.estimate:.3g} to be within."
    elif isinstance(found, SegmentsTest):
        pvalue, headline, few = found.pvalue, found.verdict().headline, False
    elif isinstance(found, HTestTable):
        pvalue = wording.pvalue_of_table(found)
        headline = wording.headline_of_table(found, found.pvalue)
        few = wording.are_too_small(found)
    else:
        pvalue, headline = found.pvalue, wording.headline(found, found.pvalue)
        few = wording.is_too_small(found.size)
    seed = (row.seed if seed is None else seed) or 0
    holds = pvalue <= level if within else pvalue > level
    few = few and (within or pvalue > level)
    return Checked(found, pvalue, level, seed, holds, few, headline, repeat, asked)


def _row(found: Tested) -> Any:
    """Return the row that decides: of equivalences the one with the largest p-value."""
    if isinstance(found, HTestTable) and _is_equivalence(found.rows[0]):
        return max(found.rows, key=lambda row: row.pvalue)
    return found.rows[0] if isinstance(found, HTestTable) else found


def _is_equivalence(row: HTest) -> bool:
    return row.null == sheets.TOLERANCE and row.alternative == "less"


def _seed(rng: object) -> int:
    if rng is None:
        remedy = "pass a number: a test whose seed is drawn anew can be repeated until it passes"
        raise invalid("rng must be a seed", "None", remedy)
    return checks.check_seed(rng)


def _named(data: object, y: object) -> str:
    given = (("data", data), ("y", y))
    return ", ".join(["model", *(name for name, value in given if value is not None)])


def _in_words(arguments: Mapping[str, Any]) -> str:
    text = ""
    for key, value in arguments.items():
        plain = value.tolist() if isinstance(value, np.generic) else value
        words = name_of(value) if isinstance(value, FunctionType) else " ".join(repr(plain).split())
        text += f", {key}={words if len(words) <= LONGEST else key}"  # as model and data are named
    return text
