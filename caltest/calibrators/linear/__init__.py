"""Maps that are linear in logits: temperature, vector, matrix, Dirichlet, structured or not."""
