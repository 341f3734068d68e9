"""Recognition: patterns of several operators are replaced by the operator they stand for.

Input is a graph as converters write it; the output has, for example, SOFTMAX for its arithmetic.
"""
