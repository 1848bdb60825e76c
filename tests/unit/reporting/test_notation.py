"""LaTeX as text and as pictures, for every formula of every measure."""

import pytest

from caltest import measures
from caltest.measures import REGISTRY
from caltest.reporting.html import formula_svg
from caltest.reporting.methods import plain_formula, read_docstring

FORMULAS = [
    (key, text)
    for key in REGISTRY
    if hasattr(measures, key)
    for kind, text in read_docstring(getattr(measures, key).__doc__ or "")[0]
    if kind == "formula"
]


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{a}{b + c}", "a/(b + c)"),
        (r"\bar p_b \ne \hat y", "p̄_b ≠ ŷ"),
        (r"\sqrt{n} x^{-1}", "√(n) x⁻¹"),
        (r"\lVert p_i \rVert^2", "‖ pᵢ ‖²"),
    ],
)
def test_formula_as_text(latex, text):
    """Fractions, accents, roots and scripts have forms of their own."""
    assert plain_formula(latex) == text


@pytest.mark.parametrize(("key", "latex"), FORMULAS, ids=[key for key, _ in FORMULAS])
def test_formula_of_a_measure_is_drawn(key, latex):
    """Every formula of the docstrings can be set, and as text has no backslash left."""
    assert "\\" not in plain_formula(latex)
    drawn = formula_svg(latex, key="f")
    assert drawn is not None
    assert drawn.startswith("<svg")


def test_formula_that_cannot_be_set_is_none():
    """An environment that mathtext does not know is left to the text."""
    assert formula_svg(r"\begin{cases} 1 \end{cases}", key="f") is None
