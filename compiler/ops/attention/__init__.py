"""Attention, and the rotation of its operands."""
