"""Canonicalization: subgraphs are inlined, shapes inferred, constants and dead code removed.

Input is the graph as read from the file; afterwards every shape is known.
"""
