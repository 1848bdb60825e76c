r"""Do groups differ? A test that the error is the same in all groups at the same predictions.

H0: :math:`P(Y = 1 \mid p, g) = f(p)` with one unknown f for all groups g. A model that is wrong in
the same way everywhere is no evidence against it, nor are groups whose predictions differ. f is
fitted to all rows together, as a smooth function of the log odds, and the residuals about it are
compared between groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from caltest.htests.combine import result_of_all
from caltest.measures.gap import EventRows, Gap, Where, event_rows
from caltest.nulls.base import Replicates
from caltest.nulls.cluster import FEW_EVENTS
from caltest.numerics.joint import log_mean_exp, tail_scores
from caltest.numerics.labels import flipped_signs, resample_keys
from caltest.render import named
from caltest.results import HTest, wording
from caltest.types import Floats, Ints

KNOTS = 5  # where the common curve bends, which takes any value at each of so few predictions:
DISTINCT = 12
RIDGE = 1e-2  # rows that pull it to the predictions, for labels that a threshold separates
STEPS, LONGEST, ENOUGH = 60, 4.0, 1e-9  # of Newton's method, in units of log odds
CLUSTERS = 4096  # sums whose signs are flipped; of more, several have the same sign
CLASSES = 20  # the most that are compared one by one, those that are expected most often,
EXPECTED = 10.0  # each so often in every group: flipped signs are rough for fewer
MANY = 4096  # from here on rows of a group with nearly the same prediction are added up
CELLS, APART = 32.0, 1e4  # of them to a log odds of 1, and between groups
AT_A_TIME = 1 << 22  # numbers
FLAT = 1e-9  # share of a variance that is rounding
DECIMALS = 8  # of chi^2: what differs by less differs by rounding errors
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Event:
    """Units, rows or cells, in the order of their groups, and what was observed of an event.

    Attributes
    ----------
    name : str
        "", or which of several events.
    x : (U,) array
        Log odds of the prediction.
    size, hits, weight : (U,) array
        Rows, events among them, and the weight of a row.
    start : (G,) array
        Where each group begins.
    clusters : (U,) array or None
        Whose residuals have the same sign; None where labels are redrawn.
    dependent : bool
        Whether rows of a cluster depend on each other.
    """

    name: str
    x: Floats
    size: Floats
    hits: Floats
    weight: Floats
    start: Ints
    clusters: Ints | None
    dependent: bool = False

    def sums(self, values: Floats) -> Floats:
        """Return the sums of each group of values (U, ...), (G, ...)."""
        return np.asarray(np.add.reduceat(values, self.start))

    @cached_property
    def group(self) -> Ints:
        """The group of each unit, (U,)."""
        return np.repeat(np.arange(self.start.size), np.diff(self.start, append=self.x.size))

    @cached_property
    def basis(self) -> Floats:
        """1, the log odds, and these beyond each knot, (U, k)."""
        knots = np.unique(self.x)
        if knots.size > DISTINCT:
            order = np.argsort(self.x)
            upto = np.cumsum((self.size * self.weight)[order])
            at = np.linspace(0.0, upto[-1], KNOTS + 2)
            knots = np.unique(np.interp(at, upto, self.x[order]))
        beyond = np.maximum(self.x[:, None] - knots[1:-1], 0.0)
        return np.column_stack([np.ones_like(self.x), self.x, beyond])

    def in_cells(self, *, weighted: bool) -> Event:
        """Add up rows of a group whose predictions are nearly the same, where there are many."""
        if weighted or self.clusters is not None or self.x.size < MANY:
            return self
        keys, code = np.unique(self.group * APART + np.round(self.x * CELLS), return_inverse=True)
        size, hits, x = (
            np.asarray(np.bincount(code, values), np.float64)
            for values in (self.size, self.hits, self.x * self.size)
        )
        start = np.searchsorted(keys, (np.arange(self.start.size) - 0.5) * APART)
        return Event(self.name, x / size, size, hits, np.ones(size.size), start, None)

    def curve(self, basis: Floats, own: Floats | None = None) -> Floats:
        """Return the coefficients of the change of the log odds that fits best."""
        mass = self.size * self.weight
        ridge = RIDGE / mass.sum() * (mass * basis.T) @ basis
        if own is not None:
            basis, ridge = np.column_stack([basis, own]), np.pad(ridge, (0, 1))
        gamma = np.zeros(len(ridge))
        for _ in range(STEPS):
            q = expit(self.x + basis @ gamma)
            H = (mass * q * (1.0 - q) * basis.T) @ basis + ridge
            slope = basis.T @ (self.weight * (self.hits - self.size * q)) - ridge @ gamma
            step = np.linalg.lstsq(H, slope, rcond=LEAST)[0]
            reach = float(np.abs(basis @ step).max())
            gamma += step * min(1.0, LONGEST / max(reach, LEAST))
            if reach < ENOUGH:
                break
        return gamma

    @cached_property
    def common(self) -> Floats:
        """The curve of all groups, (U,)."""
        return np.asarray(expit(self.x + self.basis @ self.curve(self.basis)))

    @property
    def has_rough_signs(self) -> bool:
        """Whether signs know too little: of few events, and of single rows of unequal weights."""
        if self.clusters is None:
            return False
        few = float((self.size * self.common) @ (1.0 - self.common)) < FEW_EVENTS
        alone = np.unique(self.clusters).size == self.clusters.size
        return few or bool(alone and np.ptp(self.weight) > 0)

    def information(self, weight: Floats) -> Floats:
        """Return the weighted products of the basis, (G, k, k), times the variances of the events.

        Added up from its right end, as a matrix of all pairs of so many units would be large.
        """
        v, b = weight * self.size * self.common * (1.0 - self.common), self.basis
        return np.stack([self.sums((v * column)[:, None] * b) for column in b.T], axis=1)

    @cached_property
    def weights(self) -> Floats:
        """What an efficient score takes of the sums of residuals times the basis, (G, k, 2 G).

        A score is the sum over a group, for a shift and a slope of its own, less its regression on
        those of all rows: to first order it does not depend on the fit.
        """
        own = self.information(self.weight)
        G, k, _ = own.shape
        taken = np.linalg.pinv(own.sum(axis=0), LEAST, hermitian=True) @ own[:, :, :2]
        found = -np.repeat(taken.transpose(1, 0, 2).reshape(1, k, 2 * G), G, axis=0)
        for g in range(G):
            found[g, [0, 1], [2 * g, 2 * g + 1]] += 1.0
        return found

    def drawn(self, n_resamples: int, seed: int) -> tuple[Floats, Floats]:
        """Return the scores observed and resampled, (B + 1, 2 G), and their covariance."""
        q, b, weights, G = self.common, self.basis, self.weights, self.start.size
        flat = weights.reshape(-1, 2 * G)
        terms = (self.weight * (self.hits - self.size * q))[:, None] * b
        observed = self.sums(terms).reshape(1, -1) @ flat
        if self.clusters is not None:
            code, count = self.clusters * G + self.group, int(self.clusters.max()) + 1
            sums = [np.bincount(code, term, count * G) for term in terms.T]
            own = np.stack(sums, axis=-1).reshape(count, -1) @ flat
            signs = flipped_signs(np.arange(count), resample_keys(seed, n_resamples))
            return np.vstack([observed, signs @ own]), own.T @ own
        rng, found = np.random.default_rng(seed), [observed]
        step, ends = max(1, AT_A_TIME // q.size), [*self.start[1:].tolist(), q.size]
        for first in range(0, n_resamples, step):
            shape = min(step, n_resamples - first), q.size
            alone = self.size.max() <= 1
            hits = rng.random(shape) < q if alone else rng.binomial(self.size.astype(int), q, shape)
            r = self.weight * (hits - self.size * q)
            parts = [r[:, i:j] @ b[i:j] for i, j in zip(self.start, ends, strict=True)]
            found.append(np.hstack(parts) @ flat)
        given = weights, self.information(np.square(self.weight)), weights
        return np.vstack(found), np.einsum("gka,gkl,glb->ab", *given, optimize=True)

    @cached_property
    def free(self) -> Floats:
        """The share of the information on a shift of each group that the curve leaves, (G,).

        It is 0 for one whose predictions no other group has: nothing can be compared there.
        """
        own, G = self.information(self.weight)[:, 0], np.arange(self.start.size)
        free = np.einsum("gk,gk->g", own, self.weights[G, :, 2 * G])
        share = free / np.maximum(own[:, 0], LEAST)
        return np.where(share > FLAT, share, 0.0)

    @cached_property
    def points(self) -> Floats:
        """What a unit of the score of a shift is in the share of events of each group, (G,)."""
        mass = self.sums(self.size * self.weight)
        return np.asarray(np.maximum(1.0 / np.maximum(self.free, LEAST) / mass, LEAST))

    def gap(self, g: int, name: str, variance: float, count: int) -> Gap:
        """Return what is observed in a group less what the curve of the others gives there.

        `variance` is that of its score; the interval holds together with those of `count` - 1
        others.
        """
        own = self.group == g
        weight, size = self.weight[own], self.size[own]
        others = expit(self.x[own] + self.basis[own] @ self.curve(self.basis, own)[:-1])
        mass = float(weight @ size)
        observed = float(weight @ self.hits[own]) / mass
        variance = max(variance, 0.0) * self.points[g] ** 2  # rounding may leave less than 0
        rows = mass / float(np.square(weight) @ size) / self.points[g]
        clusters = None
        if self.dependent and self.clusters is not None:
            clusters = np.unique(self.clusters[own]).size
        effective = observed * (1.0 - observed) / max(variance, LEAST**2)
        return Gap.of(
            kind="difference",
            name=f"{self.name} in {name}".removeprefix(" in "),
            n=int(size.sum()),
            predicted=float(weight @ (size * others)) / mass,
            observed=observed,
            deviation=float(np.sqrt(variance)),
            effective=float(max(effective, rows) if clusters is None else effective or rows),
            clusters=None if clusters == 1 else clusters,
        ).one_of(count)


def difference_of(
    rows: Sequence[HTest], *, n_resamples: int, seed: int, level: float | None
) -> HTest | None:
    r"""Test that the groups of a table have the same error at the same predictions.

    With residuals :math:`r = y - \hat f(p)`, the efficient scores of a shift and a slope of each
    group on the scale of log odds are its sums of r and of r z, less their regression on the basis
    of f. Three statistics are combined by the log mean of 1 / p: the :math:`\chi^2` of the shifts
    of all groups, the largest standardised shift of one group, and the :math:`\chi^2` of shifts and
    slopes. Their joint null distribution is that of labels redrawn from :math:`\hat f`; where rows
    depend on each other, and of several events (the predicted class is right, and each class), that
    of residuals whose signs are flipped by cluster or by row. Where signs know too
    little, of fewer than 50 events and of single rows of unequal weights, as those of censored
    times, it is the one of both with the larger p-value. The p-value is approximate, with an error
    that vanishes as groups grow (study "Do groups differ?").

    Parameters
    ----------
    rows : sequence of HTest
        Tests of groups; of several of a group, the first under the lens that most groups have.
    n_resamples, seed, level : int, int, and float or None
        As for `test_calibration`.

    Returns
    -------
    HTest or None
        Its size is the gap of the group that is farthest from the others, or where no difference is
        shown of the one in which the largest is not ruled out: predicted is what the others' curve
        gives for its predictions. None where fewer than two groups have rows at hand, no event
        varies, or no two groups share predictions.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, Biometrika 45; Neyman
    (1959), Optimal asymptotic tests of composite statistical hypotheses; Liu (1988), Bootstrap
    procedures under some non-iid models, Ann. Statist. 16 (signs).
    """
    by_lens: dict[str, dict[Any, HTest]] = {}
    for row in rows:
        by_lens.setdefault(str(row.lens), {}).setdefault(row.group, row)
    firsts = list(max(by_lens.values(), key=len).values())
    parts = [_columns(row) for row in firsts]
    if len(parts) < 2 or not all(parts):
        return None
    events = [one for one in _events(parts) if 0 < one.hits @ one.weight < one.size @ one.weight]
    events = [one for one in events if one.free.any()]
    if not events:
        return None
    ways = [events]
    if len(events) == 1 and events[0].has_rough_signs:
        ways.append([replace(events[0], clusters=None)])
    found = [[event.drawn(n_resamples, seed) for event in some] for some in ways]
    tested = [_replicates(drawn) for drawn in found]
    chosen = max(range(len(ways)), key=lambda k: tested[k].pvalue)
    replicates, drawn = tested[chosen], found[0]
    shifts = np.array([(scores[0, ::2], np.diag(V)[::2]) for scores, V in drawn])  # (E, 2, G)
    far, sd = np.abs(shifts[:, 0]), np.sqrt(np.maximum(shifts[:, 1], LEAST))
    if wording.speaks(replicates.pvalue, level):
        far = far / sd
    else:  # where the largest difference is not ruled out
        far = (far + 2.0 * sd) * np.array([event.points for event in events])
    far = np.where(np.array([event.free for event in events]) > 0, far, 0.0)
    # Of two groups either is as far from the other: the first of those that are equal.
    e, g = np.unravel_index(int(np.argmax(far >= (1.0 - FLAT) * far.max())), far.shape)
    flipped = ways[chosen][0].clusters is not None
    way = "signs of residuals flipped about" if flipped else "labels redrawn from"
    first, name = firsts[0], wording.called(named(firsts[g].group), firsts)
    value, text = float(replicates.values[0]), f"{way} one curve of all groups"
    about: dict[str, Any] = {"groups": len(firsts), "n": sum(row.n for row in firsts)}
    about |= {"n_resamples": n_resamples, "seed": seed}
    return replace(
        result_of_all(first, "C", value, replicates.pvalue, text, **about),
        test="difference",
        method="Test that all groups have the same error at the same predictions",
        null=wording.COMMON,
        claim="at the same predictions the event is as frequent in all groups",
        null_distribution=replicates.values[1:],
        level=level,
        size=events[e].gap(int(g), name, float(shifts[e, 1, g]), far.size),
    )


def _replicates(drawn: Sequence[tuple[Floats, Floats]]) -> Replicates:
    """Combine the statistics of scores observed and resampled of each event, with covariances."""
    each = []  # chi^2 of shifts, the largest squared shift in units of its sd, and chi^2 of all
    for scores, covariance in drawn:
        shifts, of_shifts = scores[:, ::2], covariance[::2, ::2]
        variance = np.diag(of_shifts)
        seen = variance > FLAT * variance.max()
        farthest = (np.square(shifts[:, seen]) / variance[seen]).max(axis=1, initial=0.0)
        each.append((_chi2(shifts, of_shifts), farthest, _chi2(scores, covariance)))
    chi2, largest, whole = np.array(each).transpose(1, 0, 2)
    values = np.round([chi2.sum(axis=0), largest.max(axis=0), whole.sum(axis=0)], DECIMALS)
    tails = [tail_scores(one, float(one.max()), two_sided=False) for one in values]
    return Replicates(log_mean_exp(np.array(tails)), 1.0, "greater")


def _chi2(scores: Floats, covariance: Floats) -> Floats:
    """Return x' V^- x of each x, without the directions in which V is flat."""
    values, vectors = np.linalg.eigh(covariance)
    seen = values > 1e2 * FLAT * values[-1]
    return np.asarray(np.square(scores @ vectors[:, seen]) @ (1.0 / values[seen]))


