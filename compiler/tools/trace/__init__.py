"""A trace of compiling, loading and running a model, for `tflgpu run --trace` and `benchmark`.

Input are a variant and arrays; output are a file for Perfetto and the time of each operator type.
"""
