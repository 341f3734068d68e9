"""The plan: what a compiled model is, how it is serialized, and whether it is valid."""
