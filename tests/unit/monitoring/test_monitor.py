"""`monitor`: error rates at all times, order and batches of rows, groups, states, bad input."""

import base64
import copy
import json
import math
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.monitoring.e_process import LATER, checksum
from caltest.monitoring.loops import BLOCK
from caltest.monitoring.stream import BINARY_OFFSETS, SLOPES


def rows(n, m=2, *, seed=0, exponent=1.0, offset=0.0):
    """Draw probabilities, and labels from a power of them with one class more frequent."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**exponent
    true[:, -1] *= np.exp(offset)
    true /= true.sum(axis=1, keepdims=True)
    return probs, (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)


def but_batches(watch):
    """Return a state without what it says of the batches, by which the rows came."""
    return {name: part for name, part in watch.to_dict().items() if name not in LATER}


def sealed(state):
    """Return a state with the checksum that it would have if rows had led to it."""
    rest = {name: part for name, part in state.items() if name not in ("schema", "checksum")}
    return state | {"checksum": checksum(rest)}


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 3])
def test_false_alarms_at_any_time_are_as_rare_as_the_level(m):
    """Predictions depend on the past: each day's scale on the outcomes of the day before."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(150):
        watch, scale = ct.monitor(level=0.1), 1.0
        for _ in range(6):
            probs = rng.dirichlet(np.full(m, scale), 50)
            labels = (rng.random(50)[:, None] > probs.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
            watch.update(probs, labels, groups=None)
            scale = 0.2 + 3.0 * float(np.mean(labels == 0))
        alarms += watch.alarm()
    assert alarms <= 150 * 0.1 + 3 * math.sqrt(150 * 0.09)


@pytest.mark.full
def test_confidence_sequences_hold_at_all_times():
    """Gap of the confidence and temperature after each batch; the temperature is 1.5."""
    missed = {"confidence": 0, "temperature": 0}
    for seed in range(100):
        probs, labels = rows(600, 3, seed=seed, exponent=1 / 1.5)
        true = probs ** (1 / 1.5)
        true /= true.sum(axis=1, keepdims=True)
        gaps = true[np.arange(600), probs.argmax(axis=1)] - probs.max(axis=1)
        watch, wrong = ct.monitor(level=0.1), dict.fromkeys(missed, False)
        for start in range(0, 600, 50):
            watch.update(probs[start : start + 50], labels[start : start + 50])
            low, high = watch.confidence_sequence("confidence")
            wrong["confidence"] |= not low <= gaps[: start + 50].mean() <= high
            try:
                low, high = watch.confidence_sequence("temperature")
            except NotApplicable:
                low = high = math.nan
            wrong["temperature"] |= not low <= 1.5 <= high
        for name, value in wrong.items():
            missed[name] += value
    assert max(missed.values()) <= 100 * 0.1 + 3 * 3.0


def test_confidence_sequence_shrinks_to_the_truth():
    """After 20,000 rows the temperature and the mean are known."""
    probs, labels = rows(20_000, 2, seed=1, exponent=0.5)
    watch = ct.monitor().update(probs, labels)
    low, high = watch.confidence_sequence("temperature")
    assert 1.7 < low < 2.0 < high < 2.4
    low, high = watch.confidence_sequence("mean")
    assert -0.02 < low < 0.0 < high < 0.02


@given(st.lists(st.integers(0, 400), max_size=6), st.booleans(), st.sampled_from([2, 4]))
@settings(max_examples=25, deadline=None)
def test_answer_does_not_depend_on_batches(cuts, restart, m):
    """Cut anywhere, kept as JSON between: the same state to the last bit."""
    probs, labels = rows(400, m, exponent=1.3)
    whole = ct.monitor(restart=restart, level=0.001).update(probs, labels)
    watch = ct.monitor(restart=restart, level=0.001)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 400], strict=True):
        if start < stop:
            watch.update(probs[start:stop], labels[start:stop])
            watch = ct.Monitor.from_json(watch.to_json())
    assert but_batches(watch) == but_batches(whole)
    assert str(watch.summary()) == str(whole.summary())


