"""Emission: from generated kernels and the memory allocation to a plan, and to its folder.

Input is the output of all stages before; output is a `CompiledModel`, and a folder in the cache.
"""
