"""Where the predictions are not calibrated: the function that attains the kernel error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.checks import as_array, check_confidence, check_count, check_probs
from caltest.drawing import draw
from caltest.errors import NotApplicable, invalid
from caltest.predictions.tables import frame_of_records
from caltest.render import Sheet, number
from caltest.results.base import Printable, plain
from caltest.types import Axes, Floats

if TYPE_CHECKING:
    from caltest.measures.kernel.witness import Embedding, GapCurve
    from caltest.predictions import Predictions


COLUMNS = ("class", "predicted", "region", "n", "mean", "observed", "gap", "SKCE")
SHOWN = 10
BINS = 5


@dataclass(frozen=True, slots=True)
class Region:
    """A class in a range of its predicted probability.

    Attributes
    ----------
    name : object
        The class.
    low, high : float
        The range of the predicted probability, right-closed, with 0 in the first.
    n : int
        Rows whose prediction lies in it.
    mean, observed : float
        Mean predicted probability of the class, and the share of the rows that have it.
    gap : float
        Observed less mean predicted.
    contribution : float
        What the region adds to the unbiased SKCE; near 0, of either sign, where it is calibrated.
    noise : float
        Standard deviation of the gap of calibrated predictions, that of labels drawn from them.
    """

    name: object
    low: float
    high: float
    n: int
    mean: float
    observed: float
    gap: float
    contribution: float
    noise: float = 0.0

    @property
    def direction(self) -> str:
        """The gap in a word."""
        if self.gap == 0:
            return "neither"
        return "over-predicted" if self.gap < 0 else "under-predicted"


class Witness(Printable):
    r"""The function of length 1 whose mean error on the predictions is largest: the KCE.

    :math:`f(s) = \frac{1}{n KCE} \sum_i k(s, p_i) \delta_i` with :math:`\delta_i = e_{y_i} - p_i`.
    Component k of f is positive where class k happens more often than predicted. `HTest.witness`
    returns it.

    Parameters
    ----------
    embedding : Embedding
        The sum above without the KCE.
    data, kernel : str
        What was tested, as it prints.

    Attributes
    ----------
    skce, kce : float
        The unbiased SKCE, which the regions add up to, and the root of the biased one.
    classes : (m,) array
        The classes under the lens, in the order of the columns of f.
    """

    def __init__(self, embedding: Embedding, *, data: str, kernel: str) -> None:
        self._embedding = embedding
        self.data, self.kernel = data, kernel
        self.kce = embedding.length
        if embedding.predictions.n < 2 or self.kce == 0:
            raise NotApplicable(
                "the witness points from 0 to the mean error, and needs two rows and an error that "
                "is not 0; there is nothing to find"
            )
        self.skce = float(embedding.contributions.sum())
        self.classes = embedding.predictions.classes
        regions = self.regions()
        # Printing computes nothing.
        rows = []
        for one in regions[:SHOWN]:
            side = "too high" if one.gap < 0 else "too low"
            ends = f"{'[' if one.low == 0 else '('}{number(one.low)}, {number(one.high)}]"
            numbers = map(number, (one.mean, one.observed, one.gap, one.contribution))
            rows.append((str(one.name), side, ends, str(one.n), *numbers))
        left = len(regions) - SHOWN
        self._print = Sheet(
            title="Where the error lies: squared kernel calibration error",
            facts=(("data", data), ("kernel", kernel)),
            numbers=(("SKCE", number(self.skce)), ("KCE (biased)", number(self.kce))),
            header=COLUMNS,
            rows=tuple(rows),
            n_text=3,
            closing=(("note", f"{left} more regions in to_frame()"),) if left > 0 else (),
        )

    def plot(self, *, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the function, or a map of the regions; see `caltest.plots.witness`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        **options
            For that function: `bins=` and `rows=`.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import caltest as ct
        >>> result = ct.test_calibration(ct.datasets.generative_model("M2", rng=1), rng=1)
        >>> result.witness().plot().get_xlabel()
        'predicted probability of the class (grey: none)'
        """
        return draw("witness.witness", self, ax=ax, **options)

    def __call__(self, points: object) -> Floats:
        """Evaluate the function.

        Parameters
        ----------
        points : (q, m) or (q,) array
            Predictions as the lens shows them; (q,) holds P(class 1) of two classes.

        Returns
        -------
        (q, m) array
            Component k is positive where class k is under-predicted.

        Raises
        ------
        InvalidInput
            If a point is not on the simplex.
        """
        values, m = check_probs(as_array(points, "points"), name="points"), len(self.classes)
        if values.shape[1] != m:
            rule = f"points must have a column for each of the {m} classes under the lens"
            raise invalid(rule, f"{values.shape[1]} columns", f"pass shape (q, {m})")
        return np.asarray(self._embedding.at(values) / self.kce)

    def curve(self, points: int = 101) -> tuple[Floats, Floats]:
        """Evaluate the function for two classes on an even grid.

        Parameters
        ----------
        points : int, default 101
            How many, 0 and 1 included.

        Returns
        -------
        (points,) array and (points,) array
            P(class 1), and the component of class 1.

        Raises
        ------
        NotApplicable
            If the lens shows more than two classes.
        """
        self._check_curve(points, ", or call the witness at points")
        grid = np.linspace(0.0, 1.0, points)
        return grid, self(grid)[:, 1]

    def gap_curve(self, points: int = 101, *, confidence: float = 0.95) -> GapCurve:
        r"""Smooth the gap of two classes by the kernel, with its band under calibration.

        The witness times the mean of the kernel's values, divided by these:

        .. math:: g(s) = \sum_i k(s, p_i) (y_i - p_i) / \sum_i k(s, p_i).

        Parameters
        ----------
        points : int, default 101
            How many, 0 and 1 included.
        confidence : float, default 0.95
            The probability with which the gaps of calibrated predictions all lie in the band.

        Returns
        -------
        GapCurve
            With the band of labels drawn from the predictions, by the normal distribution and the
            tube formula; see `caltest.measures.smooth_curve`.

        Raises
        ------
        NotApplicable
            If the lens shows more than two classes.
        """
        from caltest.measures.kernel.witness import gap_curve

        self._check_curve(points)
        return gap_curve(self._embedding, points, check_confidence(confidence))

    def _check_curve(self, points: int, otherwise: str = "") -> None:
        """Raise where there are too few points, or not two classes, of which a curve is."""
        check_count(points, "points", minimum=2)
        if len(self.classes) != 2:
            reason = f"a curve needs two classes, and the lens shows {len(self.classes)}"
            remedy = "test under a one-dimensional lens such as 'classwise'"
            raise NotApplicable(reason, f"{remedy}{otherwise}")

    def regions(self, bins: int = BINS) -> tuple[Region, ...]:
        """Divide the unbiased SKCE by class and predicted probability, the largest part first.

        Parameters
        ----------
        bins : int, default 5
            Ranges of equal width of the predicted probability of each class. For two classes the
            ranges of class 1 hold the contributions of both.

        Returns
        -------
        tuple of Region
            Those with rows; their contributions add up to `skce`.
        """
        check_count(bins)
        data, parts = self._embedding.predictions, self._embedding.contributions
        classes = range(data.m)
        if data.m == 2:
            classes, parts = range(1, 2), parts.sum(axis=1, keepdims=True) * [1, 1]
        weight = self._embedding.weight
        found = [one for k in classes for one in _regions_of(data, weight, parts[:, k], k, bins)]
        return tuple(sorted(found, key=lambda region: -region.contribution))

    def by_class(self) -> tuple[Region, ...]:
        """Divide the unbiased SKCE by class alone, the largest part first."""
        return self.regions(bins=1)

    def to_frame(self, *, bins: int = BINS, backend: str | None = None) -> Any:
        """Return the regions as a data frame of the library that the data came in.

        Parameters
        ----------
        bins : int, default 5
            As for `regions`.
        backend : {"polars", "pandas", "pyarrow", "modin", "cudf"}, optional
            Which library; as for `HTestTable.to_frame`.

        Returns
        -------
        data frame or Arrow table
            One row per region.
        """
        records = []
        for region in self.regions(bins):
            own = asdict(region)
            del own["noise"]
            records.append({"class": own.pop("name"), "direction": region.direction, **own})
        return frame_of_records(records, backend or self._embedding.predictions.library)

    def _sheet(self) -> Sheet:
        return self._print


def _regions_of(
    predictions: Predictions, weight: Floats, contributions: Floats, k: int, bins: int
) -> Iterator[Region]:
    event, happens = predictions.probs[:, k], predictions.labels == k
    place = np.maximum(np.ceil(event * bins).astype(np.int64) - 1, 0)
    count = np.bincount(place, weight > 0, bins)
    mass, parts = np.bincount(place, weight, bins), np.bincount(place, contributions, bins)
    predicted = np.bincount(place, weight * event, bins)
    observed = np.bincount(place, weight * happens, bins)
    noise = np.sqrt(np.bincount(place, weight**2 * event * (1.0 - event), bins))
    for b in np.flatnonzero(mass > 0).tolist():
        mean, share = float(predicted[b] / mass[b]), float(observed[b] / mass[b])
        name, ends = predictions.classes[k], (b / bins, (b + 1) / bins)
        part, sd = float(parts[b]), float(noise[b] / mass[b])
        yield Region(plain(name), *ends, int(count[b]), mean, share, share - mean, part, sd)
