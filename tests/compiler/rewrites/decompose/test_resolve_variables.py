"""Variables by name: what they hold lasts from run to run."""

from pathlib import Path

import numpy as np
import pytest
from devices import Attached
from graphs.operators import graph_of
from graphs.variables import running_total

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
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


def test_a_variable_without_a_value_is_refused() -> None:
    """Converters that are not given a model's variables leave out what its weights are."""
    handle, y = Tensor("handle", (), "resource"), Tensor("y", (2, 3))
    names = {"container": "", "shared_name": "weights"}
    model = write(
        graph_of(Op("VAR_HANDLE", (), (handle,), names), Op("READ_VARIABLE", (handle,), (y,)))
    )
    with pytest.raises(ModelError, match="nothing ever gives its variable weights a value"):
        pipeline.build(model, Options(device="cpu", fallback="none"))


def assigned_in_branch(handed: bool) -> bytes:
    """y = what a variable holds, x from where the condition held; 0 at first.

    The branch is handed the variable, or has a handle of its own. Nothing reads what it returns.
    """
    names = {"container": "", "shared_name": "v"}
    handles = [Tensor(f"handle{i}", (), "resource") for i in range(4)]
    made = [Op("VAR_HANDLE", (), (handle,), dict(names)) for handle in handles]
    zeros = constant("zeros", np.zeros((2, 3), np.float32))
    once = graph_of(made[0], Op("ASSIGN_VARIABLE", (handles[0], zeros), ()), outputs=())
    given = [Tensor(f"given{i}", (2, 3)) for i in range(2)]
    assigned = Op("ASSIGN_VARIABLE", (handles[1], given[0]), ())
    then = graph_of(*([] if handed else [made[1]]), assigned, outputs=given[:1])
    other = graph_of(outputs=given[1:])
    then.inputs = [*handles[1:2], given[0]] if handed else given[:1]
    other.inputs = [*handles[2:3], given[1]] if handed else given[1:]
    condition, x = Tensor("condition", (), "bool"), Tensor("x", (2, 3))
    unread, y = Tensor("unread", (2, 3)), Tensor("y", (2, 3))
    operands = (condition, *([handles[3]] if handed else []), x)
    graph = graph_of(
        Op("CALL_ONCE", (), (), {"init_subgraph_index": 1}),
        made[3],
        Op("IF", operands, (unread,), {"then_subgraph_index": 2, "else_subgraph_index": 3}),
        Op("READ_VARIABLE", (handles[3],), (y,)),
        outputs=[y],
        subgraphs=[once, then, other],
    )
    return write(graph)


@pytest.mark.parametrize("handed", [True, False])
def test_a_branch_that_only_assigns_is_kept(handed: bool, tmp_path: Path) -> None:
    """It runs on LiteRT, with everything else that uses the variable."""
    model = assigned_in_branch(handed)
    reference = Reference(model)
    with pytest.warns(tflgpu.FallbackWarning, match="both use variables"):
        folder = tflgpu.compile(model, tmp_path, device="cpu")
    with tflgpu.load(folder) as session:
        for step, holds in enumerate([False, True, False, True], 1):
            x, condition = np.full((2, 3), step, np.float32), np.array(holds)
            (expected,) = reference.run({"condition": condition, "x": x})
            found = session.run({"condition": condition, "x": x})["y"]
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(found, np.full((2, 3), 2 * (step // 2)))
