"""Named tests: measures under names of their own, and the options that they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypedDict

from caltest.errors import invalid
from caltest.measures import REGISTRY as MEASURES
from caltest.measures import Measure
from caltest.predictions.options import Reading, did_you_mean, names_of

# Of `test_calibration`, as far as an option of a test may be taken for one.
ARGUMENTS = ("model", "data", "y", "by", "level", "n_resamples", "rng", "n_jobs")


@dataclass(frozen=True)
class NamedTest:
    """A measure under a name of its own.

    Attributes
    ----------
    key : str
        Registry key, file name and name on the command line.
    measure : type of Measure
    fixed : Mapping
        Options of the measure that the name stands for.

    Examples
    --------
    >>> REGISTRY["skce-linear"].fixed["estimator"]
    'linear'
    """

    key: str
    measure: type[Measure]
    fixed: Mapping[str, object] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """One line for lists of tests."""
        return self.measure(**self.fixed).description

    @property
    def nulls(self) -> tuple[str, ...]:
        """The nulls that have a meaning for this test; the first is the default."""
        return self.measure(**self.fixed).nulls

    @property
    def default_null(self) -> str:
        """The null where the caller names none; options may leave it another."""
        return self.nulls[0]

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The options that a caller may give."""
        return tuple(f.name for f in fields(self.measure) if f.name not in self.fixed)

    def with_options(self, options: Mapping[str, object]) -> Measure:
        """Make the measure from the options that it takes; the others are for other tests."""
        own = {name: options[name] for name in self.options if name in options}
        return self.measure(**self.fixed, **own)


def check_options(tests: Mapping[str, NamedTest], options: Mapping[str, object]) -> None:
    """Raise InvalidInput for an option that none of the tests takes."""
    for name in options:
        if not any(name in test.options for test in tests.values()):
            known = sorted({name for test in tests.values() for name in test.options})
            takes = next((key for key in REGISTRY if name in REGISTRY[key].options), "")
            remedy = f"use {', '.join(known)}" if known else "give them to the measure itself"
            also = f", or name a test that takes it, such as {takes!r}" if takes else ""
            near = did_you_mean(name, [*known, *names_of(Reading), *ARGUMENTS])
            if near and name not in names_of(Reading):
                remedy = near
            rule = f"options must be taken by a test named by its key ({', '.join(tests)})"
            raise invalid(rule, repr(name), remedy + also)


REGISTRY: dict[str, NamedTest] = {
    key: NamedTest(key, measure, fixed)
    for measure in MEASURES.values()
    for key, fixed in measure.declared_tests().items()
}


# ---- options of `test_calibration` that go through `**`, for type checkers and editors -----------


class MeasureOptions(TypedDict, total=False):
    """Options of the measures in `REGISTRY`, of which each test takes its own; and of segments."""

    alternative: Any
    bandwidth: Any
    binning: Any
    bins: Any
    block_size: Any
    components: Any
    correlation: Any
    depth: Any
    design: Any
    digits: Any
    distance: Any
    eps: Any
    estimator: Any
    groups: Any
    internal: Any
    keep: Any
    kernel: Any
    locations: Any
    max_bins: Any
    max_degree: Any
    method: Any
    min_size: Any
    p: Any
    root: Any
    scaled: Any
    scales: Any
    slopes: Any
    span: Any
    splits: Any
    statistic: Any
    threshold: Any
    width: Any


class CalibrationOptions(Reading, MeasureOptions, total=False):
    """What `test_calibration` takes beside its own arguments: data options, and of measures."""

    reference: Any
    score: Any
