"""The commands list, schema and demo."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any, cast

import typer

import caltest
from caltest import checks, render
from caltest.cli import completion, options
from caltest.cli.output import choose_format, progress_bar, write_text
from caltest.errors import invalid, shown
from caltest.results import HTestTable

TITLES = {
    "tests": "Tests: --test KEY",
    "measures": "Measures: what a test computes",
    "nulls": "Nulls: --null KEY",
    "lenses": "Lenses: --lens KEY",
    "kernels": "Kernels: --set kernel=KEY",
    "calibrators": "Calibrators: --method KEY",
}
SHARED = "common"  # no kind of its own
BEFORE_OPTIONS = {"tests": "--set ", "kernels": "--set kernel.", "calibrators": "--set "}


def _complete_key(context: typer.Context, incomplete: str) -> list[str]:
    kind = context.params.get("kind")
    return completion.starting(completion.registry(kind) if kind in TITLES else (), incomplete)


@options.grouped(
    offers={"kind": TITLES, "key": _complete_key},
    kind="KIND: tests, measures, nulls, lenses, kernels or calibrators.",
    key="KEY: One of that kind, to see its options.",
)
def list_(kind: str | None = None, key: str | None = None, *, output: Path | None = None) -> None:
    """List the tests, measures, nulls, lenses, kernels and calibrators, or the options of one."""
    choose_format(None, output)
    if kind is not None and kind not in TITLES and key is None:
        for name in TITLES:
            if kind in completion.registry(name):
                rule = f"KIND must be one of {', '.join(map(repr, TITLES))}"
                raise invalid(rule, shown(kind), f"caltest list {name} {kind} shows it")
    kinds = list(TITLES) if kind is None else [checks.check_choice(kind, TITLES, "KIND")]
    listed: dict[str, list[tuple[str, str]]] = {}
    if key is None:
        for name in kinds:
            entries = completion.registry(name).items()
            listed[TITLES[name]] = [(one, _title(entry)) for one, entry in entries]
    else:  # its nulls, if it is a test, and its options
        name, registry = kinds[0], completion.registry(kinds[0])
        entry = registry[checks.check_choice(key, registry, "KEY")]
        facts = [(name.removesuffix("s").replace("lense", "lens"), key)]
        if name == "tests":
            facts.append(("nulls", ", ".join(entry.nulls)))
        before, known = BEFORE_OPTIONS.get(name, ""), completion.options_of(name, key)
        listed[_title(entry)] = facts + [(f"{before}{one}", text) for one, text in known.items()]
    sheets = (render.Sheet(title=t, facts=tuple(f), listing=True) for t, f in listed.items())
    write_text("".join(map(render.text, sheets)), output=output)


def _title(entry: object) -> str:
    return str(getattr(entry, "title", ""))


# ---- schemas -------------------------------------------------------------------------------------


def kinds() -> list[str]:
    """Return the kinds of JSON that have a schema."""
    return [name for name in _files() if name != SHARED]


def _files() -> list[str]:
    return sorted(file.name.removesuffix(".json") for file in checks.FOLDER.iterdir())


@options.grouped(
    offers={"kind": lambda incomplete: completion.starting(kinds(), incomplete)},
    kind="KIND: Kind of JSON; without it the kinds are listed.",
)
def schema(kind: str | None = None, *, output: Path | None = None) -> None:
    """Print the JSON Schema (draft 2020-12) of a kind of JSON that caltest writes."""
    choose_format(None, output)
    if kind is None:
        facts = tuple((name, str(checks.load_schema(name)["title"])) for name in kinds())
        content = render.text(render.Sheet(title="Schemas of JSON", facts=facts, listing=True))
    else:
        bundle = bundled(checks.check_choice(kind, kinds(), "KIND"))
        content = json.dumps(bundle, indent=2, ensure_ascii=False) + "\n"
    write_text(content, output=output)


def bundled(kind: str) -> dict[str, Any]:
    """Return the schema of a kind with those that it refers to, so that it stands alone.

    Parameters
    ----------
    kind : str
        One of `kinds()`.

    Returns
    -------
    dict
        A JSON Schema; the others are in its "$defs", as section 9.3 of the specification has it.
    """
    found, waiting = {kind: checks.load_schema(kind)}, [kind]
    while waiting:
        text = json.dumps(found[waiting.pop()])
        for other in _files():
            if f'"$ref": "{checks.URN}{other}:' in text and other not in found:
                found[other] = checks.load_schema(other)
                waiting.append(other)
    whole = found.pop(kind)
    return whole | {"$defs": whole.get("$defs", {}) | found}


# ---- `caltest demo`: real models on real digits, tested before the reader's eyes ----------------

LENSES = ("strong", "confidence", "classwise")

READING = """\
A small p-value means that labels like these would be rare if the probabilities
were right. The first model in full:
"""

NEXT = """\
Your own predictions next: a file (CSV, Excel, Parquet, ...) with one row per
observation, a column of labels, say y, and a column of probabilities per class,
say p_cat, p_dog, ...; for two classes that of the event is enough.

    caltest test predictions.csv --label y --probs p_
    caltest report predictions.csv --label y --probs p_
    caltest compare predictions.csv --label y --probs p_
"""


@options.grouped
def demo(
    *,
    rng: int | None = 1,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    """Test four scikit-learn classifiers on handwritten digits that they have not seen."""
    choose_format(None, output)
    with progress_bar("training and testing", quiet=quiet) as progress:
        from caltest.datasets import digits_models

        digits = digits_models(rng=rng)
        draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": rng, "n_jobs": n_jobs}
        tests: list[Any] = []
        rows = []
        for name, model in digits.models.items():
            seen = caltest.Predictions.from_model(model, digits.X, digits.y)
            ask = partial(caltest.test_calibration, None, seen, **draws)
            found: list[Any] = [ask(lens=one) for one in LENSES]
            tests.append(found)
            pvalues = (found[0].pvalue, found[1].pvalue, float(found[2].adjusted.min()))
            # The codes take three places, so that the p-values of a column stay aligned.
            cells = [f"{render.pvalue(p)} {render.stars(p):3}" for p in pvalues]
            components = cast("HTestTable", found[0].components)
            temperature = next(row.estimate for row in components if row.test == "temperature")
            accuracy = float((seen.predicted == seen.labels).mean())
            rows.append((name, f"{accuracy:.3f}", *cells, f"{temperature:.2f}"))
            progress(len(rows), len(digits.models))
    strong, _, classwise = tests[0]
    sheet = render.Sheet(
        title="Are these models calibrated? P-values under three lenses",
        facts=(
            ("data", f"scikit-learn's digits, {strong.n} held out, {strong.m} classes"),
            ("test", strong.method),
            ("null", f"{strong.null_text}, B = {strong.n_resamples}"),
            ("strong", "all probabilities of a prediction at once"),
            ("confidence", "the probability of the predicted class"),
            ("classwise", f"each class by itself; least of {len(classwise)} adjusted p-values"),
            ("temperature", "what fits the labels best; above 1 the model is too sure"),
        ),
        header=("model", "accuracy", *LENSES, "temperature"),
        rows=tuple(rows),
        legend=render.LEGEND,
        listing=True,
    )
    write_text(f"{render.text(sheet)}\n{READING}\n{strong}\n{NEXT}", output=output)
