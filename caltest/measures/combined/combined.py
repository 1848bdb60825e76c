"""A portfolio of statistics of the same labels, combined into one exact p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import invalid
from caltest.kernels import MatrixKernel
from caltest.lenses import Lens
from caltest.measures.base import REGISTRY, BoundMeasure, Labels, Measure, Order
from caltest.measures.cells import BoundCells
from caltest.measures.chunks import BoundChunks
from caltest.measures.combined.binary import BINARY
from caltest.measures.combined.cells import CombinedCells
from caltest.measures.combined.chunks import CombinedChunks
from caltest.measures.combined.component import Component, Context, loudest_first
from caltest.measures.combined.registered import OfMeasure
from caltest.measures.combined.several import SEVERAL
from caltest.measures.combined.tails import Combining, scales_of
from caltest.measures.outcome import Part
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.scale import Cells
from caltest.scale.chunks import Survey

__all__ = ["Combined", "combined"]

Floats = NDArray[np.float64]
Name = str | Measure | tuple[str | Measure, str | Lens]

REFERENCES = 299  # redrawn labels that the scales of the components are estimated from
# Their seed, which nobody passes as rng=: a resample that is among them would not be exchangeable
# with the labels that were observed.
REFERENCE_SEED = 0x5EED_0F7A_115C_A1E5_C0AB_1EED
ROUNDING = 1e5  # of C, in units of a sum of ones: components far out multiply that of theirs
AT_A_TIME = 1 << 20  # labels
BATCH = 64  # resamples
KEYS = {component.key for component in (*BINARY, *SEVERAL)}


@dataclass(frozen=True, kw_only=True)
class Combined(Measure):
    """The combination with its portfolio; see `combined`."""

    components: Sequence[Name] | None = None

    key: ClassVar[str] = "combined"
    title: ClassVar[str] = "combination of several statistics"

    def __post_init__(self) -> None:
        if self.components is None:
            return
        given = validation.check_strings(self.components, "components")
        names = tuple(validation.check_not_empty(given, "components"))
        for name in names:
            _check(name)
        object.__setattr__(self, "components", names)

    @property
    def symbol(self) -> str:
        return "C"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact",)

    @property
    def intervals(self) -> tuple[str, ...]:
        return ()

    @property
    def interval_instead(self) -> str:
        return "test='skce', or the test that is named after a component"

    @property
    def witness_kernel(self) -> MatrixKernel | None:
        """That of the SKCE with its default kernel, whatever the components are."""
        return REGISTRY["skce"]().witness_kernel

    def plot_kind(self, m: int) -> str:
        return "reliability" if m == 2 else "witness"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundCombined:
        return BoundCombined(predictions, self.components, n_jobs)

    def bind_cells(self, cells: Cells) -> BoundCells:
        if self.components is not None:
            return super().bind_cells(cells)
        return CombinedCells(cells, REFERENCES, REFERENCE_SEED)

    def bind_chunks(self, survey: Survey, names: Sequence[str]) -> BoundChunks:
        if self.components is not None:
            return super().bind_chunks(survey, names)
        return CombinedChunks(survey, names, resample_keys(REFERENCE_SEED, REFERENCES), ROUNDING)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the components as statistics of the residuals."""
        some = portfolio(predictions, self.components, n_jobs)
        return [component.reordered() for component in some]

    def findings(self, predictions: Predictions) -> tuple[Part, ...]:
        """Return what the observed labels show of each component; its p-values are left open."""
        some = portfolio(predictions, self.components, 1)
        labels = some[0].context.labels
        pairs = [(component, component.finding(labels)) for component in some]
        return tuple(
            Part(
                key=component.key,
                title=component.title,
                lens=component.lens,
                finding=found.text,
                estimate=found.estimate,
                estimate_name=found.estimate_name,
                values=np.empty(0),
                two_sided=component.two_sided,
                in_words=found.in_words,
                pvalue=1.0,
                adjusted=1.0,
            )
            for component, found in pairs
        )


def _check(name: object) -> None:
    """Raise InvalidInput unless a component, a registered test or one under a lens is named."""
    test = name[0] if isinstance(name, tuple) and len(name) == 2 else name
    if isinstance(test, Measure) or (isinstance(test, str) and test in _known_names()):
        return
    rule = "components must be keys of components or of tests, measures, or pairs (test, lens)"
    known = ", ".join(sorted(_known_names()))
    raise invalid(rule, repr(name), f"use some of {known}")


