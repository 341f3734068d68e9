"""Memory planning: the order of execution, which tensors share memory, and their offsets.

Input is the scheduled operators; output is an `Allocation`, which places every tensor.
"""
