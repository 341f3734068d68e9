"""Kernel sources as they are passed to the compiler of an OpenCL driver."""

from tflgpu.runtime.opencl.programs import join_sources


def test_join_sources() -> None:
    joined = join_sources(
        {"kernels/a.cl": "#define A 1\n  #  define B(x) x\n", "kernels/b.cl": "b"}
    )
    assert joined == (
        '#line 1 "kernels/a.cl"\n#define A 1\n  #  define B(x) x\n\n#undef A\n#undef B\n'
        '#line 1 "kernels/b.cl"\nb\n'
    )


def test_join_sources_keeps_a_function_once() -> None:
    """Its line stays, so that the lines after it keep their numbers."""
    function = "float half_of(float v) { return v / 2; }"
    joined = join_sources({"a.cl": f"{function}\na", "b.cl": f"{function}\nb"})
    assert joined == f'#line 1 "a.cl"\n{function}\na\n#line 1 "b.cl"\n\nb\n'
