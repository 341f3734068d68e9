"""Rewrites: the text of small graphs before and after, why they decline, and that results stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case import Case
from cases import families
from graphs import model
from tolerances import difference

import tflgpu
from tflgpu.compiler import ModelError, Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.errors import PassError
from tflgpu.compiler.events import Event
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Graph, Op, Shape, Tensor, constant
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites import Pass
from tflgpu.compiler.rewrites.canonicalize.eliminate_dead_code import drop_dead
from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import propagate
from tflgpu.compiler.rewrites.decompose.depthwise_to_grouped import depthwise_to_grouped
from tflgpu.compiler.rewrites.decompose.pack_to_concat import pack_to_concat
from tflgpu.compiler.rewrites.decompose.reshape_fully_connected import reshape_fully_connected
from tflgpu.compiler.rewrites.decompose.split_activation import split_activation
from tflgpu.compiler.rewrites.fold.fold_pad_into_add import fold_pad_into_add
from tflgpu.compiler.rewrites.fold.fold_pad_into_conv import fold_pad_into_conv
from tflgpu.compiler.rewrites.fold.fold_scale_into_conv import fold_scale_into_conv
from tflgpu.compiler.rewrites.fuse.fuse_elementwise import fuse_elementwise
from tflgpu.compiler.rewrites.fuse.separate_outputs import separate_outputs
from tflgpu.compiler.rewrites.layout.drop_identity import drop_identity
from tflgpu.compiler.rewrites.rewrite import check, rewrite

WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
PROFILE = profile("cpu")


class Net:
    """A graph under construction; tensors are named by the test."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.random = np.random.default_rng(11)

    def x(self, name: str, *shape: int) -> Tensor:
        tensor = Tensor(name, shape)
        self.graph.inputs.append(tensor)
        self.graph.input_names.append(name)
        return tensor

    def w(self, name: str, *shape: int) -> Tensor:
        return constant(name, self.random.standard_normal(shape).astype(np.float32))

    def op(self, operator: str, name: str, *inputs: Tensor | None, **attrs: Any) -> Tensor:
        """The output of a new operator, in the shape that follows."""
        op = Op(operator, inputs, (Tensor(name, ()),), attrs, len(self.graph))
        op.output.shape = tuple(OPS[operator].infer(op)[0])
        return self.graph.add(op).output

    def outputs(self, *tensors: Tensor) -> Graph:
        self.graph.outputs = list(tensors)
        self.graph.output_names = [tensor.name for tensor in tensors]
        return self.graph


def ints(name: str, *values: int) -> Tensor:
    return constant(name, np.array(values, np.int32))


def pads(name: str, *values: Sequence[int]) -> Tensor:
    return constant(name, np.array(values, np.int32))


def applied(step: Pass, graph: Graph) -> str:
    """The graph's text after a rewrite that has to apply, and nothing else."""
    events = step(graph, PROFILE)
    assert [event.reason for event in events if event.reason is None], events
    return str(graph)


def declined(step: Pass, graph: Graph) -> list[str]:
    """Why a rewrite declined; it must leave the graph alone."""
    before = str(graph)
    events = step(graph, PROFILE)
    assert all(event.rule == step.__name__ for event in events)
    assert str(graph) == before
    return [event.reason or "applied" for event in events]


# -- propagate, drop_dead, drop_identity ------------------------------------------------------


def test_propagate_finds_shapes_and_constants() -> None:
    net = Net()
    x = net.x("x", 3, 5, 7)
    size = Tensor("size", (3,), "int32")
    net.graph.add(Op("SHAPE", (x,), (size,)))
    batch = Tensor("batch", (), "int32")
    attrs = {"shrink_axis_mask": 1}
    ends = (ints("from", 0), ints("to", 1), ints("by", 1))
    net.graph.add(Op("STRIDED_SLICE", (size, *ends), (batch,), attrs, 1))
    wanted = Tensor("wanted", (2,), "int32")
    rest = constant("rest", np.array(-1, np.int32))
    net.graph.add(Op("PACK", (batch, rest), (wanted,), {"axis": 0}, 2))
    y = Tensor("y", (0, 0))
    net.graph.add(Op("RESHAPE", (x, wanted), (y,), {}, 3))
    graph = net.outputs(y)
    assert applied(propagate, graph) == "y = RESHAPE(x, wanted)"
    assert y.shape == (3, 35)
    np.testing.assert_array_equal(graph.ops[0].constant(1), [3, -1])


