"""Several statistics of the same labels, combined into one: the portfolio of the default test."""
