"""Operators that rewrites always decompose: shape inference, and the numpy reference of some."""
