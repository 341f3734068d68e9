"""Loops, branches and variables by name: what follows from constants is written out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference

Operands = tuple[Tensor, ...]


def subgraph(name: str, inputs: Operands, ops: list[Op], outputs: Operands) -> Graph:
    graph = Graph(name)
    for op in ops:
        graph.add(op)
    graph.inputs, graph.outputs = list(inputs), list(outputs)
    graph.input_names = [tensor.name for tensor in inputs]
    graph.output_names = [tensor.name for tensor in outputs]
    return graph


def number(name: str, value: int) -> Tensor:
    return constant(name, np.array(value, np.int32))


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
    condition = subgraph("cond", tested, [Op("LESS", tested[:2], (less,))], (less,))
    count, value = Tensor("next", (), "int32"), Tensor("scaled", (3, 5))
    body = subgraph(
        "body",
        turned,
        [
            Op("ADD", (turned[0], number("one", 1)), (count,)),
            Op(
                "MUL",
                (turned[2], constant("factor", np.array([1.5], np.float32))),
                (value,),
                index=1,
            ),
        ],
        (count, turned[1], value),
    )
    source = Tensor("x", (3, 5))
    attrs = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
    inputs = (source,) if rounds.constant else (source, rounds)
    op = Op("WHILE", (number("zero", 0), rounds, source), result, attrs)
    graph = subgraph("main", inputs, [op], result[2:])
    graph.subgraphs = {1: condition, 2: body}
    return graph


def branch(condition: bool) -> Graph:
    """y = EXP(x) or TANH(x)."""
    graphs = []
    for name in ("EXP", "TANH"):
        entered, left = Tensor(f"{name}/in", (3, 5)), Tensor(f"{name}/out", (3, 5))
        graphs.append(subgraph(name, (entered,), [Op(name, (entered,), (left,))], (left,)))
    source, result = Tensor("x", (3, 5)), Tensor("y", (3, 5))
    attrs = {"then_subgraph_index": 1, "else_subgraph_index": 2}
    op = Op("IF", (constant("chosen", np.array(condition)), source), (result,), attrs)
    graph = subgraph("main", (source,), [op], (result,))
    graph.subgraphs = {1: graphs[0], 2: graphs[1]}
    return graph


MODELS = {
    "a loop of seven": lambda: loop(number("rounds", 7)),
    "a loop of none": lambda: loop(number("rounds", 0)),
    "the first branch": lambda: branch(True),
    "the second branch": lambda: branch(False),
}


@pytest.mark.parametrize("name", MODELS)
def test_results_agree_with_litert(name: str, opencl_device: str, tmp_path: Path) -> None:
    content = write(MODELS[name]())
    x = np.random.default_rng(3).standard_normal((3, 5)).astype(np.float32)
    path = pipeline.store(pipeline.build(content, Options(device="cpu_avx512")), tmp_path)
    with tflgpu.load(path, device=opencl_device) as session:
        (result,) = session.run({"x": x}).values()
    np.testing.assert_allclose(result, Reference(content).run([x])[0], rtol=1e-5)


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
