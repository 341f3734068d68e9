"""LiteRT: running operators that the device cannot run, and the reference to compare with.

Input is the graph and the operators that cannot run; output is a graph in which parts that run on
LiteRT are single operators.
"""
