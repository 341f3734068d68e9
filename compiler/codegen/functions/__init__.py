"""Functions that kernels call: under which names, and what defines them in a language."""
