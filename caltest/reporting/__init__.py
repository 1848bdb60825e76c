"""The report: tests, diagrams, regions and scores of a model on one page, in several formats."""

from caltest.reporting.page import Report, report

__all__ = ["Report", "report"]
