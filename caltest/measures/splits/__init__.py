"""E-values of a fixed sample: bets learned from one part of the rows, placed on the other."""
