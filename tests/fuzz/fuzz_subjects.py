"""Generated calls of the public functions, by subject."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from fuzz_driver import Fault
from fuzz_files import command_line, hostile_map, hostile_result, reader
from fuzz_kinds import KINDS
from fuzz_plots import plots
from fuzz_states import state
from fuzz_values import HOSTILE, Case, Draw

import caltest as ct

RESAMPLES = (1, 9, 19)


def written(name: str, *arguments: Any, **options: Any) -> str:
    """Write a call as text."""
    given = [repr(a) for a in arguments] + [f"{k}={v!r}" for k, v in options.items()]
    return f"{name}({', '.join(given)})"


def case(call: Callable[..., Any], *arguments: Any, **options: Any) -> Case:
    name = getattr(call, "__qualname__", str(call))
    inputs = [*arguments, *options.values()]
    text = written(name, *arguments, **options)
    return Case(name, lambda: call(*arguments, **options), inputs, text)


def model_and_data(draw: Draw) -> tuple[tuple[Any, ...], dict[str, Any], int]:
    """Draw the first arguments: arrays, predictions, a data frame or a classifier."""
    kind = draw.one(("arrays", "arrays", "predictions", "frame", "classifier"))
    if kind == "frame":
        columns = draw.table()
        options: dict[str, Any] = {"label": "y"}
        options |= {"probs": "p_"} if draw.chance(0.5) else {}
        return (None, draw.frame(columns)), draw.spoil(options), len(columns["w"])
    if kind == "classifier":
        X = draw.rng.normal(size=(draw.one((5, 20, 40)), 2))
        y = draw.rng.integers(0, 2, len(X))
        return (fitted(), (draw.spoiled(X), draw.spoiled(draw.form(y)))), {}, len(X)
    if kind == "predictions":
        probs = draw.matrix()
        n = len(probs)
        extra = {"sample_weight": draw.rng.random(n), "groups": draw.rng.integers(0, 2, n)}
        kept = {name: value for name, value in extra.items() if draw.chance(0.3)}
        names = draw.names(probs.shape[1])
        codes = draw.codes(probs)
        labels = np.array(names, dtype=object)[codes]
        try:
            return (ct.Predictions(probs, labels, classes=names, **kept),), {}, n
        except ct.InvalidInput:
            return (ct.Predictions(probs, codes),), {}, n
    probs, labels, options = draw.arrays()
    return (probs, labels), options, rows_of(labels)


def rows_of(values: Any) -> int:
    """Count the rows of labels, which may be broken."""
    try:
        return len(values)
    except TypeError:
        return 1


@functools.cache
def fitted() -> Any:
    """Return a small classifier."""
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit([[0.0, 1.0], [2.0, 0.5], [3.0, 1.5], [1.0, 1.0]], [1, 0, 1, 0])


def common(draw: Draw) -> dict[str, Any]:
    found = draw.some(level=lambda: draw.one((0.05, 0.5, 0.001)), n_jobs=1)
    return {"n_resamples": draw.one(RESAMPLES), "rng": draw.whole(0, 99)} | found


def of_a_test(draw: Draw) -> dict[str, Any]:
    from caltest.htests import REGISTRY
    from caltest.nulls import REGISTRY as NULLS

    key = draw.one(list(REGISTRY))
    named = REGISTRY[key]
    options = draw.options_of(named.measure, list(named.fixed))
    if draw.chance(0.3):
        options["null"] = draw.one(list(NULLS if draw.chance(0.3) else named.nulls))
    return {"test": key} | options


def test_calibration(draw: Draw) -> Case:
    arguments, options, n = model_and_data(draw)
    options |= common(draw)
    if draw.chance(0.8):
        options |= of_a_test(draw)
    options |= draw.some(
        lens=draw.lens,
        tolerance=lambda: draw.one((0.0, 0.01, 0.1, 0.5, 2.0)),
        equivalence=True,
        correction=lambda: draw.one(("joint", "holm", "fdr_bh", "none", None, "bonferroni")),
    )
    if draw.chance(0.25):
        name = draw.one(("by", "cluster", "time", "segments"))
        options[name] = draw.of_rows(n)
        options |= {"lag": draw.whole(0, 3)} if name == "time" else {}
    if draw.broken and draw.chance(0.2):
        options = draw.spoil(options)
    return case(ct.test_calibration, *arguments, **options)


def followed_up(draw: Draw) -> Case:
    first = test_calibration(draw)
    name = draw.one(("confidence_interval", "witness", "verdict", "to_frame", "records", "summary"))
    options: dict[str, Any] = {}
    if name == "confidence_interval":
        methods = ("percentile", "bca", "jackknife", "own", "studentized", "analytic")
        options = draw.some(
            confidence=lambda: draw.one((0.5, 0.95)), method=lambda: draw.one(methods)
        )
        options |= {"n_resamples": draw.one((9, 19)), "rng": 1}

    def call() -> Any:
        result = first.call()
        rows = getattr(result, "rows", None)
        asked = result if hasattr(result, name) else rows[0] if rows else result
        return getattr(asked, name)(**options) if hasattr(asked, name) else None

    return Case(f"{first.subject}().{name}", call, first.inputs, f"{first.text}.{name}({options})")


def verdict(draw: Draw) -> Case:
    arguments, options, n = model_and_data(draw)
    options |= common(draw)
    options |= draw.some(lens=draw.lens, tolerance=0.1, equivalence=True)
    options |= draw.some(recalibrate=lambda: draw.one(list(ct.calibrators.REGISTRY)))
    if draw.chance(0.3):
        options[draw.one(("by", "cluster", "time", "segments"))] = draw.of_rows(n)
    return case(ct.verdict, *arguments, **options)


def predictions(draw: Draw) -> Case:
    """Predictions of arrays, and what is made of them."""
    probs, labels, options = draw.arrays()
    n = rows_of(labels)
    options |= draw.some(
        sample_weight=lambda: draw.of_rows(n),
        groups=lambda: draw.of_rows(n),
        clusters=lambda: draw.of_rows(n),
    )
    then = draw.one(("repr", "by_group", "simulate", "subset", "with_groups", "with_clusters"))
    given = {"subset": [0], "with_groups": ["a"] * n, "with_clusters": list(range(n))}.get(then)
    given = draw.odd() if draw.broken and draw.chance(0.3) and given is not None else given

    def call() -> Any:
        made = ct.Predictions(probs, labels, **options)
        if then in ("repr", "by_group"):
            return repr(made) if then == "repr" else list(made.by_group().values())
        return getattr(made, then)(1 if given is None else given)

    text = f"{written('Predictions', probs, labels, **options)}.{then}({given!r})"
    return Case("Predictions", call, [probs, labels, *options.values()], text)


def from_frame(draw: Draw) -> Case:
    """Predictions of a table."""
    columns = draw.table()
    frame = draw.frame(columns)
    options: dict[str, Any] = {"label": "y"} | draw.some(
        probs=lambda: draw.one(("p_", "w", list(columns)[1:3], "p")),
        groups=lambda: draw.one(("g", ["g", "c"], columns["g"])),
        clusters=lambda: draw.one(("c", columns["c"])),
        sample_weight=lambda: draw.one(("w", columns["w"])),
        from_logits=True,
        renormalize=True,
    )
    return case(ct.Predictions.from_frame, frame, **draw.spoil(options))


def calibrators(draw: Draw) -> Case:
    """Fit, apply, save and read back."""
    key = draw.one(list(ct.calibrators.REGISTRY))
    kind = ct.calibrators.REGISTRY[key]
    options = draw.options_of(kind, ("calibrator", "random_state"))
    inner = draw.one(("temperature", "platt", "isotonic", "histogram"))
    if key in ("one-vs-rest", "ensemble"):
        options["calibrator"] = draw.spoil({"a": ct.calibrators.REGISTRY[inner]()})["a"]
    probs = draw.matrix()
    codes = draw.codes(probs)
    n = len(probs)
    weights = draw.of_rows(n) if draw.chance(0.3) else None
    given, labels = draw.spoiled(draw.form(probs)), draw.spoiled(draw.form(codes))
    new = draw.spoiled(draw.matrix(draw.one((1, 5)), probs.shape[1]))

    def call() -> Any:
        fit = kind(**options).fit(given, labels, sample_weight=weights)
        after = fit.predict_proba(new)
        if not np.allclose(after.sum(1), 1) or after.min() < 0:
            raise Fault(f"not on the simplex: {after!r}")
        again = type(fit).from_json(fit.to_json())
        if not np.array_equal(again.predict_proba(new), after):
            raise Fault("JSON changed the map")
        return [fit.summary(), str(fit.summary())]

    text = f"{written(kind.__name__, **options)}.fit({given!r}, {labels!r}, {weights!r}), {new!r}"
    return Case(f"calibrator {key}", call, [given, labels, new, weights], text)


def compare_models(draw: Draw) -> Case:
    probs = draw.matrix()
    codes = draw.codes(probs)
    names = draw.rng.permutation(np.array(HOSTILE[:12]))[:3]
    models = {str(name): draw.spoiled(draw.matrix(*probs.shape)) for name in names}
    options = common(draw) | draw.some(
        score=lambda: draw.one(("log-loss", "brier", "spherical")),
        reference=lambda: draw.one(list(models)),
        lens=draw.lens,
        correction=lambda: draw.one(("holm", "joint", None)),
    )
    models_or_odd = draw.odd() if draw.broken and draw.chance(0.1) else models
    return case(ct.compare_models, models_or_odd, draw.spoiled(draw.form(codes)), **options)


def compare_calibrators(draw: Draw) -> Case:
    arguments, options, _ = model_and_data(draw)
    keys = [draw.one(("identity", "temperature", "platt", "isotonic", "histogram", "beta"))]
    options |= common(draw) | draw.some(
        score=lambda: draw.one(("log-loss", "brier", "spherical")),
        inner_cv=2,
        time_limit=lambda: draw.one((0.001, None, 5.0)),
        lens=draw.lens,
    )
    options |= draw.spoil({"calibrators": ["identity", *keys], "cv": 2})
    return case(ct.compare_calibrators, *arguments, **options)


def planning(draw: Draw) -> Case:
    arguments, options, _ = model_and_data(draw)
    truth = {"temperature": 2.0, "slope": 0.5, "intercept": 0.3, "ratio": 1.2, "noise": 0.2}
    name = draw.one(list(truth))
    options |= draw.spoil({name: truth[name]}) | draw.some(truth=lambda: arguments[0])
    kind = draw.one((ct.power, ct.power, ct.sample_size, ct.sample_size_for_precision))
    if kind is ct.sample_size_for_precision:
        options |= draw.some(ratio_width=0.3, slope_width=0.4, intercept_width=0.5, confidence=0.9)
        return case(kind, *arguments, **options, rng=1)
    options |= {"n_resamples": 19, "n_datasets": draw.one((2, 5)), "rng": 1}
    if draw.chance(0.5):
        options |= of_a_test(draw)
    if kind is ct.power:
        options |= draw.spoil({"n": draw.one((20, [20, 30]))})
    else:
        options |= {"n_min": 20, "n_max": 60} | draw.some(power=0.7)
    return case(kind, *arguments, **options)


def segments(draw: Draw) -> Case:
    columns = draw.table()
    frame = draw.frame(columns)
    named = draw.one((["g"], ["g", "c", "age"], "age", None, ["y"], ["nothing"]))
    options = common(draw) | {"label": "y", "segments": named, "min_size": draw.one((1, 2, 20))}
    options |= draw.some(
        depth=lambda: draw.whole(1, 3),
        bins=lambda: draw.whole(1, 10),
        keep=lambda: draw.whole(1, 5),
        statistic=lambda: draw.one(("mean", "cumulative", ("mean",))),
        lens=draw.lens,
    )
    return case(ct.test_segments, None, frame, **draw.spoil(options))


def master_scale(draw: Draw) -> Case:
    k = draw.whole(1, 5)
    n = draw.rng.integers(0, 500, k)
    pd = np.sort(draw.rng.random(k) ** 3)
    given = [draw.spoiled(draw.form(a)) for a in (pd, draw.rng.binomial(n, pd), n)]
    tests = ("jeffreys", "binomial", "normal", "vasicek", "hosmer-lemeshow")
    options = draw.some(
        grades=lambda: [str(name) for name in HOSTILE[:k]],
        test=lambda: draw.one((*tests, list(tests[:3]))),
        alternative=lambda: draw.one(("greater", "less", "two-sided")),
        correlation=lambda: draw.one(("corporate", 0.1, 0.0, 1.0, "mortgage")),
        level=0.05,
        correction=lambda: draw.one(("holm", None, "joint")),
        lights=lambda: draw.one((None, (0.05, 0.01, 0.001), (0.5,))),
        portfolio=lambda: draw.one(((), "spiegelhalter")),
    )
    return case(ct.test_master_scale, *given, **options)


def evalues(draw: Draw) -> Case:
    """E-values combined."""
    given = draw.spoiled(draw.form(draw.rng.exponential(1, draw.whole(0, 5))))
    options = draw.some(
        method=lambda: draw.one(("mean", "product")), weights=lambda: draw.rng.random(3)
    )
    return case(ct.combine_evalues, given, **options)


def functions(draw: Draw) -> Case:
    from caltest import measures

    kinds = [kind for kind in measures.REGISTRY.values() if kind.function_name()]
    kind = draw.one(kinds)
    function = getattr(measures, kind.function_name(), None)
    if function is None:
        return evalues(draw)
    known = inspect.signature(function).parameters
    options = {name: v for name, v in draw.options_of(kind).items() if name in known}
    probs, labels, form = draw.arrays()

    def call() -> Any:
        return function(ct.Predictions(probs, labels, **form), **options)

    text = written(function.__name__, "Predictions", probs, labels, **form, **options)
    return Case(function.__name__, call, [probs, labels], text)


def monitor(draw: Draw) -> Case:
    """Several updates, with labels that come later, saved and read in between."""
    m = draw.one((2, 2, 3))
    groups = ["a", "<b>"] if draw.chance(0.3) else None
    options = draw.some(restart=True, memory=lambda: draw.one((1, 10, 1000)), level=0.1)
    options |= draw.spoil({"groups": groups}) if groups else {}
    steps: list[tuple[Any, Any, dict[str, Any]]] = []
    for _ in range(draw.whole(1, 3)):
        probs = draw.matrix(m=m)
        n = len(probs)
        given: dict[str, Any] = {"groups": [draw.one(groups) for _ in range(n)]} if groups else {}
        later = draw.chance(0.3)
        given |= {"ids": [f"{len(steps)}-{i}" for i in range(n)]} if later else {}
        labels = None if later else draw.spoiled(draw.form(draw.codes(probs)))
        steps.append((draw.spoiled(draw.form(probs)), labels, draw.spoil(given)))
    last = draw.one(("summary", "verdict", "size", "findings", "alarm", "confidence_sequence"))

    def call() -> Any:
        watch = ct.monitor(**options)
        for probs, labels, given in steps:
            watch.update(probs, labels, **given)
            if labels is None:
                ids = np.ravel(np.asarray(given["ids"], dtype=object)).tolist()
                watch.resolve(ids[:1], [0])
                watch.drop(ids[1:2])
            again = ct.Monitor.from_json(watch.to_json())
            if again.to_json() != watch.to_json():
                raise Fault("JSON changed the monitor")
        return [watch, getattr(watch, last)(), watch.evalue, watch.pvalue]

    text = f"{written('monitor', **options)}: {steps!r}.{last}()"
    return Case("monitor", call, [part for step in steps for part in step], text)


def report(draw: Draw) -> Case:
    columns = draw.table()
    frame = draw.frame(columns)
    meta = {str(draw.one(HOSTILE[:12])): str(draw.one(HOSTILE)) for _ in range(2)}
    options = (
        common(draw)
        | {"label": "y"}
        | draw.some(
            title=lambda: draw.one(HOSTILE),
            author=lambda: draw.one(HOSTILE),
            meta=lambda: meta,
            by=lambda: "g",
            profile=lambda: draw.one(("general", "clinical", "credit", "forecast", "fairness")),
            recalibrate=lambda: draw.one(("temperature", "platt", "isotonic")),
            tolerance=0.1,
        )
    )
    as_what = draw.one(("to_html", "to_markdown", "to_json", "to_html"))

    def call() -> Any:
        text = getattr(ct.report(None, frame, **options), as_what)()
        if "<script>alert" in text and as_what == "to_html":
            raise Fault("the page runs a script of the data")
        return json.loads(text) and None if as_what == "to_json" else None

    return Case("report", call, [frame], f"{written('report', None, columns, **options)}.{as_what}")


# What makes a case of each subject, and how often it is drawn.
SUBJECTS: dict[str, tuple[Callable[[Draw], Case], int]] = {
    "test_calibration": (test_calibration, 100),
    "followed_up": (followed_up, 25),
    "verdict": (verdict, 8),
    "predictions": (predictions, 60),
    "from_frame": (from_frame, 40),
    "calibrators": (calibrators, 40),
    "compare_models": (compare_models, 15),
    "compare_calibrators": (compare_calibrators, 5),
    "planning": (planning, 12),
    "segments": (segments, 20),
    "master_scale": (master_scale, 30),
    "evalues": (evalues, 10),
    "functions": (functions, 40),
    "monitor": (monitor, 25),
    "report": (report, 1),
    "plots": (plots, 8),
    "command_line": (command_line, 40),
    "reader": (reader, 40),
    "hostile_map": (hostile_map, 30),
    "states": (state, 20),
    "hostile_result": (hostile_result, 20),
} | {name: (kind, 0) for name, kind in KINDS.items()}  # by name alone, so that seeds stay
