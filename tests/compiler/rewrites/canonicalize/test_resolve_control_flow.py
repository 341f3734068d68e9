"""Loops, branches and variables by name: what follows from constants is written out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from agreement import run
from graphs.operators import graph_of, number

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference

Operands = tuple[Tensor, ...]


def loop(rounds: Tensor) -> Graph:
    """y = x * 1.5 as often as `rounds` says."""

    def state(prefix: str) -> Operands:
        return (
            Tensor(f"{prefix}count", (), "int32"),
            Tensor(f"{prefix}rounds", (), "int32"),
            Tensor(f"{prefix}value", (3, 5)),
        )

    tested, turned, result = state("tested/"), state("turned/"), state("result/")
    less = Tensor("less", (), "bool")
    condition = graph_of(Op("LESS", tested[:2], (less,)), inputs=tested)
    count, value = Tensor("next", (), "int32"), Tensor("scaled", (3, 5))
    body = graph_of(
        Op("ADD", (turned[0], number("one", 1)), (count,)),
        Op("MUL", (turned[2], constant("factor", np.array([1.5], np.float32))), (value,)),
        inputs=turned,
        outputs=(count, turned[1], value),
    )
    source = Tensor("x", (3, 5))
    attrs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    inputs = (source,) if rounds.constant else (source, rounds)
    op = Op("WHILE", (number("zero", 0), rounds, source), result, attrs)
    return graph_of(op, inputs=inputs, outputs=result[2:], subgraphs=(condition, body))


def collecting() -> Graph:
    """A layer of the rows of TANH(x), which a loop puts one by one into a tensor of zeros.

    The file does not know the shape of that tensor; Keras writes recurrent layers like this.
    """
    x, rows = Tensor("x", (3, 5)), Tensor("rows", (2,), "int32")

    def collected(name: str) -> Tensor:
        return Tensor(name, (1, 5), signature=(-1, 5))

    def state(prefix: str) -> Operands:
        return (
            Tensor(f"{prefix}count", (), "int32"),
            collected(f"{prefix}collected"),
            Tensor(f"{prefix}x", (3, 5)),
        )

    tested, turned, result = state("tested/"), state("turned/"), state("result/")
    less = Tensor("less", (), "bool")
    condition = graph_of(Op("LESS", (tested[0], number("n", 3)), (less,)), inputs=tested)
    place, after = Tensor("place", (1,), "int32"), Tensor("after", (1,), "int32")
    row, value = Tensor("row", (1, 5)), Tensor("value", (1, 5))
    following = Tensor("next", (), "int32")
    size, begin = Tensor("size", (2,), "int32"), Tensor("begin", (2,), "int32")
    head, tail, together = (collected(name) for name in ("head", "tail", "together"))
    single = {n: constant(f"{n}", np.array([n], np.int32)) for n in (-1, 0, 1)}
    twice = {n: constant(f"{n}s", np.array([n, n], np.int32)) for n in (-1, 0)}
    steps = [
        Op("ADD", (turned[0], number("one", 1)), (following,)),
        Op("RESHAPE", (turned[0], single[1]), (place,)),
        Op("RESHAPE", (following, single[1]), (after,)),
        Op("GATHER", (turned[2], place), (row,), {"axis": 0}),
        Op("TANH", (row,), (value,)),
        Op("CONCATENATION", (place, single[-1]), (size,), {"axis": 0}),
        Op("SLICE", (turned[1], twice[0], size), (head,)),
        Op("CONCATENATION", (after, single[0]), (begin,), {"axis": 0}),
        Op("SLICE", (turned[1], begin, twice[-1]), (tail,)),
        Op("CONCATENATION", (head, value, tail), (together,), {"axis": 0}),
    ]
    body = graph_of(*steps, inputs=turned, outputs=(following, together, turned[2]))
    zeros, layer = collected("zeros"), Tensor("y", (1, 7))
    weights = np.linspace(-1, 1, 105, dtype=np.float32).reshape(7, 15)
    flat = Tensor("flat", (1, 15))
    attrs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    ops = [
        Op("SHAPE", (x,), (rows,), {"out_type": "int32"}),
        Op("FILL", (rows, constant("zero", np.array(0, np.float32))), (zeros,)),
        Op("WHILE", (number("first", 0), zeros, x), result, attrs),
        Op("RESHAPE", (result[1], constant("all", np.array([1, 15], np.int32))), (flat,)),
        Op("FULLY_CONNECTED", (flat, constant("w", weights), None), (layer,)),
    ]
    return graph_of(*ops, outputs=(layer,), subgraphs=(condition, body))


def branch(condition: bool) -> Graph:
    """y = EXP(x) or TANH(x)."""
    graphs = []
    for name in ("EXP", "TANH"):
        entered, left = Tensor(f"{name}/in", (3, 5)), Tensor(f"{name}/out", (3, 5))
        graphs.append(graph_of(Op(name, (entered,), (left,))))
    source, result = Tensor("x", (3, 5)), Tensor("y", (3, 5))
    attrs = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    op = Op("IF", (constant("chosen", np.array(condition)), source), (result,), attrs)
    return graph_of(op, subgraphs=graphs)


MODELS: dict[str, Callable[[], Graph]] = {
    "a loop of seven": lambda: loop(number("rounds", 7)),
    "a loop of none": lambda: loop(number("rounds", 0)),
    "a loop that collects rows": collecting,
    "the first branch": lambda: branch(True),
    "the second branch": lambda: branch(False),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_agree_with_litert(name: str, opencl_device: str, tmp_path: Path) -> None:
    content = write(MODELS[name]())
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    compiled = pipeline.build(content, Options(device="cpu_avx512"))
    (result,) = run(compiled, opencl_device, tmp_path, {"x": x}).values()
    np.testing.assert_allclose(result, Reference(content).run([x])[0], rtol=1e-5)


def test_of_a_loop_that_collects_rows_only_their_concatenation_is_left() -> None:
    options = Options(device="cpu", fallback="none")
    graph = pipeline.select(write(collecting()), options, pipeline.target_of(options)).graph
    names = sorted(op.name for op in graph.ops)
    assert names == ["CONCATENATION", "FULLY_CONNECTED", "RESHAPE", "SLICE", "SLICE", "SLICE"]


def test_a_loop_of_unknown_length_is_refused() -> None:
    content = write(loop(Tensor("rounds", (), "int32")))
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content, Options(device="cpu", fallback="none"))
    (finding,) = caught.value.findings
    assert (finding.operator, finding.index) == ("WHILE", 0)
    assert finding.reason == "the number of iterations is known only while the model runs"


def test_a_composite_is_its_subgraph(models: Path, tmp_path: Path) -> None:
    """STABLEHLO_COMPOSITE names what it is made of, and is replaced by that."""
    path = models / "ops/ops_litert/l2_norm_composite.tflite"
    vector = np.random.default_rng(5).standard_normal((1, 768)).astype(np.float32)
    with tflgpu.load(tflgpu.compile(path, tmp_path, device="cpu", fallback="none")) as session:
        assert not any("STABLEHLO_COMPOSITE" in d.label for d in session.plan.dispatches)
        (actual,) = session.run(vector).values()
    (expected,) = Reference(path).run([vector])
    assert np.abs(actual - expected).max() <= 1e-4 * max(1.0, np.abs(expected).max())
