"""Weights and biases of layers: what is checked of them, and how they are packed into slices.

Weights of groups of channels that share slices become those of whole slices of inputs. Each slice
of outputs reads the slices with the inputs of its groups. Weights of inputs of other groups are
zeros, so that what is infinite in a group makes NaN of its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Protocol

import numpy as np

from ...ir import Array, Op, Shape, Tensor, Whole
from ...target import Target
from ..base.launch import Constant, Launch
from ..base.tile import Tile

# Their positions; behind them convolutions may have factors of pixels, which are computed.
WEIGHTS_AND_BIAS = (1, 2)

# Fewest buffers that a device allows a kernel whose scales of weights have one of their own.
ENOUGH_BUFFERS = 8

LEAST = {4: -8, 8: -128}  # The least number with a sign that so many bits hold.


def check_bias(op: Op, channels: int, position: int = 2) -> None:
    """ModelError unless the bias, if there is one, has one entry per output channel."""
    bias = op.input(position)
    if bias is not None and bias.elements != channels:
        raise op.invalid(
            f"the bias has {bias.elements} entries for {channels} output channels; convert the "
            f"model again with an entry for each, or without a bias"
        )


class Weights(Protocol):
    """An array, or what computes a range of its output channels when it is needed."""

    @property
    def shape(self) -> Shape:
        """Sizes of the axes, output channels first."""

    def __getitem__(self, channels: slice) -> Array:
        """The weights of some output channels."""


@dataclass(frozen=True, eq=False)
class PackedWeights:
    """OHWI weights as a kernel reads them, which numpy converts to an array [..., lane], float32:

        [block][row][column][input channel][slice of the block][lane]

    They are packed when the array is asked for, so that a model's weights are not held twice.
    """

    weights: Weights  # [output channel][row][column][input channel].
    blocks: int  # Slices of output channels in a block.
    lanes: int

    @property
    def _counts(self) -> tuple[int, int, int, int, int, int]:
        """Sizes of the axes [block][slice of the block][lane][row][column][input channel]."""
        outputs, *kernel = self.weights.shape
        height, width, inputs = kernel
        count = -(-outputs // (self.blocks * self.lanes))
        return count, self.blocks, self.lanes, height, width, inputs

    @property
    def shape(self) -> tuple[int, int]:
        return prod(self._counts) // self.lanes, self.lanes

    @property
    def size(self) -> int:
        return prod(self._counts)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        count, blocks, lanes, *kernel = self._counts
        packed = np.empty((count, *kernel, blocks, lanes), dtype or np.float32)
        padded = np.zeros((blocks * lanes, *kernel), np.float32)
        for block in range(count):
            part = np.asarray(self.weights[block * len(padded) : (block + 1) * len(padded)])
            padded[: len(part)] = part
            padded[len(part) :] = 0
            packed[block] = padded.reshape(blocks, lanes, *kernel).transpose(2, 3, 4, 0, 1)
        return packed.reshape(-1, lanes)


@dataclass(frozen=True, eq=False)
class JoinedLayers:
    """The weights of several layers, a block of output channels of each after the other.

    Blocks have `width` channels; zeros fill up the last one of each layer.
    """

    weights: Array  # [channel of the first layer, then of the second, ...][...].
    layers: int
    width: int

    @property
    def shape(self) -> Shape:
        channels, *rest = self.weights.shape
        return self.layers * -(-(channels // self.layers) // self.width) * self.width, *rest

    def __getitem__(self, channels: slice) -> Array:
        """Whole blocks of all layers."""
        each = self.weights.reshape(self.layers, -1, *self.weights.shape[1:])
        start, stop, _ = channels.indices(self.shape[0])
        first, last = start // self.layers, stop // self.layers
        part = each[:, first:last]
        padded = np.zeros((self.layers, last - first, *part.shape[2:]), part.dtype)
        padded[:, : part.shape[1]] = part
        blocks = padded.reshape(self.layers, -1, self.width, *part.shape[2:])
        return blocks.swapaxes(0, 1).reshape(-1, *part.shape[2:])


def layers_of(op: Op) -> int:
    """How many layers of the same rows an operator computes, whose results its epilogue joins."""
    return int(op.attrs.get("layers", 1))


def in_blocks(values: Array, op: Op, tile: Tile, target: Target) -> Weights:
    """A table of output channels [channel][...] in the order in which tiles compute them."""
    layers = layers_of(op)
    return values if layers == 1 else JoinedLayers(values, layers, tile.slices * target.lanes)


def bias_slices(op: Op, channels: int, target: Target, blocks: int = 1, position: int = 2) -> Array:
    """The biases of an operator of one or several layers of `channels` channels, as `in_slices`
    has them; zeros if absent."""
    biases = np.zeros(layers_of(op) * channels, np.float32)
    if op.input(position) is not None:
        biases[:] = op.constant(position).reshape(-1)
    return in_slices(biases, op, target, blocks)


def layer_constants(
    op: Op, weights: Weights, blocks: int, target: Target, bias: int = 2
) -> dict[str, Constant]:
    """The bias of a layer, input `bias`, and its OHWI weights, by role, as tiles of `blocks` slices
    read them."""
    return {
        "bias": bias_slices(op, weights.shape[0], target, blocks, bias),
        "weights": PackedWeights(weights, blocks, target.lanes),
    }


def in_slices(channels: Array, op: Op, target: Target, blocks: int = 1) -> Array:
    """A number for each output channel of the layers of an operator, [slice][lane].

    Each layer's are padded to whole blocks of `blocks` slices.
    """
    joined = JoinedLayers(channels, layers_of(op), blocks * target.lanes)
    return joined[:].reshape(-1, target.lanes)


def scaled_totals(weights: Array, scales: Array) -> Array:
    """The sums of weights [outputs, inputs] times scales [outputs, blocks], float64 [outputs]."""
    blocks = weights.reshape(*scales.shape, -1).sum(-1, dtype=np.float64)
    return np.asarray((blocks * scales).sum(-1))


def in_bytes(launch: Launch, op: Op, target: Target) -> Launch:
    """A launch that reads weights as bytes, or halves of them, if they hold the whole numbers.

    Where it waits for memory, as with a single row of inputs, it takes a fraction of the time.
    Weights that lookups read, too, are an array of their own whatever they are.
    """
    bits = stored_bits(op)
    if bits is None and not op.operand(1).tied:
        return launch
    return apart(launch, op, target, None if bits is None else Whole(bits, LEAST[bits]))


def apart(launch: Launch, op: Op, target: Target, whole: Whole | None) -> Launch:
    """A launch whose weights are an array of their own, of numbers stored as `whole` says."""
    roles = dict(launch.constants)
    narrow = np.int8 if whole and whole.bits <= 8 else None
    slices = np.asarray(roles.pop("weights"), narrow).reshape(1, 1, -1, target.lanes)
    name = f"{op.operand(1).name}/{whole.called if whole else 'packed'}"
    own = Tensor(name, slices.shape, content=slices, whole=whole)
    return replace(launch, constants=roles, packed={"weights": own})


def scales_in_halves(launch: Launch, op: Op, target: Target) -> Launch:
    """A launch that reads the scales of blocks of weights in half precision, as model files have
    them, where GPUs take none of them for zero.

    With blocks of 32 weights of 4 bits, scales of floats are a fifth of what is read.
    """
    enough = target.device.max_arguments >= ENOUGH_BUFFERS
    if "scales" not in launch.constants or target.on_processor or not enough:
        return launch
    roles = dict(launch.constants)
    scales = np.asarray(roles.pop("scales")).reshape(1, 1, -1, target.lanes)
    sizes, limits = np.abs(scales[scales != 0]), np.finfo(np.float16)
    if sizes.min(initial=1) < limits.tiny or sizes.max(initial=1) > limits.max:
        return launch
    own = Tensor(f"{op.operand(3).name}/packed", scales.shape, content=scales, halved=True)
    return replace(launch, constants=roles, packed={**launch.packed, "scales": own})


def sharing(op: Op, target: Target) -> Target:
    """The target of a layer, whose weights are shared if lookups read them, too."""
    return replace(target, shares_weights=target.shares_weights or op.operand(1).tied)


def stored_bits(op: Op) -> int | None:
    """The bits in which the weights of a layer are stored if they are whole numbers, else None."""
    if not op.attrs.get("exact"):
        return None
    low, high = op.operand(1).extremes
    return next((bits for bits, least in LEAST.items() if least <= low and high < -least), None)


def ohwi(weights: Array) -> Array:
    """[outputs, inputs] weights as those of a 1x1 convolution; OHWI weights as they are."""
    return weights if weights.ndim == 4 else weights[:, None, None, :]


def computed_weights(op: Op, tables: Sequence[int] = ()) -> str | None:
    """Why weights, a bias and the like are not known now; None if all are constants.

    `tables` are their positions among the inputs: by default all but the first.
    """
    positions = tables or range(1, len(op.inputs))
    computed = [i for i in positions if (tensor := op.input(i)) and not tensor.constant]
    return f"input {computed[0]} is computed while the model runs" if computed else None


def wide_sums(op: Op) -> str | None:
    """Why floats cannot hold the sums of a layer; None if they can."""
    return "its sums may pass 2^24" if "least" in op.attrs else None


@dataclass(frozen=True)
class SpreadWeights:
    """The weights for the inputs that a slice of outputs reads."""

    weights: Array  # [outputs, height, width, these inputs].
    beyond: bool  # Whether the last slices of outputs would otherwise read beyond the last input.
    unit: int  # How many inputs are read together: those of a slice, or a single one.


def spread_groups(weights: Array, groups: int, target: Target) -> SpreadWeights:
    """OHWI weights of groups, for kernels that read as many inputs for each slice of outputs.

    Processors load single lanes: where groups are no whole slices, they leave out those of others.
    """
    whole = _spread(weights, groups, target.lanes, target.lanes)
    if target.device.slice_loads:
        return whole
    single = _spread(weights, groups, target.lanes, 1)
    return single if single.weights.size < whole.weights.size else whole


def _spread(weights: Array, groups: int, lanes: int, unit: int) -> SpreadWeights:
    outputs, height, width, inputs = weights.shape
    each = outputs // groups
    starts = np.arange(0, outputs, lanes)
    last = np.minimum(starts + lanes, outputs) - 1
    first_units = starts // each * inputs // unit
    last_units = ((last // each + 1) * inputs - 1) // unit
    count = int((last_units - first_units).max()) + 1
    most = -(-groups * inputs // unit) - count
    beyond = bool((first_units > most).any())
    begins = np.minimum(first_units, most) * unit
    spread = np.zeros((outputs, height, width, count * unit), weights.dtype)
    for output in range(outputs):
        begin = output // each * inputs - begins[output // lanes]
        spread[output, :, :, begin : begin + inputs] = weights[output]
    return SpreadWeights(spread, beyond, unit)
