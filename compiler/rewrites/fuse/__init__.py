"""Fusion: operators are grouped so that each one of the resulting graph is a single kernel.

Input is a graph of simple operators; the output also has fused operators.
"""
