"""Maps for two classes."""
