"""The command line: `caltest demo`, `caltest test`, `caltest list`. No mathematics here."""

from caltest.cli.app import main

__all__ = ["main"]