def test_propagate_names_the_operator_whose_shapes_do_not_fit() -> None:
    net = Net()
    y = net.op("ADD", "y", net.x("a", 5), net.x("b", 5))
    graph = net.outputs(y)
    graph.inputs[0].shape = (3,)
    with pytest.raises(ModelError, match=r"operator 0 ADD: \[3\] and \[5\] do not broadcast"):
        propagate(graph, PROFILE)


def test_drop_dead_takes_what_feeds_only_the_dead() -> None:
    net = Net()
    x = net.x("x", 5)
    y = net.op("EXP", "y", x)
    net.op("NEG", "gone", net.op("ABS", "only for it", x))
    assert applied(drop_dead, net.outputs(y)) == "y = EXP(x)"


@pytest.mark.parametrize(
    ("operator", "operands", "attrs"),
    [
        ("RESHAPE", [ints("shape", 2, 3, 5, 7)], {}),
        ("TRANSPOSE", [ints("order", 0, 1, 2, 3)], {}),
        ("PAD", [pads("table", *[(0, 0)] * 4)], {}),
        ("SLICE", [ints("begin", 0, 0, 0, 0), ints("size", -1, -1, -1, -1)], {}),
        ("CONCATENATION", [], {"axis": 1}),
        ("ADD", [constant("zero", np.zeros((), np.float32))], {}),
        ("MUL", [constant("one", np.ones(7, np.float32))], {}),
        ("DIV", [constant("one", np.ones(1, np.float32))], {}),
    ],
)
def test_operators_that_change_nothing_go_away(
    operator: str, operands: list[Tensor], attrs: dict[str, Any]
) -> None:
    net = Net()
    same = net.op(operator, "same", net.op("ABS", "a", net.x("x", 2, 3, 5, 7)), *operands, **attrs)
    graph = net.outputs(net.op("EXP", "y", same))
    assert applied(drop_identity, graph) == "a = ABS(x)\ny = EXP(a)"


@pytest.mark.parametrize(
    ("operator", "operands"),
    [
        ("TRANSPOSE", [ints("order", 1, 0)]),
        ("SUB", [constant("some", np.array([0, 0, 1, 0, 0], np.float32))]),
        ("STRIDED_SLICE", [ints("from", 4, 4), ints("to", -9, -9), ints("by", -1, -1)]),
        ("RESHAPE", [ints("shape", 25)]),
    ],
)
def test_operators_that_change_something_stay(operator: str, operands: list[Tensor]) -> None:
    net = Net()
    y = net.op(operator, "y", net.x("x", 5, 5), *operands)
    assert declined(drop_identity, net.outputs(y)) == []


def test_an_operator_that_broadcasts_its_first_operand_stays() -> None:
    net = Net()
    zeros = constant("zeros", np.zeros((3, 5), np.float32))
    assert declined(drop_identity, net.outputs(net.op("ADD", "y", net.x("x", 5), zeros))) == []


# -- one thing per operator -------------------------------------------------------------------


def test_activations_become_operators() -> None:
    net = Net()
    attrs = {**WINDOW, "fused_activation_function": "RELU6"}
    y = net.op("CONV_2D", "y", net.x("x", 1, 5, 7, 3), net.w("w", 11, 3, 3, 3), **attrs)
    assert applied(split_activation, net.outputs(y)) == (
        "y/before_relu6 = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1 "
        "fused_activation_function=NONE\n"
        "y = RELU6(y/before_relu6)"
    )


def test_an_activation_nobody_knows_is_refused() -> None:
    net = Net()
    y = net.op("ADD", "y", net.x("x", 5), net.w("w", 5), fused_activation_function="SIGN_BIT")
    with pytest.raises(ModelError, match="operator 0 ADD: no activation 'SIGN_BIT'"):
        split_activation(net.outputs(y), PROFILE)


def test_packs_become_concatenations() -> None:
    net = Net()
    y = net.op("PACK", "y", net.x("a", 3, 5), net.w("c", 3, 5), axis=-1)
    assert applied(pack_to_concat, net.outputs(y)) == (
        "y/part0 = RESHAPE(a) new_shape=(3,5,1)\ny = CONCATENATION(y/part0, y/part1) axis=2"
    )


def test_inputs_of_dense_layers_are_cut_into_rows() -> None:
    net = Net()
    y = net.op("FULLY_CONNECTED", "y", net.x("x", 2, 3, 5, 7), net.w("w", 11, 105))
    graph = net.outputs(y)
    assert applied(reshape_fully_connected, graph) == (
        "x/rows = RESHAPE(x) new_shape=(2,105)\ny = FULLY_CONNECTED(x/rows, w)"
    )
    assert declined(reshape_fully_connected, graph) == ["the input is cut already"]


