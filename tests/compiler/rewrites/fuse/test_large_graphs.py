"""Large elementwise graphs become kernels of bounded size, in time in proportion to their size."""

import time
from pathlib import Path

import numpy as np
import pytest

import tflgpu
from tflgpu.compiler import Options, build, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import MOST

SHAPE = (1, 8)


def long_lived(count: int) -> bytes:
    """A chain of which every value is read again, in reverse."""
    graph = Graph()
    values = [Tensor("x", SHAPE)]
    for index in range(count // 2):
        values.append(Tensor(f"a{index}", SHAPE))
        graph.add(Op(("ABS", "NEG")[index % 2], (values[-2],), (values[-1],), {}, index))
    total = values[-1]
    for index in range(count // 2):
        result = Tensor(f"b{index}", SHAPE)
        graph.add(Op("MAXIMUM", (total, values[-2 - index]), (result,), {}, count + index))
        total = result
    graph.inputs, graph.input_names = values[:1], ["x"]
    graph.outputs, graph.output_names = [total], ["y"]
    return write(graph)


def chain(count: int) -> bytes:
    graph = Graph()
    value = first = Tensor("x", SHAPE)
    for index in range(count):
        result = Tensor(f"a{index}", SHAPE)
        graph.add(Op("SIN", (value,), (result,), {}, index))
        value = result
    graph.inputs, graph.input_names = [first], ["x"]
    graph.outputs, graph.output_names = [value], ["y"]
    return write(graph)


def joined(count: int) -> bytes:
    """Equal chains whose results are all joined by one operator."""
    graph = Graph()
    first, values = Tensor("x", SHAPE), []
    for index in range(count - 1):
        values.append(Tensor(f"a{index}", SHAPE))
        source = values[-2] if index % 5 else first
        graph.add(Op("SIN", (source,), (values[-1],), {}, index))
    result = Tensor("y", (count - 1, 8))
    graph.add(Op("CONCATENATION", values, (result,), {"axis": 0}, count))
    graph.inputs, graph.input_names = [first], ["x"]
    graph.outputs, graph.output_names = [result], ["y"]
    return write(graph)


@pytest.mark.parametrize("made", [long_lived, chain])
def test_kernels_have_a_bounded_number_of_operators(made: object) -> None:
    assert callable(made)
    compiled = build(made(500), Options(device="cpu", fallback="none"))
    most = max(dispatch.label.count(" + ") + 1 for dispatch in compiled.plan.dispatches)
    assert MOST // 2 < most <= MOST


def test_values_that_cross_kernels(opencl_device: str, tmp_path: Path) -> None:
    path = pipeline.write(build(long_lived(400), Options(device="cpu", fallback="none")), tmp_path)
    x = np.linspace(-4, 3, 8, dtype=np.float32).reshape(SHAPE)
    with tflgpu.load(path, device=opencl_device, store_binaries=False) as session:
        session.poison()
        np.testing.assert_array_equal(session.run({"x": x})["y"], np.abs(x))


@pytest.mark.parametrize("made", [long_lived, chain, joined])
def test_time_is_in_proportion(made: object) -> None:
    """Four times the operators take less than ten times as long; squared would be sixteen."""
    assert callable(made)

    def seconds(count: int) -> float:
        content, start = made(count), time.process_time()
        build(content, Options(device="cpu", fallback="none"))
        return time.process_time() - start

    seconds(50)
    assert seconds(1200) < 10 * seconds(300)