def test_groups_are_watched_beside_all_rows():
    """Two groups that are off in opposite directions raise an alarm; the third is not named."""
    groups = np.array(["a", "b", "c"] * 800)
    rng = np.random.default_rng(3)
    probs = rng.uniform(0.3, 0.7, groups.size)
    off = np.select([groups == "a", groups == "b"], [0.15, -0.15], 0.0)
    labels = (rng.random(groups.size) < probs + off).astype(int)
    watch = ct.monitor(groups=["a", "b", "c"]).update(probs, labels, groups=groups)
    found = watch.group_evalues
    assert found["a"] > 20 < found["b"]
    assert found["c"] < 20
    told = [text for kind, text in watch.verdict().sentences if kind == "groups"]
    assert {text[0] for text in told} == {"a", "b"}
    logs = [watch._streams[key].log_evalue for key in ("all rows", 0, 1, 2)]
    mean = 0.5 * np.exp(logs[0]) + 0.5 * np.mean(np.exp(logs[1:]))
    assert watch.evalue == pytest.approx(mean)


def test_alarm_of_groups_is_looked_at_after_each_row():
    """The mean of all rows and groups, against an update for each row; batches change no bit."""
    probs, labels = rows(300, 3, seed=2, exponent=0.4)
    names = np.array(["a", "b", "c", "other"])[np.random.default_rng(1).integers(4, size=300)]
    for restart, level in ((False, 0.05), (True, 1e-3)):
        options = {"groups": ["a", "b", "c"], "restart": restart, "level": level}
        whole = ct.monitor(**options).update(probs, labels, groups=names)
        one, logs = ct.monitor(**options), []
        for i in range(300):
            one.update(probs[i : i + 1], labels[i : i + 1], groups=names[i : i + 1])
            logs.append(one.log_evalue)
        assert but_batches(one) == but_batches(whole)
        np.testing.assert_array_equal(whole.path["row"], [64, 128, 192, 256])
        np.testing.assert_allclose(whole.path["all"], np.array(logs)[63:256:64])
        first = 1 + int(np.argmax(np.array(logs) >= -math.log(level)))
        assert whole.alarm_after == first > 1
        assert whole._largest == pytest.approx(max(logs), rel=1e-12)


@pytest.mark.full
def test_false_alarms_of_groups_are_as_rare_as_the_level():
    """Calibrated rows of three groups in one batch of 300, looked at after each."""
    alarms = 0
    for seed in range(300):
        probs, labels = rows(300, seed=seed)
        watch = ct.monitor(groups=[0, 1, 2], level=0.1)
        alarms += watch.update(probs, labels, groups=np.arange(300) % 3).alarm()
    assert alarms <= 300 * 0.1 + 3 * math.sqrt(300 * 0.09)


def test_outcomes_that_come_late_keep_the_order():
    """Told in any order, rows are bet on in the order of their predictions."""
    probs, labels = rows(60, 3, exponent=2.0)
    names = [f"r{i}" for i in range(60)]
    plain = ct.monitor().update(probs, labels)
    watch = ct.monitor().update(probs[:20], ids=names[:20]).update(probs[20:40], labels[20:40])
    watch.update(probs[40:], ids=names[40:])
    assert (watch.n, watch.n_waiting) == (0, 60)
    late = [*range(40, 60), *range(20)]
    for i in np.random.default_rng(1).permutation(late):
        watch.resolve([names[i]], [labels[i]])
        watch = ct.Monitor.from_json(watch.to_json())
        if watch.n_waiting > 1 and watch.n:  # some of them have outcomes
            assert "wait for their own outcomes or earlier ones." in str(watch.verdict())
    assert (watch.n, watch.n_waiting) == (60, 0)
    assert watch.log_evalue == plain.log_evalue


def test_rows_that_are_dropped_do_not_count():
    """What is left is as if they had not been there."""
    probs, labels = rows(10, 2)
    watch = ct.monitor().update(probs[:5], ids=range(5)).update(probs[5:], labels[5:])
    watch.drop(range(5))
    assert watch.log_evalue == ct.monitor().update(probs[5:], labels[5:]).log_evalue


def test_a_copy_goes_its_own_way():
    watch = ct.monitor().update(*rows(30))
    before = watch.to_json()
    assert copy.copy(watch).update(*rows(30, seed=1)).n == 60
    assert watch.to_json() == before