def test_depthwise_convolutions_of_several_outputs_become_grouped() -> None:
    net = Net()
    attrs = {**WINDOW, "depth_multiplier": 2}
    weights = net.w("w", 1, 3, 5, 14)
    y = net.op("DEPTHWISE_CONV_2D", "y", net.x("x", 1, 5, 7, 7), weights, **attrs)
    graph = net.outputs(y)
    assert applied(depthwise_to_grouped, graph) == (
        "y = CONV_2D(x, w/grouped) padding=VALID stride_h=1 stride_w=1"
    )
    assert weights.data is not None
    np.testing.assert_array_equal(
        graph.ops[0].constant(1)[..., 0], weights.data[0].transpose(2, 0, 1)
    )


def test_depthwise_convolutions_of_one_output_stay() -> None:
    net = Net()
    y = net.op("DEPTHWISE_CONV_2D", "y", net.x("x", 1, 5, 7, 7), net.w("w", 1, 3, 3, 7), **WINDOW)
    assert declined(depthwise_to_grouped, net.outputs(y)) == ["one output for each channel"]


# -- folding ----------------------------------------------------------------------------------


def padded(operator: str, table: Tensor, *value: Tensor, padding: str = "VALID") -> Graph:
    net = Net()
    padded = net.op("PADV2" if value else "PAD", "p", net.x("x", 2, 5, 7, 3), table, *value)
    channels = padded.shape[3]
    weights = (1, 3, 3, channels) if operator == "DEPTHWISE_CONV_2D" else (11, 3, 3, channels)
    attrs = {**WINDOW, "padding": padding}
    return net.outputs(net.op(operator, "y", padded, net.w("w", *weights), **attrs))


@pytest.mark.parametrize("operator", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize(
    ("padding", "folded"), [("VALID", "((1,2),(0,3))"), ("SAME", "((2,3),(1,4))")]
)
def test_pads_become_the_convolution_s_own(operator: str, padding: str, folded: str) -> None:
    graph = padded(operator, pads("t", (0, 0), (1, 2), (0, 3), (0, 0)), padding=padding)
    shape = graph.outputs[0].shape
    assert applied(fold_pad_into_conv, graph) == (
        f"y = {operator}(x, w) padding={folded} stride_h=1 stride_w=1"
    )
    assert OPS[operator].infer(graph.ops[0]) == [shape]


@pytest.mark.parametrize(
    ("table", "value", "reason"),
    [
        (((0, 0), (1, 1), (1, 1), (1, 0)), (), "it pads the batch or the channels"),
        (((1, 0), (1, 1), (1, 1), (0, 0)), (), "it pads the batch or the channels"),
        (((0, 0), (1, 1), (1, 1), (0, 0)), (-2.5,), "it pads with -2.5"),
    ],
)
def test_pads_that_no_convolution_does_stay(
    table: Sequence[Sequence[int]], value: tuple[float, ...], reason: str
) -> None:
    fill = [constant("v", np.array(v, np.float32)) for v in value]
    assert declined(fold_pad_into_conv, padded("CONV_2D", pads("t", *table), *fill)) == [reason]


def test_a_pad_others_read_stays() -> None:
    graph = padded("CONV_2D", pads("t", (0, 0), (1, 1), (1, 1), (0, 0)))
    graph.outputs.append(graph.ops[0].output)
    reason = "not only convolutions read it, but the model's output"
    assert declined(fold_pad_into_conv, graph) == [reason]


def sum_with_pad(table: Tensor, narrow: int) -> Graph:
    net = Net()
    wide = net.op("ABS", "a", net.x("x", 1, 3, 5, 19))
    right = net.op("PAD", "p", net.x("n", 1, 3, 5, narrow), table)
    return net.outputs(net.op("ADD", "y", right, wide))


def test_pads_of_channels_go_into_the_sum() -> None:
    graph = sum_with_pad(pads("t", (0, 0), (0, 0), (0, 0), (0, 12)), 7)
    assert applied(fold_pad_into_add, graph) == "a = ABS(x)\ny = tflgpu.add_padded(a, n)"


@pytest.mark.parametrize(
    ("last", "narrow", "reason"),
    [
        ((5, 7), 7, "it pads more than the end of the channels"),
        ((0, 18), 1, "a single channel would count as one for all channels"),
    ],
)
def test_other_pads_of_channels_stay(last: tuple[int, int], narrow: int, reason: str) -> None:
    graph = sum_with_pad(pads("t", (0, 0), (0, 0), (0, 0), last), narrow)
    assert declined(fold_pad_into_add, graph) == [reason]


def scaled(operator: str, shape: Shape, first: bool = False, computed: bool = False) -> Graph:
    """A convolution and an operator with a constant of that shape."""
    net = Net()
    convolved = net.op(
        "CONV_2D", "t", net.x("x", 1, 5, 7, 3), net.w("w", 11, 1, 1, 3), net.w("b", 11), **WINDOW
    )
    other = net.x("s", *shape) if computed else net.w("s", *shape)
    operands = (other, convolved) if first else (convolved, other)
    return net.outputs(net.op(operator, "y", *operands))


@pytest.mark.parametrize(
    ("operator", "first", "weights"),
    [
        ("MUL", False, "w/scaled"),
        ("MUL", True, "w/scaled"),
        ("DIV", False, "w/scaled"),
        ("ADD", True, "w"),
        ("SUB", False, "w"),
    ],
)
@pytest.mark.parametrize("shape", [(11,), (1, 1, 1, 11), (1,), ()])
def test_scales_go_into_the_weights(operator: str, first: bool, weights: str, shape: Shape) -> None:
    graph = scaled(operator, shape, first)
    old, bias = graph.ops[0].constant(1), graph.ops[0].constant(2)
    s = np.broadcast_to(graph.ops[1].constant(0 if first else 1).reshape(-1), 11)
    text = applied(fold_scale_into_conv, graph)
    assert text == f"y = CONV_2D(x, {weights}, y/bias) padding=VALID stride_h=1 stride_w=1"
    function = {"MUL": np.multiply, "DIV": np.divide, "ADD": np.add, "SUB": np.subtract}[operator]
    np.testing.assert_allclose(graph.ops[0].constant(2), function(bias, s), rtol=1e-6)
    factor = function(1, s) if operator in ("MUL", "DIV") else np.ones(11, np.float32)
    np.testing.assert_allclose(
        graph.ops[0].constant(1), old * factor.reshape(-1, 1, 1, 1), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("SUB", (11,), True), "the result is subtracted or divided by"),
        (("DIV", (11,), True), "the result is subtracted or divided by"),
        (("MUL", (7, 1)), "the constant is neither a scalar nor one value for each channel"),
        (("ADD", (3, 1, 1, 11)), "the constant is neither a scalar nor one value for each channel"),
        (("MUL", (11,), False, True), "the other operand is computed while the model runs"),
    ],
)
def test_scales_that_no_weights_can_hold_stay(arguments: tuple[Any, ...], reason: str) -> None:
    assert declined(fold_scale_into_conv, scaled(*arguments)) == [reason]


