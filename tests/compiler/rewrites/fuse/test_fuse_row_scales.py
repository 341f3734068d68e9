"""Rows of floats that become integers; numbers are compared in tests/compiler/ops."""

import pytest
from cases.norms import Norm, layers, root_mean_square
from cases.quantized_layers import weights
from cases.quantized_weights import TABLES_OF_WEIGHTS
from graphs import Value, call, w, x
from rewriting import assert_declines, operators, rewritten

from tflgpu.compiler.devices import profile
from tflgpu.compiler.ir import Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.reduce.quantized_rows import too_short
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.fuse_row_scales import fuse_row_scales
from tflgpu.compiler.rewrites.layout.eliminate_common_subexpressions import (
    eliminate_common_subexpressions,
)
from tflgpu.compiler.rewrites.quantized.lower_quantized import lower_quantized
from tflgpu.compiler.rewrites.recognize.recognize_normalization import recognize_normalization
from tflgpu.compiler.target import Target

RULES = (
    *(lower_quantized, eliminate_common_subexpressions, recognize_normalization),
    *(fuse_elementwise, fuse_row_scales),
)


def multiplied(rows: Value) -> Value:
    return call("FULLY_CONNECTED", rows, TABLES_OF_WEIGHTS["int8"](19), None)


def layer(name: str) -> Value:
    return call("FULLY_CONNECTED", x(5, 64), TABLES_OF_WEIGHTS[name](19), None)


def test_rows_and_their_scales_are_one_kernel() -> None:
    graph, _ = rewritten(layer("int8"), *RULES)
    first, second = graph.ops
    assert [op.name for op in first.core] == ["tflgpu.row_scales", "tflgpu.round_rows"]
    assert [tensor.shape for tensor in first.outputs] == [(5, 64), (5, 1), (5, 1)]
    assert set(first.outputs) <= {*second.reads}


def test_so_are_those_less_their_zero_points() -> None:
    graph, _ = rewritten(layer("blocks of int4"), *RULES)
    assert [op.name for op in graph.ops[0].core] == ["tflgpu.row_scales", "tflgpu.quantize_rows"]


def test_layers_of_the_same_rows_share_them() -> None:
    rows = x(5, 64)
    both = [call("FULLY_CONNECTED", rows, TABLES_OF_WEIGHTS["int8"](n), None) for n in (19, 7)]
    assert operators(both, *RULES).count("tflgpu.quantized_rows") == 1


@pytest.mark.parametrize("norm", [layers, root_mean_square])
def test_rows_are_normalized_before(norm: Norm) -> None:
    rows = norm(x(5, 64), (1,), w(64), w(64))
    graph, _ = rewritten(multiplied(rows), *RULES)
    first, second = graph.ops
    affine = ["MUL", "ADD"] if norm is layers else ["MUL"]
    own = ["tflgpu.row_scales", "tflgpu.round_rows"]
    assert [op.name for op in first.core] == ["tflgpu.normalization", *affine, *own]
    assert second.name == "FULLY_CONNECTED"


def test_a_device_of_few_buffers_normalizes_rows_in_a_kernel_of_its_own() -> None:
    """Their gain and offset would take a fifth one."""
    rows = layers(x(5, 576), (1,), w(576), w(576))
    value = call("FULLY_CONNECTED", rows, weights((19, 576)), None)
    for device, first in (("gpu", "tflgpu.quantized_rows"), ("gles31", "tflgpu.normalization")):
        graph, events = rewritten(value, *RULES, device=device)
        assert graph.ops[0].name == first
        assert [op.name for op in graph.ops].count("tflgpu.quantized_rows") == 1
    declined = [event.reason for event in events if event.rewrite == fuse_row_scales.name]
    assert declined == [None, "the kernel would need 5 buffers, but the device allows 4"]


def test_others_read_normalized_rows() -> None:
    rows = layers(x(5, 64), (1,), w(64), w(64))
    value = call("ADD", call("FULLY_CONNECTED", rows, weights((64, 64)), None), rows)
    assert operators(value, *RULES).startswith("tflgpu.normalization | MUL | ADD")


def test_what_follows_a_norm_is_a_gain_and_an_offset() -> None:
    rows = call("RELU", layers(x(5, 64), (1,), w(64), w(64)))
    names = operators(multiplied(rows), *RULES)
    assert names.startswith("tflgpu.normalization | MUL | ADD | RELU")


def test_work_items_of_a_gpu_compute_integers_of_a_row_together() -> None:
    assert_declines(layer("int8"), "one work-item", *RULES, device="gpu")
    long = call("FULLY_CONNECTED", x(5, 576), weights((19, 576)), None)
    graph, _ = rewritten(long, *RULES, device="gpu")
    op = graph.ops[0]
    assert [step.name for step in op.core] == ["tflgpu.row_scales", "tflgpu.round_rows"]
    sliced, *_ = OPS[op.name].implementations
    target = Target(profile("gpu"))
    (launch,) = sliced.launches(op, target)
    assert (launch.grid, launch.group) == ((128, 5, 1), (128, 1, 1))
    assert too_short(Tensor("x", (1, 1, 5, 576)), target) is None
    assert too_short(Tensor("x", (1, 1, 1, 5, 576)), target) == "rank 5 is above 4"