# ---- what is compared ---------------------------------------------------------------------------

Column = tuple[str, EventRows, Floats]  # name of the event, rows or cells, rows of each


def _columns(row: HTest) -> list[Column]:
    """Return the events of a group: that of two classes, or a right prediction and each class."""
    if row.counted is not None and row.counted.cells.weights is None:
        cells = row.counted.cells
        return [("", EventRows(cells.mean, cells.events), cells.n.astype(np.float64))]
    if row.evidence is None:
        return []
    seen = row.evidence.seen
    found = [("accuracy" if seen.m > 2 else "", event_rows(row.evidence.sized))]
    names = [str(name) for name in seen.classes] if seen.m > 2 else []
    found += [(f"P({name})", Where(event=name).rows(seen)) for name in names]
    return [(name, rows, np.ones(rows.probs.size)) for name, rows in found]


def _events(parts: Sequence[Sequence[Column]]) -> Iterator[Event]:
    """Yield each event of all groups; of classes those that are often expected in each."""
    expected = np.array([[column[1].probs.sum() for column in part[1:]] for part in parts])
    often = np.argsort(-expected.sum(axis=0), kind="stable")[:CLASSES]
    chosen = [0, *(1 + k for k in sorted(often) if expected[:, k].min() >= EXPECTED)]
    start = np.append(0, np.cumsum([part[0][1].probs.size for part in parts])[:-1])
    for k in chosen:
        columns = [part[k][1] for part in parts]
        p = np.concatenate([rows.probs for rows in columns])
        weight = [np.ones(len(r.probs)) if r.weight is None else r.weight for r in columns]
        codes = [  # rows of a group in which each stands for itself have signs of their own
            ~np.arange(at, at + rows.probs.size) if rows.clusters is None else rows.clusters
            for at, rows in zip(start, columns, strict=True)
        ]
        dependent = any(rows.clusters is not None for rows in columns)
        signs = np.unique(np.concatenate(codes), return_inverse=True)[1]
        yield Event(
            name=parts[0][k][0],
            x=np.log(np.maximum(p, LEAST) / np.maximum(1.0 - p, LEAST)),
            size=np.concatenate([part[k][2] for part in parts]),
            hits=np.concatenate([rows.happened for rows in columns]).astype(np.float64),
            weight=np.concatenate(weight),
            start=start,
            clusters=signs % CLUSTERS if dependent or len(chosen) > 1 else None,
            dependent=dependent,
        ).in_cells(weighted=any(rows.weight is not None for rows in columns))
