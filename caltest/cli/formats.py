"""Names of formats and corrections, known without importing what reads or computes them."""

from __future__ import annotations

RESULTS = ("text", "json", "markdown", "csv", "html", "latex")
REPORTS = ("html", "markdown", "json")
TABLES = ("csv", "tsv", "parquet", "feather", "jsonl", "npz")
CORRECTIONS = (
    "joint",
    "holm",
    "bonferroni",
    "sidak",
    "holm-sidak",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "none",
)
PROFILES = ("general", "clinical", "credit", "ml", "forecast")
ENGINES = ("auto", "rows", "cells", "chunks")
ON_ERROR = ("raise", "skip")
