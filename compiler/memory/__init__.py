"""Memory planning: the order of execution, which tensors share memory, and their offsets.

Input is the sized operators; output is an `Allocation`, which places every tensor.
"""