def test_restart_finds_a_change_sooner():
    """After 5000 calibrated rows: the detector begins anew, the e-process has lost its wealth."""
    before, after = rows(5000, seed=1), rows(3000, seed=2, exponent=0.5)
    delays = {}
    for restart in (False, True):
        watch = ct.monitor(restart=restart, level=1e-5)
        watch.update(*before)
        assert not watch.alarm()
        watch.update(*after)
        delays[restart] = watch.alarm_after - 5000
    assert delays[True] < delays[False]
    with pytest.raises(NotApplicable, match="rate of false alarms"):
        _ = watch.pvalue


def test_mean_time_to_a_false_alarm_is_at_least_one_over_the_level():
    """Of the detector, at 1 / level = 100 rows; streams that raise none count with their length."""
    rng = np.random.default_rng(5)
    lengths = []
    for _ in range(150):
        probs = rng.dirichlet(np.ones(2), 400)
        labels = (rng.random(400) < probs[:, 1]).astype(int)
        watch = ct.monitor(restart=True, level=0.01).update(probs, labels)
        lengths.append(400 if watch.alarm_after is None else watch.alarm_after)
    assert np.mean(lengths) > 100


def test_one_row_is_not_rows():
    """The headline, the rows that wait and the title of the picture."""
    one = ct.monitor().update([0.5], [1])
    assert str(one).startswith("No alarm in 1 row (")
    assert "No rows yet, 1 row waits." in str(ct.monitor().update([0.5], ids=["a"]))
    watch = one.update([0.0], [1]).update(*rows(100))
    assert str(watch).startswith("Alarm after 2 of 102 rows (e = infinite")
    ax = ct.monitor().update([0.0], [1]).update(*rows(100)).plot()
    assert ax.get_title(loc="left") == "alarm after 1 row, e infinite after 1"
    assert np.isnan(ax.lines[-3].get_ydata()[1:]).all()
    ax.figure.canvas.draw()
    assert ax.get_legend().get_window_extent().y1 < ax.bbox.y0  # beside the lines


@pytest.mark.parametrize(
    ("level", "told"), [(0.05, "95 %"), (0.025, "97.5 %"), (1e-8, "1 - 1e-08")]
)
def test_intervals_are_never_sure(level, told):
    """Of a small level no 100 %."""
    text = str(ct.monitor(level=level, restart=True).update(*rows(10)).summary())
    assert f"interval: {told} at all times at once." in text
    assert f"points, {told} at all times" in text


def test_print_has_the_evalue_that_the_pvalue_is_of():
    """The p-value is 1 over the largest e-value so far, which need not be the last one."""
    rng = np.random.default_rng(3)
    watch = ct.monitor()
    p = rng.random(300)
    watch.update(p, (rng.random(300) < p).astype(int))
    now, most = np.exp(watch.log_evalue), 1 / watch.pvalue
    assert now < most < 20
    words = f"(e = {now:.2g}, {most:.2g} at most so far, p = {watch.pvalue:.2g}, level 0.05)"
    assert words in " ".join(str(watch).split())


def test_groups_that_are_days_are_known_in_every_form():
    """Of NumPy and pandas, and as predictions hold them."""
    days = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")
    forms = [days, days.astype("datetime64[ns]"), list(pd.to_datetime(days)), days.astype(str)]
    found = set()
    for names in forms:
        for groups in forms:
            data = ct.Predictions([0.1, 0.2], [0, 0])
            watch = ct.monitor(groups=names).update(data, groups=groups)
            found.add(tuple(watch.group_evalues.values()))
        data = ct.Predictions([0.1, 0.2], [0, 0], groups=days)
        found.add(tuple(ct.monitor(groups=names).update(data).group_evalues.values()))
    assert len(found) == 1
    assert min(found.pop()) != 1.0


def test_an_impossible_outcome_is_named():
    """Probability 0 for what happened: the e-value is infinite, whatever comes."""
    watch = ct.monitor().update([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5]], [0, 1, 0])
    assert watch.evalue == math.inf
    assert watch.impossible_row == 1
    assert watch.alarm_after == 2
    assert "row 1, counted from 0, had probability 0" in str(watch)
    assert "the bets leave such rows out" in " ".join(str(watch.summary()).split())
    watch = ct.Monitor.from_json(watch.to_json())
    assert watch.pvalue == 0.0
    assert watch.alarm(1e-9)


