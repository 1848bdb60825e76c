"""What `test_calibration` was asked, and the plan of each test that this makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from caltest.checks import arrays, check_choice, check_not_label, suspect_index
from caltest.errors import NotApplicable, invalid, rows_named
from caltest.lenses import Lens
from caltest.measures import Measure
from caltest.measures.tolerance import Tolerance
from caltest.nulls.exact import MOST
from caltest.predictions import ModelData, Rows, tables
from caltest.sources.sources import Source, source_of

Found = TypeVar("Found")
Progress = Callable[[int, int], None]
Keys = tables.Keys


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What `test_calibration` was asked, checked.

    Attributes
    ----------
    given : ModelData
        Model and data, not read.
    measures : list of (str, Measure)
        Keys and measures.
    lenses : list of Lens
        None for the usual one of segments.
    tolerance : Tolerance or None
        H0 is on the size of the error.
    n_resamples : int or None
        None for an adaptive number.
    note : str
        How the tests differ from what was asked for.
    """

    given: ModelData
    measures: list[tuple[str, Measure]]
    lenses: list[Lens]
    n_resamples: int | None
    seed: int
    correction: str | None
    null: str | None = None
    tolerance: Tolerance | None = None
    level: float | None = None
    may_count: bool = True  # very many rows in cells, although they are in memory
    on_error: str = "raise"
    progress: Progress | None = None
    note: str = ""

    @property
    def most_resamples(self) -> int:
        """The number of resamples; the largest one where it is adaptive."""
        return MOST if self.n_resamples is None else self.n_resamples

    def draws(self, seed: int) -> dict[str, Any]:
        """Return how a null draws what it needs: the number of resamples and the seed."""
        return {"n_resamples": self.most_resamples, "seed": seed}

    @property
    def columns(self) -> dict[str, Any]:
        """The columns that rows are counted or read by."""
        given = self.given
        shared = {name: getattr(given, name) for name in ("label", "probs", "classes")}
        return {**shared, "by": as_columns(given.by), "weight": given.sample_weight}

    @property
    def bins(self) -> tuple[int, ...]:
        """Numbers of bins that cells must not cross."""
        return tuple(sorted({count for _, one in self.measures for count in one.cell_bins}))

    def check_arguments(self) -> None:
        """Raise NotApplicable where an argument needs the rows in memory."""
        given = self.given
        weight = given.sample_weight
        need_rows = {
            "null": None if self.null == "exact" else self.null,
            "tolerance": self.tolerance,
            **vars(given.dependence),
            "features": given.features,
            **{name: value or None for name, value in given.reading.items()},
            "ordinal": given.ordinal or None,
            "by": given.by if as_columns(given.by) == () else None,
            "an array of sample_weight": None if isinstance(weight, str) else weight,
        }
        for name, value in need_rows.items():
            if value is not None:
                raise NotApplicable(f"{name}= needs the rows", "use engine='rows'")
        if self.n_resamples is None:
            reason = "n_resamples='adaptive' needs the rows"
            raise NotApplicable(reason, "pass a number, or use engine='rows'")


def lies(given: ModelData) -> Source | None:
    """Tell where the rows lie, if they are in no array."""
    model, data = given.model, given.data
    alone = data if model is None else model if data is None else None
    return None if alone is None or isinstance(alone, Rows) else source_of(alone)


def read(given: ModelData, source: Source | None) -> tuple[Rows, Keys | None]:
    """Read the rows into memory, from where they lie if they are in no array, and their groups."""
    if source is None or source.is_eager:
        rows = given.rows()
    else:
        given = replace(given, model=None, data=source.table(given.needs))
        with rows_named(source.place):
            rows = given.rows().from_source(source.name)
    return rows, None if given.by is None else keys_of(given, rows)


def with_design(given: ModelData, options: dict[str, Any]) -> tuple[ModelData, dict[str, Any]]:
    """Read the columns that `design` names, if it names some, and what lies in files with them."""
    suspect_index(data=given.data, model=given.model, design=options.get("design"))
    names = as_columns(options.get("design"))
    if not names:
        return given, options
    source, place = lies(given), None
    if source is not None and source.native is None:
        place = source.place
        source = replace(source, native=source.table())
        given = replace(given, model=None, data=source)
    data = given.data[0] if isinstance(given.data, tuple) else given.data
    frame = data if source is None else source.native
    if not tables.is_table(frame):
        remedy = "pass a data frame, a file, or the columns themselves"
        raise invalid("design must name columns of a data frame", arrays.listing(names), remedy)
    table = tables.table_of_frame(frame)
    for name in names:
        check_not_label(given.label, "design", check_choice(name, table.names, "design"))
    with rows_named(place or table.place):
        columns = tables.design_columns({name: table.column(name) for name in names})
    return given, options | {"design": columns}


def keys_of(given: ModelData, rows: Rows) -> Keys:
    """Return the columns that groups are made of, and what several hold in each, by its name."""
    by, data = given.by, given.data
    if isinstance(by, str):
        return (by,), {}
    features = data[0] if isinstance(data, tuple) and data else data
    for frame in filter(tables.is_table, (features, given.model)):
        if found := tables.grouped_by(tables.table_of_frame(frame), by, rows.groups):
            return found
    named = rows.grouped_by if by is True else tables.named_by_itself(by)
    return named or (("group",), {})


def as_columns(by: Any) -> tuple[str, ...]:
    """Return the columns that `by` names; none where it holds values, or is not given."""
    names = [by] if isinstance(by, str) else by
    is_list = isinstance(names, list | tuple) and all(isinstance(name, str) for name in names)
    return tuple(names) if is_list else ()


@dataclass(frozen=True)
class Plan:
    """One row to be computed: a test of a measure under a lens, for one group."""

    test: str
    measure: Measure
    null: str
    lens: Lens
    predictions: Any  # Predictions before the lens, or Cells; None where chunks are read
    seed: int
    number: int  # of the test among those that were asked for
    group: object = None
    is_one_of_many: bool = False  # a class of a family or a group, not asked for by name
    note: str = ""  # how it differs from what was asked for
    tolerance: Tolerance | None = None  # H0 is on the size of the error
    clear_at: float | None = None  # the level of the decision that ends an adaptive resampling
    may_count: bool = False  # rows in cells
    alone: bool = True  # no other test is to see the same labels
    among: int = 1  # how many groups or lenses are searched for what is wrong

    @property
    def where(self) -> str:
        """The lens, and the group if there are some, in words."""
        return f"group {self.group!r}, " * (self.group is not None) + f"lens {self.lens}"

    def first_defined(self, run: Callable[[Plan], Found], *, weighted: bool) -> tuple[Plan, Found]:
        """Run the plan, or in a group that is too small for it the nearest one that is defined."""
        try:
            return self, run(self)
        except NotApplicable as error:
            for nearest in self._nearest(error.reason, weighted=weighted):
                with suppress(NotApplicable):
                    return nearest, run(nearest)
            raise

    def _nearest(self, reason: str, *, weighted: bool) -> Iterator[Plan]:
        """Yield what a group that is too small is tested by, with a note on why.

        The exact null, then the nearest measure that is defined.
        """
        if self.group is None or self.null not in self.measure.nulls:
            return
        before = f"{self.note}; " * bool(self.note)
        variant = self.measure.few_rows(weighted=weighted)
        if "exact" in self.measure.nulls and self.null != "exact" and not weighted:
            yield replace(self, null="exact", note=f"{before}tested by the exact null: {reason}")
        if variant != self.measure:
            note = f"{before}tested by the {variant.description}: {reason}"
            yield replace(self, measure=variant, null="exact", note=note)
