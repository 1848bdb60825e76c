"""What the tests of a report are: read off the registries and the docstrings of the measures."""

from __future__ import annotations

import inspect
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence

from caltest import measures, nulls
from caltest.lenses import resolve_lens
from caltest.reporting.content import Block, MethodText, paragraph
from caltest.results import HTest, wording
from caltest.segments import test_segments

Blocks = tuple[tuple[str, str], ...]

# What each null assumes; one that is not here shows its title.
ASSUMPTIONS = {
    "exact": (
        "The predictions are held fixed and labels are redrawn from them, so that the null "
        "hypothesis holds. The p-value is (1 + k) / (1 + B), with k of B redrawn values as "
        "extreme as the observed one. It assumes that rows are independent given their "
        "predictions, and nothing else: it is valid at every number of rows."
    ),
    "consistency": (
        "Predictions are drawn with replacement, then labels from them. The p-value is "
        "(1 + k) / (1 + B). It can be too small for measures that have many bins."
    ),
    "bootstrap": (
        "A multinomial bootstrap of the degenerate U-statistic (Arcones and Gine 1992). It assumes "
        "independent rows and many of them."
    ),
    "asymptotic": "A limiting distribution. It assumes many independent rows.",
    "convolution": (
        "The exact distribution of the number of events, with labels independent of each other "
        "and distributed as predicted (Poisson-binomial). It assumes that rows are independent "
        "given their predictions, and nothing else: it is valid at every number of rows."
    ),
    "saddlepoint": (
        "The predictions are held fixed, and the distribution of a sum over rows under labels that "
        "follow them is approximated at a saddlepoint (Lugannani and Rice 1980). It assumes that "
        "rows are independent given their predictions; the relative error of a p-value is small. "
        "Where few rows make up the sum, its terms are convolved instead."
    ),
    "closed-form": "A formula without a limit in n, under the assumptions of the test.",
    "distribution-free": (
        "A concentration inequality. It assumes independent rows, holds at every number of rows, "
        "and is very conservative."
    ),
    "cluster": (
        "The signs of the residuals e_y - p are flipped at random, one sign for each cluster, and "
        "the p-value is (1 + k) / (1 + B), but no less than that of independent rows. Rows of a "
        "cluster may depend on each other; clusters are independent. It is valid for many "
        "clusters, and for few where their sums are symmetric about 0 (Canay, Romano and Shaikh "
        "2017)."
    ),
}
REFERENCES = {
    "exact": "Phipson, Smyth (2010), Permutation p-values should never be zero, Statistical "
    "Applications in Genetics and Molecular Biology 9."
}


def methods_of(
    rows: Sequence[HTest], correction: str | None, *, recalibrated: bool, segmented: bool
) -> Iterator[MethodText]:
    """Describe each test, null and lens once, in the order in which they first occur."""
    written: dict[object, str] = {}
    for row in _first(rows, lambda row: row.test):
        kept, title = row.evidence or row.counted or row.counts, row.method
        blocks, references = _text(""), ""
        if kept is not None:  # the docstring of the measure's function, or else of its class
            title = kept.measure.description
            subject = getattr(measures, kept.measure.function_name(), None) or type(kept.measure)
            blocks, references = read_docstring(inspect.getdoc(subject) or "")
            if (first := written.setdefault(blocks, row.test)) != row.test:
                blocks, references = _text(f"As test {first}, with this hypothesis."), ""
        yield MethodText("test", row.test, title, blocks, references)
    for row in _first(rows, lambda row: row.null):
        null = nulls.REGISTRY.get(row.null)
        text = ASSUMPTIONS.get(row.null, "")
        text = text if row.m else text.replace("labels are", "outcomes are")
        title = row.null_text if null is None else null.title
        yield MethodText("null", row.null, title, _text(text), REFERENCES.get(row.null, ""))
    for row in _first(rows, lambda row: row.lens.partition("[")[0]):
        key, kept = row.lens.partition("[")[0], row.evidence or row.counted
        title, blocks = row.claim, _text("")
        if kept is not None:  # a member of a family stands for all
            lens, title = kept.lens, kept.lens.title
            is_member = lens != resolve_lens("strong") and hasattr(lens, "k")
            blocks = _text(f"Null hypothesis: {type(lens)().claim if is_member else row.claim}.")
        yield MethodText("lens", key, title, blocks)
    if correction is not None:
        title, source = ADJUSTMENTS.get(correction, ("multiple testing", ""))
        yield MethodText("adjustment", correction, title, _text(ADJUSTED), source)
    if recalibrated:
        title = "calibrators are tested on rows that they were not fitted to"
        yield MethodText("comparison", "out of fold", title, _text(OUT_OF_FOLD), FISHER)
    if segmented:
        references = read_docstring(inspect.getdoc(test_segments) or "")[1]
        title = "standardised differences in overlapping segments, exact together"
        yield MethodText("test", "segments", title, _text(SEGMENTS), references)


