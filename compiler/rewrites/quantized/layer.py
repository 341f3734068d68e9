"""A layer: an operator that adds up products of an image and weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...ir import Array, Tensor
from .lowering import Lowering

# The axes of the weights that the output and the input channels lie along; None where every output
# channel has but few products.
CHANNEL_AXES = {
    "CONV_2D": (0, 3),
    "FULLY_CONNECTED": (0, 1),
    "DEPTHWISE_CONV_2D": (3, None),
    "TRANSPOSE_CONV": (0, 3),
}


@dataclass(frozen=True)
class Layer:
    """The operands of a quantized layer, whatever their order in the operator."""

    here: Lowering
    image: Tensor
    weights: Tensor
    bias: Array | None  # int32 or int64, of shape [channels].

    @property
    def name(self) -> str:
        return self.here.op.name

    @property
    def output_axis(self) -> int:
        """The axis of the weights that the output channels lie along."""
        return CHANNEL_AXES[self.name][0]

    @property
    def input_axis(self) -> int | None:
        """The axis of the weights that the input channels lie along, if each sum takes many."""
        return CHANNEL_AXES[self.name][1]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The operator's, without the activation, which is applied where sums are rounded."""
        return {**self.here.unfused, "exact": True}

    @property
    def grouped(self) -> bool:
        """Whether each output channel has products with some of the input channels only."""
        return self.name == "CONV_2D" and self.image.shape[3] != self.weights.shape[3]

    @cached_property
    def centered_image(self) -> Tensor:
        """The image less its zero point, float32; [rows, inputs] of FULLY_CONNECTED."""
        image = self.here.centered(self.image)
        if self.name == "FULLY_CONNECTED":
            image = self.here.reshape(image, (-1, self.weights.shape[1]))
        return image

    @cached_property
    def centered_weights(self) -> Tensor:
        """The weights less their zero point, float32."""
        return self.here.centered(self.weights)

    @property
    def factors(self) -> Array:
        """The scale of the products divided by the result's, float64: [] or [channels]."""
        image, result = (np.float64(self.here.scale(t)) for t in (self.image, self.here.op.output))
        return np.asarray(image * self.here.scales(self.weights) / result)

    @property
    def single_factors(self) -> Array:
        """The factors with the product rounded to float32, as LiteRT has it at times."""
        product = self.here.scale(self.image) * self.here.scales(self.weights)
        return np.asarray(np.float64(product) / self.here.scale(self.here.op.output))

    def products(self, reach: int) -> Array:
        """Bounds of the sums of each input and output channel: [input or 1, output], float64.

        The image's centered values are at most `reach` from 0.
        """
        axes = self.output_axis, self.input_axis
        others = tuple(axis for axis in range(len(self.weights.shape)) if axis not in axes)
        taps = [np.abs(some).sum(others, dtype=np.float64) for some in self._meeting()]
        products = np.max(taps, 0) * reach
        return products[None] if self.input_axis is None else np.asarray(products.T)

    def _meeting(self) -> list[Array]:
        """Those weights that may meet in one sum: of a transposed convolution, every stride-th."""
        values, attrs = self.centered_weights.data, self.here.op.attrs
        if values is None:
            values = np.full(self.weights.shape, self.here.reach(self.weights))
        if self.name != "TRANSPOSE_CONV":
            return [values]
        down, right = attrs.get("stride_h", 1), attrs.get("stride_w", 1)
        phases = np.ndindex(min(down, values.shape[1]), min(right, values.shape[2]))
        return [values[:, y::down, x::right] for y, x in phases]

    def sums(self, image: Tensor, weights: Tensor, bias: Array | None, **more: Any) -> Tensor:
        """The sums of other centered operands, of the output's shape; `more` are attributes."""
        here, added = self.here, None if bias is None else self.here.constant(bias)
        if self.name == "TRANSPOSE_CONV":
            operands = (here.op.operand(0), weights, image, added)
            return here.add(self.name, *operands, dtype="float32", **self.attrs)
        sums = here.add(self.name, image, weights, added, **self.attrs, **more)
        return here.reshape(sums, here.op.output.shape)
