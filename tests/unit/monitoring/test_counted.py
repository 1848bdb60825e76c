"""Batches that a monitor has counted: known again by name or by rows, days out of order."""

import datetime as dt
import re

import numpy as np
import pandas as pd
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning, InvalidInput
from caltest.monitoring.waiting import MOST


def day(seed, n=100, m=2):
    """Draw a day on which the model is right."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    return probs, (rng.random(n)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)


def refused(watch, *batch, match="counted once", **options):
    """Check that a batch is refused, and the state stays."""
    before = watch.to_json()
    with pytest.raises(InvalidInput, match=match):
        watch.update(*batch, **options)
    assert watch.to_json() == before


@pytest.mark.parametrize("m", [2, 3])
def test_a_batch_that_comes_again_is_refused(m):
    """The message names the earlier count; `again` takes it."""
    watch = ct.monitor().update(*day(1, m=m)).update(*day(2, m=m), batch_id="tuesday")
    watch = ct.Monitor.from_json(watch.to_json())
    refused(watch, *day(1, m=m), match="the same rows, counted as rows 1 to 100")
    refused(watch, *day(2, m=m), match=r"rows 101 to 200 \(batch 'tuesday'\)")
    refused(watch, *day(3, m=m), batch_id="tuesday", match="'tuesday', .* which were others")
    assert watch.update(*day(1, m=m), again=True).n == 300
    assert watch.update(*day(3, m=m)).n == 400


@pytest.mark.full
def test_a_file_that_grows_is_refused():
    """It begins with the rows of the last batch; where it has another name, that is told."""
    probs, labels = day(4, 200)
    watch = ct.monitor().update(probs[:90], labels[:90])
    refused(watch, probs, labels, match="the same rows and others, counted as rows 1 to 90;")
    assert watch.update(probs[90:], labels[90:]).n == 200
    named = ct.monitor().update(probs[:90], labels[:90], batch_id="Monday")
    with pytest.warns(DegenerateDataWarning, match="'Tuesday' has the rows of batch 'Monday'"):
        named.update(probs, labels, batch_id="Tuesday")


@pytest.mark.full
def test_rows_that_come_again_by_chance_are_taken():
    """Too few rows, or rows of few kinds: 2000 batches of a model with three predictions."""
    rng, watch = np.random.default_rng(1), ct.monitor(level=1e-9)
    assert watch.update([0.2], [0]).update([0.2], [0]).n == 2
    for _ in range(2000):
        probs = rng.choice([0.1, 0.2, 0.3], 40)
        watch.update(probs, rng.random(40) < probs)
    assert watch.n == 80_002


def test_names_of_batches_are_text_numbers_and_days():
    """A day or a moment is one whatever holds it, and a later call knows it."""
    for name, same in [
        ("2026-01-05", dt.date(2026, 1, 5)),
        (pd.Timestamp("2026-01-05"), np.datetime64("2026-01-05")),
        (7, "7"),
        (dt.datetime(2026, 1, 5, 2), "2026-01-05T02:00"),  # noqa: DTZ001
        ("2026-01-05T00:00:00+02:00", pd.Timestamp("2026-01-04 22:00", tz="UTC")),
    ]:
        watch = ct.monitor().update([0.2], [0], batch_id=name)
        refused(watch, [0.7], [1], batch_id=same)
    for name in ("", "a" * 201, "a\nb", 0.5, True, ["a"], "\udc80", pd.NaT, float("nan")):
        refused(watch, [0.7], [1], batch_id=name, match="batch_id must be a name")
    refused(watch, [0.7], [1], again="yes", match="again")


def test_the_same_rows_under_another_name_are_told():
    """They are counted, since the name is the user's word; the same rows without one are not."""
    watch = ct.monitor().update(*day(1), batch_id="a")
    with pytest.warns(DegenerateDataWarning, match="batch 'b' has the rows of batch 'a'"):
        watch.update(*day(1), batch_id="b")
    assert watch.n == 200
    watch = ct.monitor().update(*day(1))
    refused(watch, *day(1), batch_id="b")


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["2026-01-05", "2026-01-06", "2026-01-04"], "'2026-01-04' comes after batch '2026-01-06'"),
        (["2026-01-05T06:00+01:00", "2026-01-05T04:00Z"], "comes after"),
        (["2026-01-05", "a", "9", "2026-01-05T01:00", "2026-01-06"], None),
        (["12/31/2025", "01/01/2026", "9", "8"], None),
    ],
)
def test_days_out_of_order_are_told(names, told, recwarn):
    """Of names that are days or moments of ISO 8601; of others it cannot be known."""
    watch = ct.monitor()
    for i, name in enumerate(names):
        watch.update([0.2], [0], batch_id=name)
        assert len(recwarn) == (told is not None and i == len(names) - 1)
    assert watch.n == len(names)
    assert told is None or told in str(recwarn[0].message)


