"""Kernels for GPUs on Oclgrind, a simulator that checks every access of memory."""
