"""Features of a scalar kernel: its values at some predictions, whose products stand for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from caltest.kernels.fitted import FittedScalar, kernel_between
from caltest.kernels.simplex import ScalarKernel
from caltest.numerics import class_sums
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import blocks, one_blas_thread
from caltest.types import Floats, Ints, Labels, SmallInts

LANDMARKS, WIDTH = 128, 32  # predictions at which the kernel is evaluated; features at most
AT_A_TIME = 1 << 22  # numbers in a temporary array
ROWS = 1 << 13  # whose features are rounded at a time
LEFT_OUT = 1e-10  # of the kernel, by pivoted features, below which it counts as nothing


@dataclass(frozen=True, eq=False)
class Features:
    r"""Functions of a prediction, linear in the values of a kernel between it and some landmarks.

    With the kernel :math:`k_L(p)` between p and the landmarks and :math:`K_{LL}` between these, the
    kernel is approximated by :math:`k_L(p)' K_{LL}^+ k_L(q)` (Williams and Seeger 2001, Using the
    Nystroem method to speed up kernel machines), which is itself positive semi-definite, and exact
    for the landmarks; of a sample (`of`), by the largest principal components of that.

    Attributes
    ----------
    kernel : ScalarKernel
        The kernel.
    bandwidth : float
        Its bandwidth as a number.
    rule : str
        How that was chosen, in words.
    is_degenerate : bool
        Whether all predictions are equal, so that the rule gives no bandwidth and it is 1.0.
    landmarks : (D, m) array
        Different predictions.
    root : (D, r) array
        The features are their product with it.
    """

    kernel: ScalarKernel
    bandwidth: float
    rule: str
    is_degenerate: bool
    landmarks: Floats
    root: Floats

    @classmethod
    def of(cls, kernel: ScalarKernel, sample: Floats) -> Features:
        """Fit a kernel to a sample of different predictions, and take the landmarks among them.

        They are those of a pivoted Cholesky decomposition, and the features are the principal
        components of what it gives for the sample.
        """
        fitted = FittedScalar(kernel, sample)
        columns, pivots, _ = pivoted_features(kernel, fitted.bandwidth, sample, LANDMARKS)
        with one_blas_thread():
            _, axes = np.linalg.eigh(columns.T @ columns)
            root = np.linalg.solve(columns[pivots].T, axes[:, -WIDTH:])
        landmarks = sample[pivots]
        known = fitted.bandwidth, fitted.rule, fitted.is_degenerate
        return cls(kernel, *known, landmarks, np.ascontiguousarray(root))

    @classmethod
    def at(cls, kernel: ScalarKernel, bandwidth: float, landmarks: Floats, least: float) -> Self:
        """Take landmarks, and eigenvalues between them above `least` times the largest."""
        gram = kernel_between(kernel, bandwidth, landmarks, landmarks)
        with one_blas_thread():
            values, vectors = np.linalg.eigh(gram)
        kept = values > least * values[-1]
        root = np.ascontiguousarray(vectors[:, kept] / np.sqrt(values[kept]))
        return cls(kernel, bandwidth, "given", is_degenerate=False, landmarks=landmarks, root=root)

    def between(self, left: Floats, right: Floats) -> Floats:
        """Return the kernel itself between predictions."""
        return kernel_between(self.kernel, self.bandwidth, left, right)

    def image(self, probs: Floats) -> Floats:
        """Return vectors (n, r) of predictions (n, m), whose products approximate the kernel."""
        parts = blocks(len(probs), max(1, AT_A_TIME // len(self.landmarks)))
        with one_blas_thread():
            images = [self.between(probs[some], self.landmarks) @ self.root for some in parts]
        return np.concatenate(images)

    def fixed(self, probs: Floats) -> SmallInts:
        """Return the features (c, r) of predictions (c, m), rounded to units of 2^-20."""
        out = np.empty((len(probs), self.root.shape[1]), np.int32)
        known = self.kernel, self.bandwidth
        for some in blocks(len(probs), ROWS):
            # 2^-20 is a multiple of what single precision rounds.
            near = kernel_between(*known, probs[some], self.landmarks, np.float32)
            class_sums.whole_images(near, self.root, out[some])
        return out

    def products(self, probs: Floats) -> Floats:
        """Return the approximation of the kernel between predictions (c, m), (c, c)."""
        image = self.fixed(probs) / class_sums.UNIT
        with one_blas_thread():
            return np.asarray(image @ image.T)


def pivoted_features(
    kernel: ScalarKernel, bandwidth: float, points: Floats, most: int
) -> tuple[Floats, Ints, float]:
    """Return features (n, r) of a kernel between points, and the share of it that they leave out.

    They are columns of its pivoted Cholesky decomposition, at most that many; the pivots (r,) are
    returned too.
    """
    rest, found = np.ones(len(points)), np.zeros((most, len(points)))
    pivots: list[int] = []
    while len(pivots) < most and rest.mean() > LEFT_OUT and (rest > 0.0).any():
        pivot, k = int(np.argmax(rest)), len(pivots)
        column = kernel_between(kernel, bandwidth, points[pivot : pivot + 1], points)[0]
        column -= found[:k, pivot] @ found[:k]
        found[k] = column / math.sqrt(rest[pivot])
        rest = np.maximum(rest - np.square(found[k]), 0.0)
        rest[pivot] = 0.0
        pivots.append(pivot)
    columns = np.ascontiguousarray(found[: len(pivots)].T)
    return columns, np.array(pivots, np.int64), float(rest.mean())


class FeatureTotals:
    r"""Sums over rows of features times labels, and of the pairs of a row with itself.

    With the features :math:`\phi_i`, of squared length :math:`q_i`, they are
    :math:`\sum_i \phi_i (e_{y_i} - e_{t_i})'`, :math:`\sum_i \phi_i (p_i - e_{t_i})'`, where
    :math:`t_i` is the predicted class, and the parts of :math:`\sum_i q_i |e_{y_i} - p_i|^2`, in
    whole numbers.

    Parameters
    ----------
    features : Features
        Of the kernel.
    m : int
        The number of classes.
    size : int
        Resamples, and the observed labels as number 0.
    """

    def __init__(self, features: Features, m: int, size: int) -> None:
        self.features = features
        width = features.root.shape[1]
        self.by_label = np.zeros((size, m, width), np.int64)
        self.expected = np.zeros((m, width), np.int64)
        self.own = np.zeros(size, np.int64)
        self.constant = 0

    def block(self, probs: Floats) -> tuple[SmallInts, Labels, Ints]:
        fixed = self.features.fixed(probs)
        top = np.argmax(probs, axis=1).astype(label_dtype(probs.shape[1]))
        class_sums.add_expected(fixed, probs, top, self.expected)
        lengths = np.einsum("ij,ij->i", fixed, fixed, dtype=np.int64)
        share = lengths / (class_sums.UNIT**2 // class_sums.SHARE)
        squares = 1.0 + np.einsum("ik,ik->i", probs, probs)
        own = np.rint(2.0 * share[:, None] * probs).astype(np.int64)
        usual = np.take_along_axis(own, top[:, None], axis=1)
        self.constant += int((np.rint(share * squares).astype(np.int64) - usual[:, 0]).sum())
        return fixed, top, own - usual

    def add(self, block: tuple[SmallInts, Labels, Ints], labels: Labels, some: slice) -> None:
        fixed, top, own = block
        class_sums.add_labels(fixed, own, top, labels, self.by_label[some], self.own[some])

    def __add__(self, other: FeatureTotals) -> FeatureTotals:
        self.by_label += other.by_label
        self.expected += other.expected
        self.own += other.own
        self.constant += other.constant
        return self

    def keep_observed(self) -> None:
        """Leave out the sums for all labels but those that were observed."""
        self.by_label, self.own = self.by_label[:1].copy(), self.own[:1].copy()

    def pair_sums(self) -> tuple[Floats, Floats]:
        """Return the sums of h over all pairs, i = j included, and over the pairs i = i, (B,)."""
        whole = np.empty(len(self.own))
        for b, sums in enumerate(self.by_label):
            excess = (sums * (class_sums.FINE // class_sums.UNIT) - self.expected) / class_sums.FINE
            whole[b] = np.square(excess).sum()
        return whole, (self.constant - self.own) / class_sums.SHARE
