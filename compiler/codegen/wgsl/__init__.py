"""WGSL, printed from the text of kernels."""

from .kernel import Printed, print_kernel

__all__ = ["Printed", "print_kernel"]
