"""Folding: arithmetic on constants moves into weights, biases, padding and attributes.

Input and output are graphs of the same operators; the output has fewer of them.
"""
