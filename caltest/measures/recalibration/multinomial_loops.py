"""Recalibration of several classes: logits z_j + alpha_j + beta_j f_j, z = log p.

With one beta for all classes f is z less its largest of the row, and otherwise z less that of the
reference class. The labels enter the likelihood by their sums alone, so that redrawn labels share
all the rest.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from caltest.checks import check_memory
from caltest.numerics.class_sums import placed_sums
from caltest.numerics.logistic import exp_minus
from caltest.numerics.loops import njit
from caltest.numerics.newton import climb
from caltest.numerics.softmax import curvature
from caltest.types import Flags, Floats, Labels, Order

STEPS = 200
DECREMENT_TOLERANCE = 1e-13  # of the decrement, relative to the gain: what remains is smaller
FAR = 0.05  # change of a parameter after which an old curvature does not tell the end
FAST = 0.1  # fall of the decrement by a step that is good enough with an old curvature
PIVOT = 1e-6  # of the factor of a curvature with unit diagonal: below there may be none
CUT = 1e-13  # relative curvature that counts as none
LONG = 50.0  # change of a logit in a step that leaves the region where the curvature means anything
BLOCKED = 1e-9  # part of the slope without curvature that is more than rounding
NOISE = 1e-14  # of a slope, relative to the sum of weights
FACTORED = 2**17  # numbers in the table whose factor is the curvature without squares
ABSENT = -1e300  # alpha of a class without a label, whose probability vanishes


Free = tuple[Order, Order]  # entries of (alpha, beta) that are fitted, and those that are one


class Task(NamedTuple):
    """What does not depend on the labels.

    Attributes
    ----------
    probs, features : (n, m) array
        p, all positive, and f.
    weight : (n,) array
    reference : int
        The class that has no slope, or -1 where there is one for all classes.
    expected : (2m,) array
        Sums of w p and of w p f.
    curvature : (2m, 2m) array
        That of the likelihood at (0, 0).
    largest : float
        The largest size of a feature.
    """

    probs: Floats
    features: Floats
    weight: Floats
    reference: int
    expected: Floats
    curvature: Floats
    largest: float


def make_task(probs: Floats, weight: Floats, reference: int) -> Task:
    """Prepare predictions; a reference of -1 asks for one slope.

    Raises
    ------
    NotApplicable
        If there are so many classes that two curvatures take more than 1 GiB.
    """
    m = probs.shape[1]
    check_memory(2 * (2 * m) ** 2, f"a fit of intercepts and slopes to {m} classes")
    features = np.log(probs)
    features -= features.max(axis=1, keepdims=True) if reference < 0 else features[:, [reference]]
    nothing = np.zeros(2 * probs.shape[1])
    expected, _ = expectations(probs, features, weight, nothing, np.ones(probs.shape[1]))
    start = hessian(features, weight, nothing)
    return Task(probs, features, weight, reference, expected, start, float(np.abs(features).max()))


def class_sums(labels: Labels, features: Floats, weight: Floats) -> Floats:
    """Return the sums of w and of w f over the rows of each class, (B, 2m)."""
    m, w = features.shape[1], np.broadcast_to(weight[:, None], features.shape)
    classes = np.broadcast_to(np.arange(m), features.shape)
    return np.hstack([placed_sums(labels, classes, one, m) for one in (w, w * features)])


def fit(task: Task, sums: Floats) -> tuple[Floats, float]:
    """Maximise the likelihood for labels with `sums` (2m,).

    Returned are (alpha, beta), (2m,), and the gain of log likelihood over no change.

    A class without a label is left out of the softmax, as its intercept goes to minus infinity.
    Where labels are separated the parameters grow without bound while the gain tends to its limit.
    Newton's steps keep the curvature of the start while they are fast; where there is a slope
    without a curvature, a region of trust takes over.
    """
    m = task.probs.shape[1]
    present = sums[:m] > 0
    free = _free(task.reference, present)
    theta = np.concatenate([np.where(present, 0.0, ABSENT), np.zeros(m)])
    there, before, curvature = theta, math.inf, task.curvature
    gradient, gain = _gradient(task, theta, sums, present)
    for _ in range(STEPS):
        step, blocked = newton_step(curvature, gradient, free)
        decrement = float(gradient @ step)
        done = decrement <= DECREMENT_TOLERANCE * max(1.0, gain)
        if decrement > FAST * before or (done and np.abs(theta - there).max() > FAR):
            curvature, there = hessian(task.features, task.weight, theta), theta
            step, blocked = newton_step(curvature, gradient, free)
            decrement = float(gradient @ step)
        reach = float(np.abs(step[:m]).max() + np.abs(step[m:]).max() * task.largest)
        trial = _gradient(task, theta + step, sums, present)
        blocked = blocked or reach > LONG or (reach > 1.0 and trial[1] < gain)
        if blocked:
            break
        theta = theta + step
        gradient, gain = trial
        before = decrement
        if decrement <= DECREMENT_TOLERANCE * max(1.0, gain):
            break
    if blocked:
        theta = _climb(task, theta, sums, present, free)
        _, gain = _gradient(task, theta, sums, present)
    return theta, max(gain, 0.0)


def _climb(task: Task, theta: Floats, sums: Floats, present: Flags, free: Free) -> Floats:
    """Return where the likelihood comes to its supremum, from theta on, step by bounded step."""
    # The change of (alpha, beta) by a free parameter; a unit moves a logit by up to 1.
    kept, shared = free
    axes = np.zeros((theta.size, kept.size + bool(shared.size)))
    axes[kept, np.arange(kept.size)] = 1.0
    axes[shared, -1] = 1.0
    axes[theta.size // 2 :] /= max(task.largest, 1e-290)

    def value(x: Floats) -> tuple[Floats, float]:
        gradient, gain = _gradient(task, theta + axes @ x, sums, present)
        return gradient @ axes, gain

    def factor(x: Floats) -> Floats:
        (n, m), point = task.probs.shape, theta + axes @ x
        if n * m * axes.shape[1] > FACTORED:
            H = axes.T @ hessian(task.features, task.weight, point) @ axes
            values, vectors = np.linalg.eigh(H)
            return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
        # From few rows R comes without the squares, whose small differences rounding would hide.
        q = point[:m] + point[m:] * task.features
        q -= q.max(axis=1, keepdims=True)
        q = task.probs * np.exp(q)
        q /= q.sum(axis=1, keepdims=True)
        moved = axes[:m] + task.features[:, :, None] * axes[m:]
        moved = moved - np.einsum("ij,ijk->ik", q, moved)[:, None]
        rows = np.sqrt(q * task.weight[:, None])[:, :, None] * moved
        return np.asarray(np.linalg.qr(rows.reshape(n * m, -1), mode="r"))

    noise = NOISE * float(task.weight.sum())
    return np.asarray(theta + axes @ climb(value, factor, np.zeros(axes.shape[1]), noise))


def _free(reference: int, present: Flags) -> Free:
    """Return what is fitted: no alpha of the reference, or of the first class that there is."""
    m = present.size
    classes = np.flatnonzero(present)
    base = reference if reference >= 0 and present[reference] else classes[0]
    alphas = classes[classes != base]
    if reference < 0:
        return alphas, m + classes
    slopes = m + classes[classes != reference]
    return np.concatenate([alphas, slopes]), np.empty(0, np.intp)


def _gradient(task: Task, theta: Floats, sums: Floats, present: Flags) -> tuple[Floats, float]:
    """Return the gradient (2m,) of the log likelihood and its gain over no change."""
    expected, growth = expectations(
        task.probs, task.features, task.weight, theta, present.astype(np.float64)
    )
    kept = np.concatenate([present, present])
    linear = float((theta * kept) @ (sums - task.expected))
    return np.where(kept, sums - expected, 0.0), linear - growth


@njit(error_model="numpy")
def expectations(
    probs: Floats, features: Floats, weight: Floats, theta: Floats, present: Floats
) -> tuple[Floats, float]:
    """Return the expected sums (2m,) at theta = (alpha, beta), and the sum of w D.

    D = log(sum_j p_j exp(d_j)) - sum_j p_j d_j is of order d^2, d = alpha + beta f; the second sum
    is over the classes that are present.
    """
    n, m = probs.shape
    out = np.zeros(2 * m)
    d, e = np.empty(m), np.empty(m)
    growth = 0.0
    for i in range(n):
        top, mean, total = -math.inf, 0.0, 0.0
        for j in range(m):
            d[j] = theta[j] + theta[m + j] * features[i, j]
            mean += present[j] * probs[i, j] * d[j]
            top = max(top, d[j])
        for j in range(m):
            e[j] = probs[i, j] * exp_minus(top - d[j])
            total += e[j]
        growth += weight[i] * (math.log(total) + top - mean)
        scale = weight[i] / total
        for j in range(m):
            q = e[j] * scale
            out[j] += q
            out[m + j] += q * features[i, j]
    return out, growth


def hessian(features: Floats, weight: Floats, theta: Floats) -> Floats:
    """Return minus the second derivatives of the log likelihood in theta, (2m, 2m).

    log p is f but for a constant of each row: this is vector scaling of f, by 1 + beta and alpha.
    """
    m = features.shape[1]
    second = curvature(features, weight, np.concatenate([1.0 + theta[m:], theta[:m]]))
    return np.roll(second, (m, m), axis=(0, 1))


def newton_step(H: Floats, gradient: Floats, free: Free) -> tuple[Floats, bool]:
    """Return the step (2m,) of Newton's method, and whether there is a slope without curvature."""
    kept, shared = free
    part, slope = H[np.ix_(kept, kept)], gradient[kept]
    if shared.size:
        rows = H[shared]
        cross = rows[:, kept].sum(axis=0)
        corner = rows[:, shared].sum()
        part = np.block([[part, cross[:, None]], [cross, corner]])
        slope = np.append(slope, gradient[shared].sum())
    unit = 1.0 / np.sqrt(np.maximum(np.diag(part), 1e-290))
    solved, blocked = _solve(part * unit * unit[:, None], unit * slope)
    solved *= unit
    step = np.zeros(gradient.size)
    step[kept] = solved[: kept.size]
    step[shared] = solved[kept.size :]
    return step, blocked


def _solve(H: Floats, right: Floats) -> tuple[Floats, bool]:
    """Solve with a Hessian of unit diagonal, by a pseudo-inverse where it is nearly singular.

    Also whether the right side has a part in the directions that are left alone.
    """
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        if np.diag(factor[0]).min(initial=math.inf) > PIVOT:  # nothing is free with one class
            return scipy.linalg.cho_solve(factor, right, check_finite=False), False
    except scipy.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(H)
    kept = values > CUT * values[-1]
    along = vectors.T @ right
    blocked = bool(np.abs(along[~kept]).max(initial=0.0) > BLOCKED * np.abs(along).max())
    return np.asarray(vectors[:, kept] @ (along[kept] / values[kept])), blocked
