"""Kernel texts as the compiler of an OpenCL device gets them, and as messages show them."""

from tflgpu.runtime.opencl.sources import join_sources, numbered


def test_join_sources() -> None:
    joined = join_sources(
        {"kernels/a.cl": "#define A 1\n  #  define B(x) x\n", "kernels/b.cl": "b"}
    )
    assert joined == (
        '#line 1 "kernels/a.cl"\n#define A 1\n  #  define B(x) x\n\n#undef A\n#undef B\n'
        '#line 1 "kernels/b.cl"\nb\n'
    )


def test_join_sources_keeps_a_helper_once() -> None:
    """Its line stays, so that the lines behind it keep their numbers."""
    helper = "float half_of(float v) { return v / 2; }"
    joined = join_sources({"a.cl": f"{helper}\na", "b.cl": f"{helper}\nb"})
    assert joined == f'#line 1 "a.cl"\n{helper}\na\n#line 1 "b.cl"\n\nb\n'


def test_numbered() -> None:
    assert numbered("a\n" * 10).splitlines()[::9] == [" 1 | a", "10 | a"]
