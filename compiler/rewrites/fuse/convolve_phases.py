"""A transposed convolution of bytes becomes a convolution with channels for each phase.

    t = TRANSPOSE_CONV([1,6,6,3], w[3,2,2,8], x[1,3,3,8]) stride_h=2 stride_w=2
    y = tflgpu.requantize(t, [3 scales])
    becomes
        s = CONV_2D(x, v[12,1,1,8])      r = tflgpu.requantize(s, [12 scales])
        y = tflgpu.phases_to_space(r) blocks=(2,2) crops=(0,0) size=(6,6)

Phases are the output pixels between two adjacent pixels of the image. Weights are 0 where a phase
reads no pixel. What reads each channel's values and constants alone is computed before phases
become pixels, so that these are moved as bytes.
"""

from ...ir import Graph, Op, Tensor, constant
from ...ops.base.traits import Range
from ...ops.conv.transpose_conv import bias_position, by_phases, input_image
from ...ops.conv.transpose_conv_phases import Phases, repeated, weights_of_phases
from ...ops.elementwise.elementwise import ELEMENTWISE
from ...ops.layers.byte_products import multiplies_bytes
from ...ops.layers.weights import computed_weights
from ...ops.move.space_to_depth import PHASES_TO_SPACE
from ...target import Target
from ..quantized.store_integers import ranges_of
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def convolve_phases(graph: Graph, target: Target) -> Attempts:
    """Where the device multiplies bytes, before elementwise operators are fused."""
    found = [op for op in graph.ops if op.name == "TRANSPOSE_CONV" and op.attrs.get("exact")]
    ranges = ranges_of(graph) if found else {}
    for op in found:
        phases = by_phases(op)
        convolution = _convolution(op, phases, ranges.get(input_image(op)), target)
        if isinstance(convolution, str):
            yield Attempt((op,), convolution)
        else:
            yield Attempt((op,))
            _replace(graph, op, phases, convolution)


def _convolution(op: Op, phases: Phases, known: Range | None, target: Target) -> Op | str:
    """The convolution of all phases, or why none of bytes is faster.

    `known` is the range of the image's whole numbers.
    """
    image, weights, bias = input_image(op), op.operand(1), op.input(bias_position(op))
    if known is None or known[1] - known[0] > 255:
        return "its image holds no integers of 8 bits"
    if reason := computed_weights(op, (1, bias_position(op))):
        return reason
    if reason := phases.too_many_products():
        return reason
    batch, rows, columns, _ = image.shape
    kernels = weights_of_phases(weights, phases)
    operands = (image, kernels, None if bias is None else _for_phases(bias, phases))
    attrs = {
        **op.attrs,
        "padding": phases.padding(rows, columns),
        "stride_h": 1,
        "stride_w": 1,
        "least": known[0],
    }
    shape = (batch, phases.rows, phases.columns, kernels.shape[0])
    sums = Tensor(f"{op.output.name}/phases", shape, "float32")
    convolution = Op("CONV_2D", operands, (sums,), attrs, op.index, origins=op.origins)
    return multiplies_bytes(convolution, target) or convolution


def _replace(graph: Graph, op: Op, phases: Phases, convolution: Op) -> None:
    steps = _by_channel(graph, op)
    before, after = op.output, convolution.output
    graph.remove(op)
    graph.add(convolution)
    for step in steps:
        operands = [
            after if each is before else each and _for_phases(each, phases) for each in step.inputs
        ]
        before = step.output
        after = Tensor(f"{before.name}/phases", after.shape, before.dtype)
        graph.remove(step)
        graph.add(Op(step.name, operands, (after,), step.attrs, step.index, origins=step.origins))
    graph.add(Op(PHASES_TO_SPACE, (after,), (before,), phases.as_pixels, op.index))


def _by_channel(graph: Graph, op: Op) -> list[Op]:
    """The elementwise operators after one another that read constants by channel besides."""
    value, steps = op.output, list[Op]()
    while (reader := graph.only_reader(value)) is not None and reader.name in ELEMENTWISE:
        others = [each for each in reader.reads if each is not value]
        if reader.output.shape != value.shape or not all(map(_is_table, others)):
            break
        steps.append(reader)
        value = reader.output
    return steps


def _is_table(tensor: Tensor) -> bool:
    """Whether a tensor is a constant number, or one for each channel."""
    return tensor.constant and tensor.elements in (1, *tensor.shape[-1:])


def _for_phases(table: Tensor, phases: Phases) -> Tensor:
    """A constant of each channel as that of the channels of all phases."""
    return constant(f"{table.name}/phases", repeated(table.values, phases))
