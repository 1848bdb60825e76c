"""The command line, one file per command. No mathematics here."""

from caltest.cli.app import main

__all__ = ["main"]