OUT_OF_FOLD = (
    "The rows are dealt to folds at random, whatever their labels. What is fitted to the others is "
    "tested on a fold with labels that the fit has not seen; folds whose maps agree, as those of "
    "the model before, are tested together, each other fold by itself, and Fisher's method "
    "combines the p-values. The test, the lens and the folds are those of compare_calibrators, for "
    "the same seed."
)
FISHER = "Fisher (1932), Statistical methods for research workers, section 21.1."
SEGMENTS = (
    "Observed less predicted events of each segment are divided by their standard deviation under "
    "calibration and corrected for skewness; where it was computed, so is the range of the partial "
    "sums in the order of the predictions. The labels that are redrawn are those of the other "
    "tests. The adjusted p-value compares a segment with the largest over it and all less extreme "
    "segments in each vector of redrawn labels, so that the probability to reject any calibrated "
    "segment is at most the level, at every number of rows."
)
ADJUSTED = "The p-values of tests, of groups and of calibrators are adjusted as three families."
ADJUSTMENTS = {
    "joint": (
        (
            "step-down method of Westfall and Young for tests of the same redrawn labels, Holm's "
            "for other nulls and for calibrators"
        ),
        "Westfall, Young (1993), Resampling-based multiple testing.",
    ),
    "holm": (
        "Holm, valid whatever the dependence of the tests",
        "Holm (1979), A simple sequentially rejective multiple test procedure.",
    ),
    "bonferroni": ("Bonferroni, the p-value times the number of tests", ""),
    "fdr_bh": (
        "false discovery rate",
        "Benjamini, Hochberg (1995), Controlling the false discovery rate.",
    ),
    "fdr_by": (
        "false discovery rate, whatever the dependence of the tests",
        "Benjamini, Yekutieli (2001), The control of the false discovery rate under dependency.",
    ),
}


def _first(rows: Sequence[HTest], key: Callable[[HTest], str]) -> list[HTest]:
    found: dict[str, HTest] = {}
    for row in rows:
        found.setdefault(key(row), row)
    return list(found.values())


def _text(paragraph: str) -> Blocks:
    return (("text", paragraph),) if paragraph else ()


def read_docstring(doc: str) -> tuple[Blocks, str]:
    r"""Split a docstring into paragraphs and formulas before its sections, and its references.

    Examples
    --------
    >>> read_docstring("Compute a thing.\n\n.. math:: x^2\n\nParameters\n----------\n")
    ((('text', 'A thing.'), ('formula', 'x^2')), '')
    """
    sections = re.split(r"^(\w[\w ]+)\n-{3,}\n", doc, flags=re.MULTILINE)
    named = dict(zip(sections[1::2], sections[2::2], strict=True))
    blocks = tuple(_blocks(sections[0]))
    formulas = [i for i, (kind, _) in enumerate(blocks) if kind == "formula"]
    if formulas:  # what defines the measure: all up to the last one, and what explains its letters
        end = formulas[-1] + 1
        blocks = blocks[: end + (end < len(blocks) and blocks[end][1][:1].islower())]
    return blocks, plain_paragraph(" ".join(named.get("References", "").split()))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip())):
        formula = re.match(r"\s*\.\. math::\s*(.*)", part, flags=re.DOTALL)
        if formula:
            yield "formula", " ".join(formula[1].split())
        for item in [] if formula else re.split(r"\n(?=\s*- )", part):
            sentence = re.sub(r"^- ", "\u2022 ", plain_paragraph(" ".join(item.split())))
            if number == 0:  # without the verb with which docstrings of functions begin
                sentence = wording.capital(re.sub(r"^(Compute|Estimate) (the )?", "", sentence))
            yield "text", sentence


