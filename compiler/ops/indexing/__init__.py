"""Accesses at places that the model computes."""
