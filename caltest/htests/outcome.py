"""What the statistics found that a test combines, and where it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caltest import render
from caltest.htests.places import NAMED, find_places
from caltest.measures.gap import Gap
from caltest.measures.outcome import Part
from caltest.predictions import Predictions
from caltest.results import HTest, HTestTable
from caltest.scale import Cells

TOLD = 0.1  # largest adjusted p-value of what a component found that is told with the answer


def with_parts(
    whole: HTest,
    parts: Sequence[Part],
    seen: Predictions | Cells | None = None,
    **search: Any,
) -> HTest:
    """Add the statistics that a test combines, what they found, and where it is, if it rejects.

    Parameters
    ----------
    whole : HTest
        Without them.
    parts : sequence of Part
        The loudest first; none where the test combines none.
    seen : Predictions or Cells, optional
        What the test saw, to be searched for places; None where no rows are kept.
    **search
        Of `find_places`: among, n_resamples and seed.
    """
    if not parts:
        return whole
    places: tuple[Gap, ...] = ()
    if seen is not None and whole.pvalue <= (NAMED if whole.level is None else whole.level):
        search |= {"lens": whole.lens, "group": whole.group, "level": whole.level}
        places = find_places(seen, **search)
    loud = [part for part in parts if part.adjusted <= TOLD and (part.in_words or places)]
    finding = loud[0].finding if loud else ""
    if loud and not loud[0].in_words:
        finding = render.wrong_in_words(places[0])
    return replace(whole, components=_components(whole, parts), finding=finding, places=places)


def _components(whole: HTest, parts: Sequence[Part]) -> HTestTable:
    """Return the statistics that a test combines as results, in their order."""
    rows = [
        replace(
            whole,
            test=part.key,
            method=f"Component of the {whole.test} test: {part.title}",
            statistic_name=part.title,
            statistic=part.values[0],
            pvalue=part.pvalue,
            estimate_name=part.estimate_name,
            estimate=part.estimate,
            alternative="two-sided" if part.two_sided else "greater",
            lens=part.lens if whole.lens == "strong" else whole.lens,
            parameters={"finding": part.finding},
            n_resamples=whole.n_resamples and part.values.size - 1,
            stopping=None,
            null_distribution=part.values[1:],
            notes=(),
            evidence=None,
            replicates=None,
        )
        for part in parts
    ]
    return HTestTable(
        tuple(rows), "joint", np.array([part.adjusted for part in parts]), level=whole.level
    )