def method_blocks(methods: Sequence[MethodText]) -> Iterator[Block]:
    """Yield each method with its formulas and sources.

    Yields
    ------
    Block
        Of the section.
    """
    for method in methods:
        yield Block(kind="heading", text=f"{method.kind.capitalize()} {method.key}: {method.title}")
        for kind, text in method.text:
            yield Block(kind=kind, text=text)
        if method.references:
            yield paragraph(f"Source: {method.references}")


# ruff: noqa: RUF001 - Greek letters are what this file is for
_SYMBOLS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "phi": "φ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "theta": "θ", "chi": "χ", "ell": "ℓ", "Phi": "Φ", "Sigma": "Σ",
    "sum": "Σ", "prod": "Π", "int": "∫", "infty": "∞", "le": "≤", "ge": "≥", "ne": "≠",
    "in": "∈", "notin": "∉", "to": "→", "sim": "~", "approx": "≈", "times": "×", "cdot": "·",
    "mid": "|", "lVert": "‖", "rVert": "‖", "quad": "  ", "qquad": "  ", "pm": "±", "cup": "∪",
    "subset": "⊂", "propto": "∝", "dots": "...", "ldots": "...", "partial": "∂", "lfloor": "⌊",
    "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "prime": "'",
}  # fmt: skip
_ACCENTS = {"bar": "\u0304", "hat": "\u0302", "tilde": "\u0303"}
_SUBSCRIPTS = str.maketrans("0123456789+-aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
_SUPERSCRIPTS = str.maketrans("0123456789+-nip", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿⁱᵖ")
_SIZES = r"\\(?:Bigl|Bigr|bigl|bigr|Big|big|left|right)\b"
_ROLE = re.compile(r":math:`([^`]*)`")


def plain_paragraph(text: str) -> str:
    r"""Write the formulas of a paragraph of a docstring as text.

    Examples
    --------
    >>> plain_paragraph(r"With :math:`\bar p_b` the mean, see `caltest.measures.ece`.")
    'With p̄_b the mean, see caltest.measures.ece.'
    """
    return _ROLE.sub(lambda match: plain_formula(match[1]), text).replace("`", "")


def plain_formula(latex: str) -> str:
    r"""Write LaTeX as one line of text.

    Examples
    --------
    >>> plain_formula(r"n^{-1} \sum_i (y_i - p_i)^2")
    'n⁻¹ Σᵢ (yᵢ - pᵢ)²'
    """
    text = re.sub(_SIZES, "", " ".join(latex.split()))
    text = re.sub(r"\\(?:mathrm|text|operatorname)\{([^{}]*)\}", r"\1", text)
    for name, accent in _ACCENTS.items():
        text = re.sub(rf"\\{name}\s*\{{?(\w)\}}?", rf"\1{accent}", text)
    for _ in range(3):  # fractions within fractions
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", _fraction, text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda match: _SYMBOLS.get(match[1], match[1]), text)
    text = re.sub(r"\\[,;! ]", " ", text).replace(r"\{", "{").replace(r"\}", "}")
    text = re.sub(r"_(?:\{([^{}]*)\}|(\w))", lambda m: _script(m, _SUBSCRIPTS, "_"), text)
    text = re.sub(r"\^(?:\{([^{}]*)\}|(\w))", lambda m: _script(m, _SUPERSCRIPTS, "^"), text)
    text = re.sub(r"\s+", " ", text.replace("\\", "")).strip()
    return unicodedata.normalize("NFC", text)


def _fraction(match: re.Match[str]) -> str:
    return "/".join(part if len(part) == 1 else f"({part})" for part in match.groups())


def _script(match: re.Match[str], table: dict[int, int], mark: str) -> str:
    """Raise or lower characters where all of them have such a form, else keep the mark."""
    inner = (match[1] if match[1] is not None else match[2]).replace(" ", "")
    if all(ord(character) in table for character in inner):
        return inner.translate(table)
    return f"{mark}{inner}" if len(inner) == 1 else f"{mark}({inner})"
