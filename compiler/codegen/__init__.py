"""Code generation: from the launches of sized operators to the source text of kernels.

Input are launches and the layouts of their tensors; output is each distinct kernel's source, and
the kernel and constants of every launch.
"""