@pytest.mark.parametrize(
    ("probs", "labels", "rule"),
    [
        ([[0.2, 0.3, 0.5]], [0], "classes must be those of the rows before"),
        ([0.2, np.nan], [0, 1], "must not be missing|must be numbers|NaN|finite"),
        ([0.2, 0.3], [0, np.nan], "at row 1; if it is not known yet, pass all rows with ids="),
        ([0.2, 1.2], [0, 1], r"\[0, 1\]"),
        ([0.2], [2], "labels"),
        ([0.2, 0.3], [1], "labels"),
        ([], [], "empty|at least"),
    ],
)
def test_bad_rows_leave_the_state_as_it_was(probs, labels, rule):
    """One clear error, and nothing is taken over."""
    watch = ct.monitor().update(*rows(30))
    before = watch.to_json()
    with pytest.raises(InvalidInput, match=rule):
        watch.update(probs, labels)
    assert watch.to_json() == before


def test_rows_that_tell_each_other_and_labels_given_twice_are_refused():
    """Of rows of a cluster that share one uniform number every stream would raise an alarm."""
    probs, labels = rows(30)
    with pytest.raises(InvalidInput, match="several of one cluster"):
        ct.monitor().update(ct.Predictions(probs, labels, clusters=np.repeat([1, 2, 3], 10)))
    assert ct.monitor().update(ct.Predictions(probs, labels, clusters=np.arange(30))).n == 30
    with pytest.raises(InvalidInput, match="labels has no effect"):
        ct.monitor().update(ct.Predictions(probs, labels), labels)


def test_columns_of_frames_are_classes():
    """In their order; with waiting rows, too. One column is the event, in every batch."""
    probs, labels = rows(30, 3)
    frame = pd.DataFrame(probs, columns=["ant", "bee", "cat"])
    names = frame.columns.to_numpy()[labels]
    for late in (False, True):
        watch = ct.monitor()
        for k, part in enumerate((frame, frame, frame[["cat", "ant", "bee"]])):
            asked = (
                {"ids": range(30 * k, 30 * k + 30)} if late else {"labels": names, "again": True}
            )
            if k < 2:
                assert watch.update(part, **asked).classes == ("ant", "bee", "cat")
                continue
            with pytest.raises(InvalidInput, match="classes must be those of the rows before"):
                watch.update(part, **asked)
    event = pd.DataFrame({"risk": probs[:, 0]})
    watch = ct.monitor().update(event, labels == 0).update(event[:9], ids=range(9))
    assert watch.update(event[:9].to_numpy(), (labels == 0)[:9]).n_waiting == 18


def test_other_names_of_classes_leave_the_state_as_it_was():
    """As many classes, but not those; in another order too."""
    watch = ct.monitor().update(ct.Predictions(*rows(30, 3), classes=["ant", "bee", "cat"]))
    before = watch.to_json()
    for classes in (["ant", "bee", "dog"], ["bee", "ant", "cat"]):
        with pytest.raises(InvalidInput, match="classes must be those of the rows before"):
            watch.update(ct.Predictions(*rows(5, 3), classes=classes))
    assert watch.to_json() == before


