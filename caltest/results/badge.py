"""The answer of a result as a badge: an SVG, or the JSON of an endpoint of shields.io."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from caltest.render import number
from caltest.results import wording

if TYPE_CHECKING:
    from caltest.results import GroupsTest, HTest, HTestTable
    from caltest.segments import SegmentsTest

# White is read on each of them; the names are those of shields.io.
COLORS = {"green": "#2e7d32", "yellow": "#7a6100", "red": "#b3261e", "lightgrey": "#5f6368"}
AGAINST = {"no": "green", "weak": "yellow"}
WIDTH = 6.6  # of a letter of 11 px, on average
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{text}">
<title>{text}</title><rect width="{all}" height="20" rx="3" fill="{fill}"/>
<path d="M3 0h{cut}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#444"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="5" y="14" textLength="{left}">{label}</text>
<text x="{start}" y="14" textLength="{right}">{message}</text></g></svg>
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
        left, right = (round(WIDTH * len(text)) for text in self[:2])
        label, message = escape(self.label), escape(self.message)
        sizes: dict[str, object] = {"left": left, "right": right, "all": left + right + 20}
        sizes |= {"cut": left + 7, "start": left + 15, "fill": COLORS[self.color]}
        return SVG.format(text=f"{label}: {message}", label=label, message=message, **sizes)


def badge(result: HTest | HTestTable | GroupsTest | SegmentsTest) -> Badge:
    """Return the badge of a result.

    Examples
    --------
    >>> import caltest as ct
    >>> from caltest.results.badge import badge
    >>> result = ct.test_calibration(ct.datasets.generative_model("M1", n=200, m=3, rng=1), rng=1)
    >>> badge(result).message
    'no evidence against (p = 0.73)'
    """
    rows = result.tests
    p = result.pvalue
    claim = wording.claim_of(rows[0]) if rows else wording.CALIBRATION
    few = bool(rows) and all(wording.is_too_small(row.size) for row in rows)
    key = wording.answer(p, result.level, claim, few=few)
    speaks = wording.speaks(p, result.level)
    color = AGAINST.get(key.removesuffix(" evidence"), "red" if speaks else "green")
    if claim.is_good:
        size = f"{rows[0].estimate_name} below {number(rows[0].parameters['tolerance'])}"
        key, color = (size, "green") if speaks else (f"{size} not shown", "lightgrey")
    elif key.endswith("evidence"):
        key += " against"
    color = "lightgrey" if key == "too few rows" else color
    return Badge("calibration", f"{key} (p {wording.short(p)})", color)
