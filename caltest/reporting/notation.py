"""LaTeX of docstrings as plain text: formulas within paragraphs, and those without pictures."""

from __future__ import annotations

import re
import unicodedata

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
    above, below = (part if len(part) == 1 else f"({part})" for part in match.groups())
    return f"{above}/{below}"


def _script(match: re.Match[str], table: dict[int, int], mark: str) -> str:
    """Raise or lower characters where all of them have such a form, else keep the mark."""
    inner = (match[1] if match[1] is not None else match[2]).replace(" ", "")
    if all(ord(character) in table for character in inner):
        return inner.translate(table)
    return f"{mark}{inner}" if len(inner) == 1 else f"{mark}({inner})"
