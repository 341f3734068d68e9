"""WGSL, printed from the statements of kernels and the definitions of intrinsics in GLSL."""

from .kernel import print_kernel
