"""What a 1x1 convolution reads is computed by its kernel: a depthwise convolution, or a gate."""

from ...ir import FusedOp, Graph, Op, Tensor
from ...ops.conv.conv import groups, window
from ...ops.conv.depthwise_pointwise import NAME, fits
from ...ops.layers.weights import computed_weights
from ...target import Target
from ..rewrite import Attempt, Attempts, graph_rewrite


@graph_rewrite()
def fuse_depthwise(graph: Graph, target: Target) -> Attempts:
    """A depthwise convolution is fused with the 1x1 convolution that reads it.

        t = { s = DEPTHWISE_CONV_2D(x, v, a) | t = RELU6(s) }   y = CONV_2D(t, w, b)   with w 1x1
        becomes   y = { s = DEPTHWISE_CONV_2D(x, v, a) | t = RELU6(s) | y = CONV_2D(t, w, b) }

    Each work-item then computes all output channels of its pixels, so that no depthwise value is
    computed twice. This pays if output channels are few; the device profile sets the limit. On
    processors a work-item computes a whole row of pixels, and there may be many channels.

    For pairs of convolutions, after elementwise fusion.
    """
    for depthwise in graph.ops:
        op = None
        if depthwise.name == "DEPTHWISE_CONV_2D" and len(depthwise.outputs) == 1:
            op = graph.only_reader(depthwise.output)
        if op is None or op.name != "CONV_2D":
            continue
        if (yield Attempt((depthwise, op), _unsupported_reason(depthwise, op, target))):
            graph.remove(op)
            graph.remove(depthwise)
            graph.add(FusedOp(NAME, (*depthwise.ops, *op.core), op.epilogue, op.outputs))


def _unsupported_reason(depthwise: Op, op: Op, target: Target) -> str | None:
    if op.operand(0) is not depthwise.output or len(op.inputs) > 3:
        return "the convolution does not read the result as its feature map, or has a gate"
    if depthwise.output in op.epilogue_inputs:
        return "the convolution's epilogue also reads the result"
    if groups(op) != 1 or not window(op).pointwise:
        return "the convolution is not 1x1 and ungrouped"
    if target.byte_products and op.attrs.get("exact"):
        return "alone, the convolution multiplies bytes"
    if reason := computed_weights(depthwise) or computed_weights(op):
        return reason
    if depthwise.operand(1).shape[3] != depthwise.operand(0).shape[3]:
        return "the depthwise convolution has several outputs per channel"
    if any(tensor.elements != 1 or not tensor.constant for tensor in depthwise.epilogue_inputs):
        return "its epilogue reads more than scalar constants"
    inputs, outputs = depthwise.output.shape[3], op.output.shape[3]
    device = target.device
    if (outputs if target.on_processor else max(inputs, outputs)) > device.fused_channels:
        return f"{inputs} and {outputs} channels are too many for {device.name}"
    if target.on_processor and not fits(op.output.shape[2], inputs, target):
        return f"a row of {inputs} channels exceeds {device.local_memory} bytes of local memory"
    return None


@graph_rewrite()
def fold_gate_into_conv(graph: Graph, target: Target) -> Attempts:
    """A factor per channel is folded into the 1x1 convolution that reads the product.

        t = MUL(x, g[1,1,1,C])   y = CONV_2D(t, w, b)   with w 1x1
        becomes   y = CONV_2D(x, w, b, g)

    This is the end of squeeze-and-excite (arXiv 1709.01507): `g` depends on the mean of `x`, so the
    product cannot be in the epilogue of the kernel that computes `x`. Instead the convolution
    multiplies its input by `g` as it reads it.

    For products that are still separate kernels after elementwise fusion.
    """
    for product in graph.ops:
        op = graph.only_reader(product.output) if product.name == "MUL" else None
        if op is None or op.name != "CONV_2D" or product.epilogue:
            continue
        image, gate = _factors(product)
        if (yield Attempt((product, op), _ungated_reason(product, op, image, gate, target))):
            graph.set_inputs(op, (image, op.inputs[1], op.input(2), gate))
            graph.remove(product)


def _factors(product: Op) -> tuple[Tensor, Tensor]:
    """The feature map, and the factor of its channels."""
    first, second = product.operand(0), product.operand(1)
    return (first, second) if first.shape == product.output.shape else (second, first)


def _ungated_reason(product: Op, op: Op, image: Tensor, gate: Tensor, target: Target) -> str | None:
    if op.operand(0) is not product.output or len(op.inputs) > 3:
        return "the convolution does not read the product as its feature map"
    if product.output in op.epilogue_inputs:
        return "the convolution's epilogue also reads the product"
    if image.constant or gate.constant or image.shape != product.output.shape:
        return "a factor is a constant, or both broadcast"
    if image.shape[0] != 1 or gate.elements != image.shape[3] or gate.shape[-1:] != image.shape[3:]:
        return "the other factor is not one value per channel, or the batch is not 1"
    if groups(op) != 1 or not window(op).pointwise or not op.operand(1).constant:
        return "the convolution is not 1x1 with constant weights"
    buffers = 4 + sum(1 for tensor in op.epilogue_inputs if not tensor.constant)
    if buffers > target.device.max_arguments:
        return (
            f"the kernel would need {buffers} buffers, but the device allows "
            f"{target.device.max_arguments}"
        )
    return None
