"""Kernel texts as the compiler of an OpenCL device gets them, and as messages show them."""

from tflgpu.runtime.opencl_source import join_sources, numbered


def test_join_sources() -> None:
    joined = join_sources(
        {"kernels/a.cl": "#define A 1\n  #  define B(x) x\n", "kernels/b.cl": "b"}
    )
    assert joined == (
        '#line 1 "kernels/a.cl"\n#define A 1\n  #  define B(x) x\n\n#undef A\n#undef B\n'
        '#line 1 "kernels/b.cl"\nb\n'
    )


def test_numbered() -> None:
    assert numbered("a\n" * 10).splitlines()[::9] == [" 1 | a", "10 | a"]