def _known_names() -> set[str]:
    return KEYS | {key for measure in REGISTRY.values() for key in measure.declared_tests()}


class BoundCombined(Combining, BoundMeasure):
    """The portfolio, bound to predictions, with the scale of each component."""

    combines = True

    def __init__(
        self, predictions: Predictions, names: Sequence[Name] | None, n_jobs: int | None
    ) -> None:
        super().__init__(predictions)
        self.scale = ROUNDING
        self.portfolio = portfolio(predictions, names, n_jobs)
        self.context = self.portfolio[0].context
        self.parameters = {
            "components": len(self.portfolio),
            "combined by": "log mean of 1 / p over the components",
        }
        reference = self._reference(n_jobs)
        self.scales = scales_of(self.portfolio, reference)
        self.notes = _notes(self.portfolio)

    @property
    def order(self) -> Order | None:
        return self.context.order

    def _reference(self, n_jobs: int | None) -> Floats:
        step = min(BATCH, max(8, AT_A_TIME // self.predictions.n))
        keys = resample_keys(REFERENCE_SEED, REFERENCES)

        def batch(first: int) -> Floats:
            return self.statistics(self.context.reference_labels(keys[first : first + step]))

        self.context.reference_labels(keys[:1])  # what is made once, before the threads
        tasks = [(first,) for first in range(0, REFERENCES, step)]
        return np.concatenate(list(map_threads(batch, tasks, n_jobs)), axis=1)

    def statistics(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        """Return the components (K, B) for each row of `labels` (B, n)."""
        return np.stack([component.values(labels) for component in self.portfolio])

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.combine(self.statistics(labels, n_jobs))

    def combined_parts(self, statistics: Floats) -> tuple[Part, ...]:
        """Return the components, the loudest first; column 0 is that of the observed labels."""
        labels = self.observed.astype(np.int64)
        found = [component.finding(labels) for component in self.portfolio]
        return loudest_first(self.portfolio, found, self.scores(statistics), statistics)


def portfolio(
    predictions: Predictions, names: Sequence[Name] | None, n_jobs: int | None
) -> list[Component]:
    """Return the components: those of two classes or of several, or those that are named."""
    context = Context(predictions)
    kinds = BINARY if predictions.m == 2 else SEVERAL
    if names is None:
        return [kind(context) for kind in kinds]
    own = {kind.key: kind for kind in kinds}
    return [
        own[name](context)
        if isinstance(name, str) and name in own
        else OfMeasure(context, *(name if isinstance(name, tuple) else (name, "strong")), n_jobs)
        for name in names
    ]


def _notes(components: Sequence[Component]) -> tuple[str, ...]:
    context = components[0].context
    uses = "features" in vars(context)
    if uses and not context.features.are_exact:
        width = context.features.values.shape[1]
        return (f"the SKCE is that of {width} features of the kernel, not of all pairs",)
    return ()


def combined(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    components: Sequence[Name] | None = None,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Combine several statistics of calibration into one.

    With :math:`p_k` the tail probability of component k under calibration, estimated from labels
    redrawn from the predictions, it is

    .. math:: C = \log \frac{1}{K} \sum_k \frac{1}{p_k},

    minus the log of the harmonic mean of the tail probabilities: about as large as the loudest
    component, less :math:`\log K`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array. A lens
        that leaves two classes has the components of two classes.
    components : sequence, optional
        Another portfolio: keys of components ("temperature"), of tests ("ece"), measures, or pairs
        of a test and a lens, ("ks", "confidence").
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        At least 0. Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a component that is named has no meaning for the predictions.

    References
    ----------
    Biggs, Schrab, Gretton (2023), MMD-FUSE: Learning and combining kernels for two-sample testing
    without data splitting, NeurIPS 36 (log-mean-exp of standardised statistics); Wilson (2019),
    The harmonic mean p-value for combining dependent tests, PNAS 116; Pesarin, Salmaso (2010),
    Permutation tests for complex data, chapter 4 (combination of dependent tests).

    Examples
    --------
    >>> import caltest as ct
    >>> predictions = ct.datasets.generative_model("M2", n=100, m=3, rng=1)
    >>> ct.measures.combined(predictions) > 3
    True
    """
    return Combined(components=components).evaluate(probs, labels, lens, n_jobs)
