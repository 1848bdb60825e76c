"""Compiled loops from arrays to arrays: no classes, no validation, no options."""
