"""The papers behind caltest, number by number: `python -m paper_checks`, from the root."""
