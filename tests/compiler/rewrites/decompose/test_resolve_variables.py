"""Variables by name: what they hold lasts from run to run."""

from pathlib import Path

import numpy as np
from devices import Attached
from graphs.variables import running_total

import tflgpu
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference


def test_a_resource_variable_lasts_until_reset(attached: Attached, tmp_path: Path) -> None:
    model = running_total()
    reference = Reference(model)
    folder = tflgpu.compile(model, tmp_path, target=attached.target, device=attached.device)
    with tflgpu.load(folder, device=attached.device) as session:
        for step in range(1, 4):
            x = np.full((2, 3), step, np.float32)
            np.testing.assert_array_equal(session.run({"x": x})["y"], reference.run([x])[0])
        session.reset()
        np.testing.assert_array_equal(session.run({"x": x})["y"], x + np.float32(0.5))


def exchanged() -> bytes:
    """Two variables that hold 1 and 2 at first, and swap; one as it was read is an output."""
    once, graph = Graph(), Graph()
    for part, offset in ((once, 0), (graph, 1)):
        for i, name in enumerate(("first", "second")):
            handle = Tensor(f"{name}/handle{offset}", (), "resource")
            part.add(Op("VAR_HANDLE", (), (handle,), {"container": "", "shared_name": name}, i))
            if part is once:
                start = constant(f"{name}/start", np.full((2, 3), 1.0 + i, np.float32))
                part.add(Op("ASSIGN_VARIABLE", (handle, start), (), {}, 2 + i))
    graph.subgraphs = {1: once}
    graph.add(Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}, 2))
    handles = [op.output for op in graph.ops if op.name == "VAR_HANDLE"]
    x, y, *read = (Tensor(name, (2, 3)) for name in ("x", "y", "read0", "read1"))
    one = constant("one", np.array(1, np.float32))
    for i, tensor in enumerate(read):
        graph.add(Op("READ_VARIABLE", (handles[i],), (tensor,), {}, 3 + i))
        same = Tensor(f"same{i}", (2, 3))
        graph.add(Op("MUL", (tensor, one), (same,), {}, 5 + i))
        graph.add(Op("ASSIGN_VARIABLE", (handles[1 - i], same), (), {}, 7 + i))
    graph.add(Op("SUB", (read[1], x), (y,), {}, 9))
    graph.inputs, graph.outputs = [x], [y, read[0]]
    graph.input_names, graph.output_names = ["x"], ["y", "read0"]
    return write(graph)


def test_variables_swap_what_they_held(attached: Attached, tmp_path: Path) -> None:
    model = exchanged()
    reference = Reference(model)
    folder = tflgpu.compile(model, tmp_path, target=attached.target, device=attached.device)
    x = np.full((2, 3), 0.25, np.float32)
    with tflgpu.load(folder, device=attached.device) as session:
        for _ in range(3):
            found, expected = session.run({"x": x}), reference.run([x])
            np.testing.assert_array_equal(found["y"], expected[0])
            np.testing.assert_array_equal(found["read0"], expected[1])