def test_a_row_of_constants_as_wide_as_there_are_channels_stays() -> None:
    net = Net()
    convolved = net.op("CONV_2D", "t", net.x("x", 1, 3, 11, 3), net.w("w", 11, 1, 1, 3), **WINDOW)
    graph = net.outputs(net.op("MUL", "y", convolved, net.w("s", 11, 1)))
    assert declined(fold_scale_into_conv, graph) == ["the constant does not lie along the channels"]


# -- outputs and fusion -----------------------------------------------------------------------


def test_outputs_get_memory_of_their_own() -> None:
    net = Net()
    x = net.x("x", 2, 3)
    view = net.op("RESHAPE", "view", x, ints("shape", 6))
    y = net.op("EXP", "y", x)
    again = net.op("RESHAPE", "again", y, ints("shape2", 3, 2))
    graph = net.outputs(x, view, y, again)
    assert applied(separate_outputs, graph) == (
        "view = RESHAPE(x, shape)\n"
        "y = EXP(x)\n"
        "again = RESHAPE(y, shape2)\n"
        "x/output = tflgpu.copy(x)\n"
        "view/output = tflgpu.copy(view)\n"
        "again/output = tflgpu.copy(again)"
    )
    assert [t.name for t in graph.outputs] == ["x/output", "view/output", "y", "again/output"]
    assert graph.output_names == ["x", "view", "y", "again"]


def test_chains_end_up_in_their_producer() -> None:
    net = Net()
    t = net.op("CONV_2D", "t", net.x("x", 1, 5, 7, 3), net.w("w", 11, 1, 1, 3), **WINDOW)
    y = net.op("ADD", "y", t, net.x("r", 1, 5, 7, 11))
    z = net.op("RELU", "z", net.op("SUB", "d", net.w("c", 11), y))
    assert applied(fuse_elementwise, net.outputs(z)) == (
        "z = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1 | ADD(%0, r) | SUB(c, %1) | RELU(%2)"
    )


