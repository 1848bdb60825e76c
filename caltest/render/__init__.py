"""The only formatter: a result becomes a `Sheet`, and a sheet text, Markdown, HTML or LaTeX."""

from caltest.render.answers import sheet_of_interval, sheet_of_witness
from caltest.render.cells import LEGEND, Sheet, equals, number, pvalue, stars
from caltest.render.comparisons import (
    sheet_of_calibrators,
    sheet_of_models,
    sheet_out_of_fold,
)
from caltest.render.formats import csv, html, latex, markdown, text
from caltest.render.planning import sheet_of_power, sheet_of_precision, sheet_of_sample_size
from caltest.render.segments import SEGMENT_NUMBERS, segment_cells, sheet_of_segments
from caltest.render.sheets import (
    pvalue_of,
    sheet_of_summary,
    sheet_of_table,
    sheet_of_test,
)
from caltest.render.verdicts import (
    CALIBRATION,
    answer,
    claim_of,
    detectable_in_words,
    headline,
    headline_of_segments,
    headline_of_table,
    is_too_small,
    name_of,
    noun_of,
    place_in_words,
    pvalue_of_table,
    recalibrated_in_words,
    remedy_in_words,
    sheet_of_verdict,
    slope_in_words,
    worst_row,
)

__all__ = [
    "CALIBRATION",
    "LEGEND",
    "SEGMENT_NUMBERS",
    "Sheet",
    "answer",
    "claim_of",
    "csv",
    "detectable_in_words",
    "equals",
    "headline",
    "headline_of_segments",
    "headline_of_table",
    "html",
    "is_too_small",
    "latex",
    "markdown",
    "name_of",
    "noun_of",
    "number",
    "place_in_words",
    "pvalue",
    "pvalue_of",
    "pvalue_of_table",
    "recalibrated_in_words",
    "remedy_in_words",
    "segment_cells",
    "sheet_of_calibrators",
    "sheet_of_interval",
    "sheet_of_models",
    "sheet_of_power",
    "sheet_of_precision",
    "sheet_of_sample_size",
    "sheet_of_segments",
    "sheet_of_summary",
    "sheet_of_table",
    "sheet_of_test",
    "sheet_of_verdict",
    "sheet_of_witness",
    "sheet_out_of_fold",
    "slope_in_words",
    "stars",
    "text",
    "worst_row",
]
