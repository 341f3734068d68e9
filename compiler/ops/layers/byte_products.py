"""Layers of integers on devices that multiply bytes: four products at a time, in 32-bit sums.

Feature maps are stored as bytes, each the integer less the least one. With weights in [-128, 127]
after `offset` is taken from them, the sums of a layer are

    sum((byte + least) * weight) = sum(byte * (weight - offset))
                                   + offset * sum(byte) + least * sum(weight)

The last term becomes part of the bias. Pixels outside the image are bytes that stand for 0. GPUs
take 128 from each byte first, as few of them multiply bytes without a sign by bytes with one.

Weights of 4 bits are multiplied as the upper halves of bytes, so that all sums are 16 times as
large, which changes no bit of the floats that they become.

If blocks of weights have scales, the sum of each block is multiplied by its scale, and these
products, as the bias, are floats.
"""

from math import prod

import numpy as np

from ...ir import Array, Op, Tensor, Whole
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.images import flattens, one_column
from ..base.launch import Constant, Launch
from ..base.tile import Area, TileShape
from ..base.window import Window
from .weights import (
    PackedWeights,
    apart,
    bias_slices,
    computed_weights,
    in_blocks,
    in_slices,
    layers_of,
    ohwi,
    scaled_totals,
    sharing,
)

WORD = 4  # Products of bytes that are added at once.
SIGNED = 128  # What is taken from a byte to give it a sign.
NIBBLE = 16  # What integers of 4 bits are multiplied by as the upper halves of bytes.
# Products of two integers of at most 255 in a sum that surely fits in 32 bits.
MOST_PRODUCTS = 1 << 15


def multiplies_bytes(op: Op, target: Target) -> str | None:
    """Why a layer with OHWI or [outputs, inputs] weights cannot be computed so; None if it can.

    Its weights and bias must be whole numbers, which `exact` says, and its image must be stored as
    bytes. A layer whose sums may pass 2^24 has an attribute `least`, the least number of its image,
    which is made of bytes as it is read if it is stored otherwise.
    """
    if not target.byte_products:
        return "the device does not multiply bytes"
    image, weights = op.operand(0), op.operand(1)
    if not op.attrs.get("exact") or not (_of_bytes(image) or "least" in op.attrs):
        return "its image is not stored as bytes"
    if image.shape[-1] != weights.shape[-1]:
        return "it has groups of channels"
    if len(op.output.shape) > 4 or len(image.shape) > 4:
        return "rank is above 4"
    if reason := computed_weights(op):
        return reason
    if not sums_fit(op.operand(1)):
        return "its weights are no bytes, or too many for sums of 32 bits"
    return None


def _of_bytes(image: Tensor) -> bool:
    return image.whole is not None and image.whole.bits == 8


def words_in_rows(op: Op, target: Target) -> str | None:
    """Why a layer cannot read words of a row-major image; None if it can, as of few channels."""
    if not _of_bytes(op.operand(0)) or target.language.packs_bytes:
        return "its rows are not stored in arrays of bytes"
    channels = op.operand(0).shape[-1]
    return "its pixels are not whole words" if channels > WORD and channels % WORD else None


def sums_fit(weights: Tensor) -> bool:
    """Whether 32 bits hold the sums of products of bytes and the weights of each output channel."""
    low, high = weights.extremes
    return high - low <= 255 and prod(weights.shape[1:]) <= MOST_PRODUCTS


