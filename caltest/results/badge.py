"""The answer of a result as a badge: an SVG, or the JSON of an endpoint of shields.io."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from caltest.render.sheet import number
from caltest.results import wording

if TYPE_CHECKING:
    from caltest.results import GroupsTest, HTest, HTestTable
    from caltest.segments import SegmentsTest

# White is read on each of them; the names are those of shields.io.
COLORS = {
    "brightgreen": "#146c2e",
    "green": "#2e7d32",
    "yellow": "#7a6100",
    "orange": "#b04a00",
    "red": "#b3261e",
    "lightgrey": "#5f6368",
}
AGAINST = {"no": "green", "weak": "yellow", "some": "orange", "strong": "red"}
IN_FAVOUR = {"no": "lightgrey", "weak": "yellow", "some": "green", "strong": "brightgreen"}
WIDTH = 6.6  # of a letter of 11 px, on average
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{text}">
<title>{text}</title>
<rect width="{all}" height="20" rx="3" fill="{fill}"/>
<path d="M3 0h{cut}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{left}" y="14" textLength="{label_width}">{label}</text>
<text x="{right}" y="14" textLength="{message_width}">{message}</text>
</g>
</svg>
"""


class Badge(NamedTuple):
    """What a badge says: to the left, to the right, and in which color."""

    label: str
    message: str
    color: str

    def to_json(self) -> str:
        """Return the JSON that https://shields.io/badges/endpoint-badge reads."""
        return json.dumps({"schemaVersion": 1, **self._asdict()}) + "\n"

    def to_svg(self) -> str:
        """Return the picture, 20 pixels high."""
        label, message = (round(WIDTH * len(text)) for text in self[:2])
        return SVG.format(
            text=escape(f"{self.label}: {self.message}"),
            label=escape(self.label),
            message=escape(self.message),
            fill=COLORS[self.color],
            all=label + message + 20,
            cut=label + 7,
            left=5 + label / 2,
            right=label + 15 + message / 2,
            label_width=label,
            message_width=message,
        )


def badge(result: HTest | HTestTable | GroupsTest | SegmentsTest) -> Badge:
    """Return the badge of a result.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.results.badge import badge
    >>> result = ct.test_calibration(ct.datasets.generative_model("M1", n=200, m=3, rng=1), rng=1)
    >>> badge(result).message
    'no evidence against (p = 0.43)'
    """
    rows = result.tests
    p = float(getattr(result, "pvalue", None) or wording.pvalue_of_table(result))  # type: ignore[arg-type]  # a table
    claim = wording.claim_of(rows[0]) if rows else wording.CALIBRATION
    few = bool(rows) and all(wording.is_too_small(row.size) for row in rows)
    key = wording.answer(p, result.level, claim, few=few)
    shade = IN_FAVOUR if claim.is_good else AGAINST
    strength = key.removesuffix(" evidence")
    color = shade.get(strength, shade["strong" if p <= (result.level or 0) else "no"])
    if rows and rows[0].null == "tolerance":
        side = "below" if claim.is_good else "above"
        size = f"{rows[0].estimate_name} {side} {number(rows[0].parameters['tolerance'])}"
        shown = f"{key} of {size}" if strength in shade else size
        key = shown if strength in shade or p <= (result.level or 0) else f"{size} not shown"
    elif strength in shade:
        key = f"{key} against"
    color = "lightgrey" if key == "too few rows" else color
    return Badge("calibration", f"{key} (p {wording.short(p)})", color)