def packed(size):
    """Return an array of ones as a state has it."""
    return base64.b64encode(zlib.compress(np.ones(size).tobytes())).decode()


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state | {"schema": "caltest/monitor/99"},
        lambda state: state | {"schema": []},
        lambda state: {key: value for key, value in state.items() if key != "streams"},
        lambda state: state | {"streams": []},
        lambda state: state | {"streams": [{}]},
        lambda state: state | {"streams": [dict(state["streams"][0], product="AAAA")]},
        lambda state: state | {"streams": [dict(state["streams"][0], counts="*")]},
        lambda state: state | {"streams": [dict(state["streams"][0], path=packed(8))]},
        lambda state: state | {"streams": [dict(state["streams"][0], inverse=packed(9))]},
        lambda state: state | {"streams": [dict(state["streams"][0], product=packed(10**6))]},
        lambda state: state | {"streams": [dict(state["streams"][0], product=packed(54)[:-8])]},
        lambda state: state | {"schema": "caltest/monitor/1"},
        lambda state: state | {"schema": "caltest/monitor/2"},
        lambda state: state | {"schema": "caltest/monitor/3"},
        lambda state: state | {"counted": 3},
        lambda state: state | {"counted": [["a", "", 0]]},
        lambda state: state | {"counted": [[1, "", 0, 1]]},
        lambda state: state | {"counted": [["a", "", 0, -1]]},
        lambda state: state | {"counted": [["a", "", 0, True]]},
        lambda state: state | {"waiting": [[1, 2]]},
        lambda state: state | {"waiting": 3},
        lambda state: state | {"waiting": [["a", [0.2, 0.8], True, -1]]},
        lambda state: state | {"waiting": [["a", [0.2, 0.2], -1, -1]]},
        lambda state: state | {"waiting": [["a", [0.2, 0.8], -1, -1]] * 2},
        lambda state: state | {"level": 7},
        lambda state: state | {"largest": "many"},
        lambda state: state | {"largest": 10**400},
        lambda state: state | {"alarm_after": 101},
        lambda state: state | {"groups": list(range(10**5))},
        lambda state: state | {"largest": math.nan},
        lambda state: state | {"alarm_after": math.nan},
        lambda state: state | {"alarm_after": 1.5},
        lambda state: state | {"alarm_after": -1},
        lambda state: [state],
    ],
)
def test_a_broken_state_is_refused(change):
    """Another version, a part that is missing, cut off or of another type."""
    state = json.loads(ct.monitor().update(*rows(100)).to_json())
    broken = change(state)
    with pytest.raises(InvalidInput):
        ct.Monitor.from_json(json.dumps(broken))
    if isinstance(broken, dict):
        with pytest.raises(InvalidInput):
            ct.Monitor.from_json(json.dumps(sealed(broken)))


def with_value(state, name, place, value):
    """Return a state with one value of an array of all rows changed."""
    stream = state["streams"][0]
    whole = name in {"counts", "crossed", "firsts", "lasts"}
    array = np.frombuffer(
        zlib.decompress(base64.b64decode(stream[name])), dtype=np.int64 if whole else float
    ).copy()
    array[place] = value
    text = base64.b64encode(zlib.compress(array.tobytes())).decode()
    return state | {"streams": [stream | {name: text}]}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("counts", 0, -1),
        ("counts", 0, 2**40),
        ("counts", 1, 3),
        ("counts", 3, 200),
        ("levels", 0, math.nan),
        ("levels", 2, 7.0),
        ("crossed", 4, 101),
        ("lasts", 0, -2),
        ("firsts", 0, 101),
        ("lowest", 0, 1.0),
        ("lowest", 0, -1e300),
        ("won", 0, 1e300),
        *((name, 0, math.nan) for name in ("log_wealth", "product", "theta", "witness")),
        *((name, 1, math.inf) for name in ("log_wealth", "product", "cells", "inverse", "path")),
        *((name, 2, -1.0) for name in ("product", "cells", "gaps", "restarted")),
    ],
)
def test_a_state_that_no_rows_lead_to_is_refused(name, place, value):
    """What its checksum cannot tell: numbers that are none, or do not fit together."""
    state = json.loads(ct.monitor().update(*rows(100)).to_json())
    with pytest.raises(InvalidInput, match=f"whole, as to_json wrote it; .*{name}"):
        ct.Monitor.from_dict(sealed(with_value(state, name, place, value)))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_state_of_an_earlier_version_goes_on(version):
    """Each was written after 100 rows; the half of them in a group, and two that wait."""
    probs, labels = rows(100, 3, exponent=0.7)
    text = Path(__file__).with_name(f"state_{version}.json").read_text("utf-8")
    old = ct.Monitor.from_json(text)
    new = ct.monitor(groups=["a"]).update(probs, labels, groups=["a", "b"] * 50)
    new.update(probs[:2], ids=["r1", "r2"], groups=["a", "b"])
    for watch in (old, new):
        watch.resolve(["r1", "r2"], labels[:2]).update(probs, labels, groups=["a"] * 100)
    assert old.log_evalue == pytest.approx(new.log_evalue, rel=1e-10)
    assert old.group_evalues == pytest.approx(new.group_evalues, rel=1e-10)
    assert old.confidence_sequence("mean") == pytest.approx(new.confidence_sequence("mean"))
    assert old.since()[1] == 0  # where the first 100 rows were lowest is not known
    assert old.to_dict()["streams"][1]["gaps"] == new.to_dict()["streams"][1]["gaps"]
    assert json.loads(old.to_json())["schema"] == "caltest/monitor/4"


