"""Generated pictures: every function of `caltest.plots`, written as SVG, with hostile names."""

from __future__ import annotations

import inspect
import io
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from fuzz_driver import Fault
from fuzz_values import HOSTILE, Case, Draw

import caltest as ct

FIXED = ("ax", "fig", "labels", "recalibrated", "predictions", "n_datasets", "control", "names")


def _tested(made: ct.Predictions, **options: Any) -> Any:
    return ct.test_calibration(made, n_resamples=9, rng=1, **options)


def _two(made: ct.Predictions) -> ct.Predictions:
    """Return the last class of two, where there are more."""
    from caltest.lenses import Classwise

    return made if made.m == 2 else Classwise(k=made.m - 1)(made)


def _forecasts(made: ct.Predictions) -> ct.Forecasts:
    """Return forecasts of the largest probability, from a source with a hostile name."""
    mean = made.probs.max(axis=1)
    return ct.Forecasts(made.probs[:, 0], mean=mean, scale=0.1 + mean, source=HOSTILE[0])


def _watched(made: ct.Predictions) -> Any:
    return ct.monitor().update(made)


def _compared(made: ct.Predictions) -> Any:
    even = np.full(made.probs.shape, 1 / made.m)
    models = {HOSTILE[0]: made.probs, HOSTILE[3]: even, HOSTILE[6]: (made.probs + even) / 2}
    return ct.compare_models(
        models, made.classes[made.labels], classes=made.classes, n_resamples=9, rng=1
    )


def _scaled(made: ct.Predictions) -> Any:
    return ct.test_master_scale(
        [0.01, 0.2, 0.5], [0, 3, 9], [10, 20, 20], grades=[str(name) for name in HOSTILE[:3]]
    )


def _groups(made: ct.Predictions) -> ct.GroupsTest:
    """Return groups with hostile names, the first far off."""
    k = np.arange(len(HOSTILE))
    return ct.GroupsTest(
        by=(HOSTILE[2],),
        values=tuple((name,) for name in HOSTILE),
        sizes=10 * (k + 1),
        events=np.where(k == 0, 9, 3 * (k + 1)),
        predicted=np.full(k.size, 0.3),
        low=np.full(k.size, -0.1),
        high=np.full(k.size, 0.1),
        deviation=0.1 / np.sqrt(k + 1.0),
        statistics=np.ones(k.size),
        pvalues=np.where(k == 0, 1e-6, 0.5),
        adjusted=np.where(k == 0, 1e-4, 1.0),
        together=1e-4,
        row=_tested(_two(made), test="ks"),
        correction="holm",
    )


def _scores(made: ct.Predictions) -> dict[str, list[float]]:
    return {name: (made.probs[:3].ravel()[:2] + k).tolist() for k, name in enumerate(HOSTILE[:3])}


# What each function draws, made of predictions whose classes have hostile names.
SOURCES: dict[str, Callable[[ct.Predictions], Any]] = {
    "attributes_diagram": lambda made: made,
    **dict.fromkeys(
        ("pit_histogram", "coverage_curve", "quantile_reliability", "spread_against_error"),
        _forecasts,
    ),
    "calibration_belt": lambda made: _tested(_two(made), test="calibration-belt"),
    "calibration_errors": lambda made: _tested(made, test="ece", lens="classwise"),
    "calibration_graphs": lambda made: made,
    "calibration_map": lambda made: ct.calibrators.PlattScaling().fit(_two(made)),
    "confusion_change": lambda made: (made, np.roll(made.probs, 1, axis=1)),
    "critical_difference": _scores,
    "decision_curve": lambda made: made,
    "groups": _groups,
    "latent_function": lambda made: ct.calibrators.GPCalibrator(n_inducing=3).fit(made),
    "master_scale": _scaled,
    "mcb_dsc": lambda made: {HOSTILE[0]: made, HOSTILE[1]: made},
    "monitor": _watched,
    "null_distribution": lambda made: _tested(made, test="skce"),
    "parameter_heatmap": lambda made: ct.calibrators.MatrixScaling().fit(made),
    "power_curve": lambda made: ct.power(
        made, n=[20, 30], temperature=2.0, n_datasets=2, n_resamples=9, rng=1
    ),
    "pvalues": lambda made: _tested(made, lens="classwise"),
    "reliability_diagram": lambda made: made,
    "reliability_grid": lambda made: made,
    "score_differences": _compared,
    "segments": lambda made: ct.test_segments(
        made,
        segments={HOSTILE[1]: np.array(HOSTILE[:4])[np.arange(made.n) % 4]},
        min_size=2,
        n_resamples=9,
        rng=1,
    ),
    "simplex_map": lambda made: ct.calibrators.TemperatureScaling().fit(made),
    "size_and_power": lambda made: {HOSTILE[0]: made.probs[:, 0], HOSTILE[1]: made.probs[:, 1]},
    "witness": lambda made: _tested(made, test="skce"),
}


def plots(draw: Draw) -> Case:
    """A plot with its options, written as SVG."""
    name = draw.one((*SOURCES, "result"))
    probs = draw.matrix(draw.one((2, 8, 30)))
    names = draw.names(probs.shape[1])
    arguments: list[Any] = [probs, np.array(names, dtype=object)[draw.codes(probs)]]
    arguments = [draw.spoiled(a) for a in arguments]
    options = draw.spoil(_options(draw, name)) if name in SOURCES else {}

    def call() -> Any:
        made = ct.Predictions(*arguments, classes=names)
        if name == "result":
            return _as_svg(_tested(made).plot())
        source = SOURCES[name](made)
        several = source if isinstance(source, tuple) else (source,)
        return _as_svg(getattr(ct.plots, name)(*several, **options))

    text = f"plots.{name}({arguments!r}, classes={names!r}, **{options!r})"
    return Case(f"plot {name}", call, arguments, text)


def _options(draw: Draw, name: str) -> dict[str, Any]:
    function = getattr(ct.plots, name)
    words = documented_of(function)
    options: dict[str, Any] = {}
    for key, p in inspect.signature(function).parameters.items():
        if p.default is not p.empty and key not in FIXED:
            value = draw.setting(p.default, words.get(key, ""))
            options |= {key: value} if draw.chance(0.25) else {}
    return options


def documented_of(function: Any) -> dict[str, str]:
    """Return what may be given to a function, off its docstring."""
    text = inspect.getdoc(function) or ""
    found = re.findall(r"^(\w[\w, ]*) : (\{.*?\})", text, re.MULTILINE)
    return {name: words for names, words in found for name in names.split(", ")}


def _as_svg(drawn: Any) -> None:
    import matplotlib.pyplot as plt

    axes = np.ravel(np.asarray(drawn, dtype=object))
    try:
        content = io.BytesIO()
        axes[0].get_figure().savefig(content, format="svg")
        tree = ET.fromstring(content.getvalue())  # noqa: S314, our own
        if any(element.tag.endswith("}script") for element in tree.iter()):
            raise Fault("the picture has a script")
    finally:
        plt.close("all")
