"""Predictive distributions of any kind, as laws that are asked alike."""
