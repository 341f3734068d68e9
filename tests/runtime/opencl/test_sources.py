"""Kernel sources as they are passed to the compiler of an OpenCL driver."""

from tflgpu.runtime.opencl.programs import join_sources


def test_files_keep_their_lines_for_messages() -> None:
    joined = join_sources({"a.cl": "float half_of(float v);\na", "b.cl": "b"})
    assert joined.splitlines() == [
        '#line 1 "a.cl"',
        "float half_of(float v);",
        "a",
        '#line 1 "b.cl"',
        "b",
    ]
