"""Weights that are larger than a binding may be become several."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_litert
from cases.convolutions import window
from devices import own_profile
from graphs import Value, call, known, model, number, typed, w, x, xi
from graphs.operators import graph_of
from rewriting import BEFORE

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Array, Op, Shape, Tensor, constant
from tflgpu.compiler.ops.matmul.fully_connected import OF_BLOCKS
from tflgpu.compiler.rewrites.fuse.split_large import split_large_weights
from tflgpu.compiler.target import Target
from tflgpu.runtime import InputError

SMALL = 1 << 24  # The least that a profile may allow: 16 MiB.


def rewritten(value: Value, most: int, **changes: object) -> tuple[str, list[str | None]]:
    graph = model({"y": value}).graph
    target = Target(replace(profile("webgpu"), max_binding=most, **changes))  # type: ignore[arg-type]
    for each in BEFORE:
        each(graph, target)
    events = split_large_weights(graph, target)
    shapes = [" ".join(str(list(tensor.shape)) for tensor in op.reads) for op in graph.ops]
    text = "\n".join(f"{op.name} {read}" for op, read in zip(graph.ops, shapes, strict=True))
    return text, [event.reason for event in events]


def test_a_layer_becomes_one_for_each_range_of_outputs() -> None:
    value = call("FULLY_CONNECTED", x(2, 5), w(150, 5), w(150))
    assert rewritten(value, 64 * 6 * 4) == (
        "FULLY_CONNECTED [2, 5] [64, 5] [64]\n"
        "FULLY_CONNECTED [2, 5] [64, 5] [64]\n"
        "FULLY_CONNECTED [2, 5] [22, 5] [22]\n"
        "CONCATENATION [2, 64] [2, 64] [2, 22]",
        [None],
    )
    assert rewritten(value, 150 * 6 * 4)[1] == []
    assert rewritten(value, 63 * 6 * 4)[1] == ["a few of its rows are as large"]


def test_a_convolution_becomes_one_for_each_range_of_outputs() -> None:
    value = call("CONV_2D", x(1, 7, 7, 4), w(100, 3, 3, 4), w(100), **window())
    assert rewritten(value, 64 * 37 * 4) == (
        "CONV_2D [1, 7, 7, 4] [64, 3, 3, 4] [64]\n"
        "CONV_2D [1, 7, 7, 4] [36, 3, 3, 4] [36]\n"
        "CONCATENATION [1, 7, 7, 64] [1, 7, 7, 36]",
        [None],
    )


def test_a_table_becomes_one_for_each_range_of_rows() -> None:
    found, _ = rewritten(call("GATHER", w(100, 3), xi(7), axis=0), 64 * 3 * 4)
    assert found == (
        "RESHAPE [7]\n"
        "GATHER [64, 3] [7]\n"
        "SUB [7] []\n"
        "MINIMUM [7] []\n"
        "MAXIMUM [7] []\n"
        "GATHER [36, 3] [7]\n"
        "LESS [7, 1] []\n"
        "SELECT_V2 [7, 1] [7, 3] [7, 3]"
    )


@pytest.mark.parametrize(("dtype", "bytes_each"), [("float32", 4), ("int8", 1)])
def test_entries_of_tables_take_their_bytes(dtype: str, bytes_each: int) -> None:
    table = known(np.ones((100, 3), dtype))
    value = typed(dtype, "GATHER", table, xi(7), axis=0)
    assert rewritten(value, 100 * 3 * bytes_each)[1] == []
    assert rewritten(value, 100 * 3 * bytes_each - 1)[1] == [None]


def test_indices_of_each_range_stay_within_it() -> None:
    """Of three; a run that checks indices would refuse those beyond."""
    graph = model({"y": call("GATHER", w(150, 3), xi(7), axis=0)}).graph
    split_large_weights(graph, Target(replace(profile("webgpu"), max_binding=64 * 3 * 4)))
    found = {
        name: [int(op.constant(1)) for op in graph.ops if op.name == name]
        for name in ("SUB", "MINIMUM", "MAXIMUM", "LESS")
    }
    assert found == {"SUB": [64, 128], "MINIMUM": [63, 21], "MAXIMUM": [0, 0], "LESS": [64, 128]}
    tables = [op.operand(0).shape for op in graph.ops if op.name == "GATHER"]
    assert tables == [(64, 3), (64, 3), (22, 3)]


def test_blocks_of_weights_are_split_with_their_scales() -> None:
    weights, scales = drawn((150, 8)), drawn((150, 2))
    operands = (Tensor("x", (2, 8)), weights, None, scales)
    graph = graph_of(Op(OF_BLOCKS, operands, (Tensor("y", (2, 150)),)))
    split_large_weights(graph, Target(replace(profile("webgpu"), max_binding=64 * 9 * 4)))
    layers = [op for op in graph.ops if op.name == OF_BLOCKS]
    for position, whole in ((1, weights), (3, scales)):
        parts = [op.constant(position) for op in layers]
        assert [len(part) for part in parts] == [64, 64, 22]
        np.testing.assert_array_equal(np.concatenate(parts), whole.values)


def drawn(shape: Shape) -> Tensor:
    return constant("drawn", np.random.default_rng(3).random(shape, np.float32))


@pytest.mark.parametrize(
    "value",
    [
        call("GATHER", w(3, 100), xi(7), axis=1),
        call("GATHER", x(100, 3), xi(7), axis=0),
        call("MUL", x(100, 3), w(100, 3)),
        call("CONV_2D", x(1, 7, 7, 4), w(100, 3, 3, 2), w(100), **window()),
    ],
    ids=["not along rows", "not a constant", "another operator", "groups"],
)
def test_others_stay(value: Value) -> None:
    assert rewritten(value, 64)[1] == []


def small(folder: Path) -> str:
    """The profile webgpu with bindings of 16 MiB."""
    return own_profile(folder, "webgpu", max_binding=SMALL)


def built(values: Mapping[str, Value], device: str, folder: Path) -> Path:
    options = Options(target="wgsl", device=device, fallback="none")
    return pipeline.write(pipeline.build(model(values).content, options), folder)


def test_split_weights_give_the_same_numbers(tmp_path: Path, webgpu_device: str) -> None:
    """A layer and rows of a table, each with what follows it; and an index out of bounds."""
    table = np.random.default_rng(7).random((5000, 1024), np.float32)
    rows = call("GATHER", known(table), xi(9), axis=0)
    values = {
        "layer": call("RELU", call("FULLY_CONNECTED", x(3, 1024), w(4500, 1024), w(4500))),
        "rows": call("MUL", rows, number(2.0)),
    }
    whole = model(values)
    ids = np.array([0, 1, 4031, 4032, 4033, 4095, 4096, 4998, 4999], np.int32)
    inputs = {name: ids if v.dtype == np.int32 else v for name, v in whole.inputs.items()}
    folder = built(values, small(tmp_path), tmp_path)
    with tflgpu.load(folder, device=webgpu_device) as session:
        assert_litert(session.run(inputs, check=True), whole, inputs=inputs)
        wrong = {name: v + 5000 if v is ids else v for name, v in inputs.items()}
        with pytest.raises(InputError, match=r"GATHER: the index 5000 at \[0\] of rows/in0 is out"):
            session.run(wrong, check=True)


def test_what_cannot_be_split_is_named_or_runs_on_litert(tmp_path: Path) -> None:
    made = model({"y": call("MUL", x(1), w(4500, 1024))})
    options = Options(target="wgsl", device=small(tmp_path), fallback="none")
    reason = "of the tensor y/constant0 in one buffer, of 16777216"
    with pytest.raises(UnsupportedError, match=reason):
        pipeline.build(made.content, options)
    (finding,) = pipeline.build(made.content, replace(options, fallback="litert")).fallback
    assert finding.operator == "MUL" and reason in finding.reason
    groups = call("CONV_2D", x(1, 1, 1, 2048), w(4160, 1, 1, 1024), w(4160), **window())
    with pytest.raises(UnsupportedError, match="of the tensor y/constant0 in one buffer"):
        pipeline.build(model({"y": groups}).content, options)


@pytest.mark.slow
def test_weights_beyond_what_every_device_binds(tmp_path: Path, webgpu_device: str) -> None:
    """143 MB of floats: each result is the sum of two of them."""
    weights = np.zeros((272, 131072), np.float32)
    weights[:, 5], weights[:, 99999] = np.arange(272), 0.5
    data: Array = np.ones((1, 131072), np.float32)
    folder = built({"y": call("FULLY_CONNECTED", x(1, 131072), known(weights))}, "webgpu", tmp_path)
    with tflgpu.load(folder, device=webgpu_device) as session:
        np.testing.assert_array_equal(session.run([data])["y"], [np.arange(272) + 0.5])
