"""Branches whose condition is computed: both run, and a select takes the results of one."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from agreement import run
from graphs.operators import graph_of

from tflgpu.compiler import ModelError, Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Op, Shape, Tensor, constant
from tflgpu.compiler.litert.reference import Reference


def chain(names: Sequence[str], shape: Shape = (3, 5)) -> Graph:
    """A subgraph that applies operators one after another."""
    tensors = [Tensor(f"{names[0]}/{i}", shape) for i in range(len(names) + 1)]
    pairs = zip(names, pairwise(tensors), strict=True)
    return graph_of(*(Op(name, (before,), (after,)) for name, (before, after) in pairs))


def branching(then: Graph, other: Graph, axes: Shape = ()) -> Graph:
    """y = one of the branches, as an input with these axes of 1 says."""
    shape = then.outputs[0].shape
    condition, source = Tensor("condition", axes, "bool"), Tensor("x", shape)
    result = Tensor("y", shape)
    attrs = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    return graph_of(Op("IF", (condition, source), (result,), attrs), subgraphs=(then, other))


def check(content: bytes, holds: bool, x: Array, folder: Path) -> None:
    """The results must be LiteRT's."""
    compiled = pipeline.build(content, Options(device="cpu", fallback="none"))
    condition = np.full(compiled.plan.inputs[0].shape, holds)
    (found,) = run(compiled, "auto", folder, {"condition": condition, "x": x}).values()
    (expected,) = Reference(content).run([condition, x])
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize(("axes", "shape"), [((), (3, 5)), ((1,), ()), ((1, 1), (3,))])
def test_the_results_are_those_of_the_branch_that_runs(
    axes: Shape, shape: Shape, holds: bool, tmp_path: Path
) -> None:
    content = write(branching(chain(["EXP", "NEG"], shape), chain(["TANH"], shape), axes))
    x = np.random.default_rng(3).standard_normal(shape, np.float32)
    check(content, holds, np.asarray(x), tmp_path)


def nested(then: Graph, other: Graph, taken: int = 3) -> Graph:
    """A branch that itself branches, to subgraph `taken` if the first number is positive."""
    source, result = Tensor("inner/x", (3, 5)), Tensor("inner/y", (3, 5))
    first, positive = Tensor("first", ()), Tensor("positive", (), "bool")
    index = constant("index", np.zeros(2, np.int32))
    zero = constant("zero", np.array(0, np.float32))
    attrs = {"then_subgraph_index": taken, "else_subgraph_index": 2}
    inner = graph_of(
        Op("GATHER_ND", (source, index), (first,)),
        Op("GREATER", (first, zero), (positive,)),
        Op("IF", (positive, source), (result,), attrs),
    )
    graph = branching(inner, other)
    graph.subgraphs[3] = then
    return graph


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_branches_inside_branches(holds: bool, inside: bool, tmp_path: Path) -> None:
    """The inner condition follows from what the outer branch reads."""
    content = write(nested(chain(["EXP"]), chain(["TANH"])))
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    x[0, 0] = 1 if inside else -1
    check(content, holds, x, tmp_path)


def choosing(index: Tensor, *names: str) -> Graph:
    """y = the operator, applied to x, whose place is the index."""
    attrs = {"branch_subgraph_indices": tuple(range(1, len(names) + 1))}
    source, result = Tensor("x", (3, 5)), Tensor("y", (3, 5))
    op = Op("STABLEHLO_CASE", (index, source), (result,), attrs)
    return graph_of(op, subgraphs=[chain([name]) for name in names])


NAMES = ("EXP", "TANH", "NEG")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("names", [NAMES, NAMES[:1]], ids=("three", "one"))
@pytest.mark.parametrize("number", [0, 1, 2, 3, -1])
def test_one_of_several_branches(
    number: int, names: Sequence[str], known: bool, tmp_path: Path
) -> None:
    """The last one also runs for numbers that no branch has."""
    value = np.array(number, np.int32)
    index = constant("i", value) if known else Tensor("i", (), "int32")
    content = write(choosing(index, *names))
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    compiled = pipeline.build(content, Options(device="cpu", fallback="none"))
    given = {"x": x} if known else {"i": value, "x": x}
    (found,) = run(compiled, "auto", tmp_path, given).values()
    (expected,) = Reference(content).run(list(given.values()))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_many_branches_are_refused() -> None:
    graph = choosing(Tensor("i", (), "int32"), *["NEG"] * 65)
    with pytest.raises(UnsupportedError, match="and it has more than 64 branches"):
        pipeline.build(write(graph), Options(device="cpu", fallback="none"))


def test_several_branches_on_litert(tmp_path: Path) -> None:
    """Those of a part for LiteRT have numbers of their own."""
    content = write(choosing(Tensor("i", (), "int32"), *NAMES))
    compiled = pipeline.build(content, Options(device="cpu", fallback_ops=("STABLEHLO_CASE",)))
    x = np.ones((3, 5), np.float32)
    (found,) = run(compiled, "auto", tmp_path, {"i": np.array(1, np.int32), "x": x}).values()
    np.testing.assert_allclose(found, np.tanh(x), rtol=1e-5)


def numbers(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


def test_branches_that_a_file_lacks() -> None:
    content = write(choosing(Tensor("i", (), "int32"), *NAMES))
    wrong = content.replace(numbers(3, 1, 2, 3), numbers(3, 1, 2, 9))
    with pytest.raises(ModelError, match="it refers to subgraph 9, but the model has 4"):
        pipeline.build(wrong, Options(device="cpu"))
    without = content.replace(numbers(3, 1, 2, 3), numbers(0, 1, 2, 3))
    with pytest.raises(ModelError, match="operator 0 STABLEHLO_CASE: no branches"):
        pipeline.build(without, Options(device="cpu"))


def inside_itself() -> Graph:
    """A branch that contains the operator whose branch it is."""
    return nested(chain(["NEG"]), chain(["TANH"]), taken=1).subgraphs[1]


def remembering() -> Graph:
    """A branch that reads what is kept between runs."""
    graph = chain(["ADD"])
    (op,) = graph.ops
    state = Tensor("state", (3, 5), variable=True)
    graph.remove(op)
    graph.add(Op("ADD", (op.operand(0), state), op.outputs))
    return graph


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        (chain(["NEG"] * 64), "its branches have more than 64 operators"),
        (inside_itself(), "its branches have more than 64 operators"),
        (remembering(), "a branch keeps values from run to run or contains a loop"),
    ],
    ids=("long", "calls itself", "state"),
)
def test_what_is_refused(then: Graph, reason: str) -> None:
    content = write(branching(then, chain(["TANH"])))
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content, Options(device="cpu", fallback="none"))
    assert caught.value.findings[0].reason.endswith(reason)