def byte_products(
    op: Op,
    target: Target,
    window: Window | None,
    wanted: TileShape | None,
    scales: Array | None = None,
) -> Launch:
    """The launch for a layer; without a window it multiplies single pixels.

    Only such a layer may have `scales` of the blocks of its weights, [outputs, blocks].
    """
    weights = op.constant(1)
    matrix = ohwi(weights)
    offset, halved = _offset(op.operand(1)), window is None and _fits_nibbles(op)
    factor = NIBBLE if halved else 1
    flat = one_column(op) or (window is None and flattens(op))
    area = Area.of(op, target, flat, sums=layers_of(op))
    limits = _limits(target, sums_bytes=bool(offset), twice=scales is not None)
    tile = choose_tile(area, sharing(op, target), wanted, limits=limits)
    sums = area.sums * tile.slices
    matrix = in_blocks(matrix, op, tile, target)[:]
    matrix = factor * matrix if halved else matrix
    image, signed = op.operand(0), not target.on_processor
    whole = image.whole if _of_bytes(image) else None
    least = whole.base if whole else op.attrs["least"]
    base = least + SIGNED if signed else least
    constants: dict[str, Constant] = {}
    if scales is None:
        biases = factor * bias_slices(op, op.output.shape[-1], target, tile.slices)
        constants["bias"] = _bias(biases, matrix, base)
    else:
        totals = base * scaled_totals(weights, scales)
        each = in_blocks(ohwi(scales / np.float32(factor)), op, tile, target)
        constants["bias"] = in_slices(totals, op, target, tile.slices)
        constants["scales"] = PackedWeights(each, sums, target.lanes)
    constants["weights"] = _packed(matrix, offset, sums, target.lanes, halved)
    launch = Launch.of(
        op,
        "conv/conv_bytes.jinja",
        area.grid(tile),
        reads={"x": image},
        constants=constants,
        variables={
            "tile": tile,
            "blocks": area.blocks(tile),
            "window": window,
            "inputs": weights.shape[-1],
            "block": weights.shape[-1] // (1 if scales is None else scales.shape[1]),
            "offset": offset,
            "factor": factor,
            "signed": signed,
            "least": None if whole else least,
            "padding": int.from_bytes(bytes([-base & 255] * WORD), "little", signed=True),
        },
        flatten=flat,
        heavy=True,
        flops=2 * area.sums * op.output.elements * prod(weights.shape[1:]),
    )
    return apart(launch, op, target, Whole(8 * WORD, 0)) if op.operand(1).tied else launch


def _limits(target: Target, sums_bytes: bool, twice: bool) -> TileLimits:
    """Those of tiles whose weights are bytes; the sums of the image's bytes take a slice's place.

    On processors weights take a quarter of the memory of floats, so that more slices are at hand.
    If all sums are held `twice`, as those of a block and of all, there are half as many.
    """
    limits = TileLimits.of(target)
    if twice:
        limits = TileLimits(max(limits.accumulators // 2, 1), limits.slices)
    slices = 2 * limits.slices if target.on_processor else limits.slices
    if not sums_bytes:
        return TileLimits(limits.accumulators, slices)
    slices = max(slices - 1, 1)
    return TileLimits(limits.accumulators * slices // (slices + 1), slices)


def _offset(weights: Tensor) -> int:
    """What must be taken from weights, and the 0 of what fills up slices, to make them bytes with a
    sign; 0 if they are."""
    low, high = weights.extremes
    return 0 if low >= -128 and high <= 127 else int(low) + 128


def _bias(biases: Array, weights: Array, base: int) -> Array:
    """The bias of each output channel plus what the bytes lack, int32 [slice][lane]."""
    bias = biases.astype(np.int64)
    sums = np.zeros(bias.size, np.int64)
    sums[: len(weights)] = base * weights.sum((1, 2, 3), np.float64)  # Whole numbers.
    # Partial sums may wrap, whole ones do not.
    return (bias + sums.reshape(bias.shape)).astype(np.int32)


def _fits_nibbles(op: Op) -> bool:
    """Whether 4 bits hold the weights of a layer, and 32 bits its sums times NIBBLE."""
    low, high = op.operand(1).extremes
    bias = op.input(2)
    largest = 0 if bias is None else np.abs(op.constant(2)).max(initial=0)
    return low >= -8 and high <= 7 and largest * NIBBLE < 1 << 29


def _packed(weights: Array, offset: int, blocks: int, lanes: int, halved: bool) -> Array:
    """OHWI weights less the offset as [block][row][column][word][slice of the block][lane], int32.

    The bytes of a word are those of four input channels; weights of 0 fill up words and blocks.
    If `halved`, the upper halves of a word are those of another word, which comes after the four
    bits in the lower halves; an odd number of words is filled up.
    """
    outputs, height, width, inputs = weights.shape
    steps, count = -(-inputs // WORD), -(-outputs // (blocks * lanes))
    steps += steps % 2 * halved
    padded = np.full((count * blocks * lanes, height, width, steps * WORD), -offset, np.int8)
    np.subtract(weights, offset, out=padded[:outputs, ..., :inputs], casting="unsafe")
    packed = padded.reshape(count, blocks, lanes, height, width, steps, WORD)
    words = np.ascontiguousarray(packed.transpose(0, 3, 4, 5, 1, 2, 6)).view(np.int32)
    if halved:
        first, second = (words[:, :, :, n::2].view(np.uint32) for n in (0, 1))
        words = np.ascontiguousarray(first >> 4 | second).view(np.int32)
    return words