def test_rows_with_names_are_known_without_their_outcomes():
    """Predictions that came before with the same ids are the same rows, with labels or not."""
    probs, labels = day(1, n=5)
    watch = ct.monitor().update(probs, ids=list("abcde"))
    watch.resolve(list("abcde"), labels)
    refused(watch, probs, ids=list("abcde"))
    refused(watch, probs, labels, ids=list("abcde"))
    assert watch.update(probs, labels, ids=list("fghij")).n == 10


def test_groups_belong_to_the_rows():
    """The same probabilities and labels of another ward are other rows."""
    probs, labels = day(1)
    watch = ct.monitor(groups=["a", "b"]).update(probs, labels, groups=["a"] * 100)
    refused(watch, probs, labels, groups=["a"] * 100)
    assert watch.update(probs, labels, groups=["b"] * 100).n == 200


@pytest.mark.full
def test_the_last_batches_are_remembered():
    """Of 1000 the first is known, and the state stays small; of 1001 it is not."""
    watch = ct.monitor()
    for k in range(MOST):
        watch.update([0.5], [k % 2], batch_id=f"batch {k}")
    assert len(watch.to_json(indent=None)) < 150_000
    refused(watch, [0.5], [0], batch_id="batch 0")
    watch.update([0.5], [0], batch_id="one more")
    assert watch.update([0.5], [0], batch_id="batch 0").n == MOST + 2


@pytest.mark.parametrize(
    ("cast", "told"),
    [
        (lambda p: np.round(p, 2), r"multiples of 0\.01.* 20 % .* one outcome in 604 "),
        (lambda p: np.round(p, 1), r"multiples of 0\.1"),
        (lambda p: np.round(p, 2).astype(np.float32), r"multiples of 0\.01"),
        (lambda p: (1 - p).astype(np.float16), "have half precision"),
    ],
)
def test_rounded_predictions_are_told_once(cast, told, recwarn):
    """With the size of what rounding does; a second batch does not say it again."""
    risks = np.random.default_rng(1).beta(0.5, 20.0, 4000)
    probs = cast(risks)
    watch = ct.monitor()
    for part in (probs[:2000], probs[2000:]):
        watch.update(part, np.zeros(part.size, dtype=int))
    assert len(recwarn) == 1
    assert re.search(told, str(recwarn[0].message))


@pytest.mark.filterwarnings("error")
def test_rounding_that_is_an_error_counts_no_row():
    """The batch may come again, since nothing of it was taken over."""
    watch, probs = ct.monitor(), np.random.default_rng(1).beta(0.5, 20.0, 1000).round(2)
    for _ in range(2):
        with pytest.raises(DegenerateDataWarning, match="multiples"):
            watch.update(probs, np.zeros(1000, dtype=int))
    assert watch.to_json() == ct.monitor().to_json()


@pytest.mark.parametrize(
    "probs",
    [
        np.random.default_rng(1).beta(0.5, 20.0, 1000),
        np.random.default_rng(1).beta(0.5, 20.0, 1000).astype(np.float32),
        np.round(np.random.default_rng(1).beta(2.0, 5.0, 1000), 2),
        np.random.default_rng(1).integers(0, 9, 1000) / 8,
        np.round(np.random.default_rng(1).beta(0.5, 20.0, 19), 2),
    ],
)
def test_rounding_that_does_not_matter_is_not_told(probs, recwarn):
    """Nor that of few rows; a warning would be an error here."""
    ct.monitor().update(probs, np.random.default_rng(2).random(probs.size) < probs)
    assert not recwarn.list