def test_a_state_that_was_changed_is_refused():
    """Numbers that rows could lead to, but did not; how its JSON is laid out does not matter."""
    text = ct.monitor().update(*rows(100)).to_json()
    state = json.loads(text)
    laid_out = json.dumps(dict(reversed(state.items()))).replace(".0,", ",")
    assert ct.Monitor.from_json(laid_out).to_json() == text
    for change in ({"level": 0.01}, {"largest": 0.1}, {"checksum": "0" * 32}, {"checksum": None}):
        with pytest.raises(InvalidInput, match="its checksum differs"):
            ct.Monitor.from_dict(state | change)


def test_names_and_options_are_checked():
    watch = ct.monitor()
    with pytest.raises(NotApplicable, match="needs rows"):
        watch.verdict()
    with pytest.raises(InvalidInput, match="need names"):
        watch.update([0.2, 0.3])
    with pytest.raises(InvalidInput, match="rows that wait"):
        watch.update([0.2, 0.3], ids=["a", "b"]).resolve(["c"], [0])
    with pytest.raises(InvalidInput, match="must be new"):
        watch.update([0.2], ids=["a"])
    with pytest.raises(InvalidInput, match="level"):
        ct.monitor(level=1.5)
    with pytest.raises(InvalidInput, match="groups"):
        ct.monitor(groups=["a", "a"])
    with pytest.raises(InvalidInput, match="group of each row"):
        ct.monitor(groups=["a"]).update([0.2], [0])
    with pytest.raises(InvalidInput, match="no weights"):
        ct.monitor().update(ct.Predictions([0.2, 0.3], [0, 1], sample_weight=[1.0, 2.0]))
    for of, which in (("mean", 7), ("temperature", 1)):
        with pytest.raises(InvalidInput, match="which"):
            ct.monitor().update(*rows(10)).confidence_sequence(of, which=which)
    with pytest.raises(InvalidInput, match="groups has no effect"):
        watch.update([0.2, 0.3], [0, 1], groups=["a", "b"])
    with pytest.raises(InvalidInput, match="ids must name at least one row"):
        watch.resolve([], [])


@pytest.mark.full
def test_state_stays_small():
    probs, labels = rows(70_000, 10)
    assert len(ct.monitor().update(probs, labels).to_json()) < 1_000_000
    probs, labels = rows(70_000, 2)
    watch = ct.monitor(groups=list(range(50)))
    watch.update(probs, labels, groups=np.arange(70_000) % 50)
    text = watch.to_json()
    assert len(text) < 1_000_000
    assert ct.Monitor.from_json(text).to_json() == text
    assert watch.path["row"].size > 500


@pytest.mark.full
def test_state_of_many_classes_and_groups_stays_small():
    """Twenty classes and fifty groups, in the middle of a block; it goes on to the last bit."""
    probs, labels = rows(7_000, 20)
    watch = ct.monitor(groups=list(range(50)))
    watch.update(probs, labels, groups=np.arange(7_000) % 50)
    text = watch.to_json()
    assert len(text) < 1_000_000
    again = ct.Monitor.from_json(text)
    for one in (watch, again):
        one.update(probs, labels, groups=np.arange(7_000) % 49)
    assert again.to_json() == watch.to_json()


def test_words_of_the_findings():
    """Direction and size of what the bets have won with."""
    watch = ct.monitor().update(*rows(3000, 3, exponent=0.5, offset=1.0, seed=4))
    text = str(watch.verdict())
    # Three maps of which none need be the right one: each is nearer, and none fixes it.
    assert "too sure: temperature" in text
    assert "class 2 predicted too rarely" in text
    assert " ".join(text.split()).count("nearer to the outcomes (") == 3
    assert watch.findings()[0][1] == max(found[1] for found in watch.findings())


