"""Elementwise operators: tables of formulas, and how quantized results are rounded."""
