"""Layout: transposes and reshapes are moved, merged and removed.

Input and output are graphs that compute the same; the output moves fewer bytes.
"""