def test_diamonds_end_up_in_one_kernel() -> None:
    net = Net()
    t = net.op("CONV_2D", "t", net.x("x", 1, 5, 7, 3), net.w("w", 11, 1, 1, 3), **WINDOW)
    y = net.op("MUL", "y", t, net.op("LOGISTIC", "s", t))
    assert applied(fuse_elementwise, net.outputs(y)) == (
        "y = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1 | LOGISTIC(%0) | MUL(%0, %1)"
    )


def test_of_two_producers_the_later_one_takes_it_in() -> None:
    net = Net()
    x = net.x("x", 1, 5, 7, 3)
    a = net.op("CONV_2D", "a", x, net.w("w", 11, 1, 1, 3), **WINDOW)
    b = net.op("CONV_2D", "b", x, net.w("v", 11, 1, 1, 3), **WINDOW)
    assert applied(fuse_elementwise, net.outputs(net.op("SUB", "y", b, a))) == (
        "a = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1\n"
        "y = CONV_2D(x, v) padding=VALID stride_h=1 stride_w=1 | SUB(%0, a)"
    )


def test_why_operators_stay_apart() -> None:
    net = Net()
    x = net.x("x", 1, 1, 1, 11)
    small = net.op("CONV_2D", "small", x, net.w("w", 11, 1, 1, 11), **WINDOW)
    large = net.op("ADD", "large", small, net.x("r", 1, 5, 7, 11))
    assert declined(fuse_elementwise, net.outputs(large)) == ["the value broadcasts"]
    net = Net()
    t = net.op("CONV_2D", "t", net.x("x", 1, 5, 7, 3), net.w("w", 11, 1, 1, 3), **WINDOW)
    graph = net.outputs(t, net.op("RELU", "y", t))
    assert declined(fuse_elementwise, graph) == ["others need the value, too"]


def test_a_kernel_takes_no_more_buffers_than_the_device_allows() -> None:
    net = Net()
    t = net.op("CONV_2D", "t", net.x("x", 1, 5, 7, 3), net.w("w", 11, 1, 1, 3), **WINDOW)
    y = net.op("ADD", "y", t, net.x("r", 1, 5, 7, 11))
    graph = net.outputs(net.op("ADD", "z", y, net.x("q", 1, 5, 7, 11)))
    events = fuse_elementwise(graph, profile("gles31"))
    assert [event.reason for event in events] == [
        None,
        "the kernel would need 5 buffers of 4",
    ]


# -- all of them ------------------------------------------------------------------------------


def test_a_rewrite_that_breaks_the_graph_is_named() -> None:
    @rewrite("ABS")
    def break_it(graph: Graph, op: Op) -> None:
        op.inputs = (Tensor("nowhere", (5,)),)

    net = Net()
    graph = net.outputs(net.op("ABS", "y", net.x("x", 5)))
    with pytest.raises(PassError, match="the rewrite break_it broke the graph"):
        break_it(graph, PROFILE)


def test_a_graph_is_checked_as_a_whole() -> None:
    graph = Net().outputs(Tensor("y", (5,)))
    with pytest.raises(PassError, match="the model's output y is never written"):
        check(graph, "some rewrite", everything=True)


def test_events_say_what_happened_as_plain_data() -> None:
    assert Event("rule", ("3 ABS",), "why").as_dict() == {
        "pass": "rule",
        "applied": False,
        "operators": ["3 ABS"],
        "reason": "why",
    }


@pytest.mark.parametrize(
    "name",
    ["fold_pad_into_conv", "fold_pad_into_add", "fold_scale_into_conv", "fuse_elementwise"],
)
def test_results_stay_without_a_pass(name: str, opencl_device: str, tmp_path: Path) -> None:
    cases = [case for case in families()["fused"] if takes(name, case)][:12]
    compiled = model({case.name: case.value for case in cases})
    results = []
    for disabled in ((), (name,)):
        options = Options(device="cpu", disable_passes=disabled)
        program = pipeline.build(compiled.content, options)
        events = [event for event in program.events if event.rule == name and not event.reason]
        assert bool(events) == (not disabled)
        folder = pipeline.store(program, tmp_path)
        with tflgpu.load(folder, device=opencl_device) as session:
            session.poison()
            results.append(session.run(compiled.inputs))
    for output, value in results[0].items():
        assert difference(results[1][output], value) is None, output


def takes(name: str, case: Case) -> bool:
    """Whether a rewrite changes the case."""
    graph = read(model({case.name: case.value}).content)
    events = pipeline.rewrite(graph, PROFILE)
    return any(event.rule == name and not event.reason for event in events)