@pytest.mark.parametrize("restart", [False, True])
def test_a_change_is_where_a_bet_has_won_most_since(restart):
    """Of all bets on a grid and all ends of blocks; in the range are those within e^3 of that."""
    change, blocks = 40, 75
    parts = [rows(change * BLOCK, 2), rows((blocks - change) * BLOCK, 2, seed=1, offset=0.5)]
    probs, labels = (np.concatenate(part) for part in zip(*parts, strict=True))
    watch = ct.monitor(restart=restart)
    for part in np.array_split(np.arange(len(labels)), 11):
        watch.update(probs[part], labels[part])
    z = np.log(probs[:, 1] / probs[:, 0])
    moved = np.concatenate([np.outer(SLOPES, z), z + BINARY_OFFSETS[:, None]])
    side = np.where(labels == 1, 1, -1)
    factors = np.logaddexp(0.0, -side * z) - np.logaddexp(0.0, -side * moved)
    sums = np.pad(np.cumsum(factors, axis=1)[:, BLOCK - 1 :: BLOCK], ((0, 0), (1, 0)))
    gains = (sums[:, -1:] - sums).max(axis=0)
    near = BLOCK * np.flatnonzero(gains >= gains.max() - 3.0)
    row, low, high = watch.since()
    assert row == BLOCK * np.argmax(gains)
    assert low <= near[0] <= change * BLOCK <= near[-1] <= high
    wide = BLOCK * np.flatnonzero(gains >= gains.max() - 5.0)  # whole steps, and a block
    assert wide[0] - BLOCK <= low
    assert high <= wide[-1] + BLOCK
    assert f"since: about row {row:,} ({low:,} to {high:,})." in str(watch)


def test_a_temperature_that_does_not_exist_is_not_named():
    """One class is more frequent than predicted: no temperature changes that."""
    watch = ct.monitor().update(*rows(5000, 3, offset=1.0, seed=8))
    with pytest.raises(NotApplicable, match="no temperature fits"):
        watch.confidence_sequence("temperature")
    assert "none fits the outcomes" in str(watch.summary())


def test_groups_have_evalues_after_an_impossible_outcome():
    """An infinite e-value of one group leaves the others numbers."""
    watch = ct.monitor(groups=["a", "b"])
    watch.update([[0.0, 1.0]] + [[0.5, 0.5]] * 4, [0, 0, 1, 0, 1], groups=["a"] + ["b"] * 4)
    found = watch.group_evalues
    assert found["a"] == math.inf
    assert math.isfinite(found["b"])
    assert found["b"] <= math.exp(watch._streams[1].log_evalue) * (1 + 1e-12)


def test_groups_are_named_by_their_evidence():
    """The largest e-value first; one that is no float is not infinite."""
    watch = ct.monitor(groups=["a", "b"])
    watch.update([0.1] * 10 + [0.01] * 400, [1] * 410, groups=["a"] * 10 + ["b"] * 400)
    told = [text for kind, text in watch.verdict().sentences if kind == "groups"]
    assert [text[:7] for text in told] == ["b (e = ", "a (e = "]
    assert told[0].startswith("b (e = 1e+7")
    assert watch.group_evalues["b"] == math.inf


@pytest.mark.parametrize(
    "names",
    [
        [np.int64(7), np.int64(8)],
        np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]"),
        list(pd.date_range("2026-01-01", periods=2)),
        pd.Series(pd.date_range("2026-01-01", periods=2)),
        [2.5, None],
        [np.str_("a"), "b"],
    ],
)
def test_names_are_known_again_after_json(names):
    """Of groups and of rows that wait, whatever type they have."""
    watch = ct.monitor(groups=names).update([0.1, 0.2], ids=names, groups=names)
    again = ct.Monitor.from_json(watch.to_json())
    for one in (watch, again):
        one.resolve(names, [1, 0]).update([0.3, 0.9], [1, 1], groups=names)
    assert again.to_json() == watch.to_json()
    assert [again._streams[code].n for code in (0, 1)] == [2, 2]


def test_groups_ids_and_classes_are_names():
    for groups in ({}, "region"):
        with pytest.raises(InvalidInput, match=r"groups must be .*names"):
            ct.monitor(groups=groups)
    with pytest.raises(InvalidInput, match="ids must be names"):
        ct.monitor().update([0.5], None, ids=[{"a": 1}])
    for classes in ([[0], [1, 2]], 5):
        with pytest.raises(InvalidInput, match="classes must be"):
            ct.monitor(classes=classes)


def test_smallest_level_and_longest_memory_have_sequences():
    """Half of the level is 0, and the memory no float."""
    watch = ct.monitor(level=5e-324, memory=10**400).update([0.5] * 20, [0, 1] * 10)
    assert watch.size().low < 0 < watch.size().high
