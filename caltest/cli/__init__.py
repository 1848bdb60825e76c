"""The command line: `caltest demo`, `test`, `report` and `list`. No mathematics here."""

from caltest.cli.app import main

__all__ = ["main"]
