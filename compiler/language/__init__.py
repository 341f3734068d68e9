"""The kernel languages: their names for types and casts, and the expressions of kernels."""
