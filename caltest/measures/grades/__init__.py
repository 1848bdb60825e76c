"""Grades and groups of risk."""
