"""Layers of a small network in numpy: forward, backward, and the TFLite operator each one is.

Images are float32, [batch, height, width, channels]. A layer keeps from `forward` what `backward`
needs; `backward` takes the loss's gradient by the layer's output, fills `gradients`, and returns
the gradient by its input.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from tflgpu.compiler.ir import Array, Graph, Op, Shape, Tensor, constant


def emit(
    graph: Graph, kind: str, inputs: Sequence[Tensor], name: str, shape: Shape, **attrs: Any
) -> Tensor:
    """Add an operator to the graph and return its one output."""
    output = Tensor(name, shape)
    graph.add(Op(kind, tuple(inputs), (output,), attrs, index=len(graph)))
    return output


class Layer:
    """Something that maps one array to another and learns from a gradient."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}

    def forward(self, x: Array) -> Array:
        """The layer's output."""
        raise NotImplementedError

    def backward(self, gradient: Array) -> Array:
        """The gradient by the input of the last `forward`."""
        raise NotImplementedError

    def export(self, graph: Graph, x: Tensor) -> Tensor:
        """Add the layer to a graph, reading `x`; returns its output."""
        raise NotImplementedError

    def leaves(self) -> Iterator[Layer]:
        """The layers with parameters of their own, in order."""
        yield self


class Convolution(Layer):
    """A convolution of stride 1 with SAME padding and RELU; `depthwise` keeps channels apart.

    Written as a sum over the filter's taps, each a shifted view of the padded image.
    """

    def __init__(
        self,
        name: str,
        size: int,
        channels: tuple[int, int],
        generator: np.random.Generator,
        depthwise: bool = False,
    ) -> None:
        super().__init__(name)
        self.size = size
        self.depthwise = depthwise
        shape = (size, size, channels[0]) if depthwise else (size, size, *channels)
        fan_in = size * size * (1 if depthwise else channels[0])
        weights = generator.normal(0, np.sqrt(2 / fan_in), shape).astype(np.float32)
        self.parameters = {"weights": weights, "bias": np.zeros(channels[1], np.float32)}

    def taps(self, padded: Array) -> Iterator[tuple[tuple[int, int], Array]]:
        """Each tap's place in the filter with the part of the image it meets."""
        height, width = (padded.shape[axis] - self.size + 1 for axis in (1, 2))
        for row, column in product(range(self.size), repeat=2):
            yield (row, column), padded[:, row : row + height, column : column + width]

    def forward(self, x: Array) -> Array:
        margin = self.size // 2
        self.padded = np.pad(x, ((0, 0), (margin, margin), (margin, margin), (0, 0)))
        weights = self.parameters["weights"]
        total = np.zeros((), np.float32)
        for tap, part in self.taps(self.padded):
            total = total + (part * weights[tap] if self.depthwise else part @ weights[tap])
        self.output: Array = np.maximum(total + self.parameters["bias"], 0)
        return self.output

    def backward(self, gradient: Array) -> Array:
        gradient = gradient * (self.output > 0)
        weights = self.parameters["weights"]
        by_weights, by_padded = np.zeros_like(weights), np.zeros_like(self.padded)
        for (tap, part), (_, target) in zip(
            self.taps(self.padded), self.taps(by_padded), strict=True
        ):
            if self.depthwise:
                by_weights[tap] = (part * gradient).sum((0, 1, 2))
                target += gradient * weights[tap]
            else:
                by_weights[tap] = np.tensordot(part, gradient, ((0, 1, 2), (0, 1, 2)))
                target += gradient @ weights[tap].T
        self.gradients = {"weights": by_weights, "bias": gradient.sum((0, 1, 2))}
        margin = self.size // 2
        inside = slice(margin, by_padded.shape[1] - margin)
        return by_padded[:, inside, inside]

    def export(self, graph: Graph, x: Tensor) -> Tensor:
        weights, bias = self.parameters["weights"], self.parameters["bias"]
        # TFLite wants [out, height, width, in], and [1, height, width, channels] for depthwise.
        filters = weights[None] if self.depthwise else weights.transpose(3, 0, 1, 2).copy()
        options = {"depth_multiplier": 1} if self.depthwise else {}
        return emit(
            graph,
            "DEPTHWISE_CONV_2D" if self.depthwise else "CONV_2D",
            (x, constant(f"{self.name}/weights", filters), constant(f"{self.name}/bias", bias)),
            self.name,
            (*x.shape[:3], len(bias)),
            padding="SAME",
            stride_w=1,
            stride_h=1,
            dilation_w_factor=1,
            dilation_h_factor=1,
            fused_activation_function="RELU",
            **options,
        )


class MaxPool(Layer):
    """The largest of each 2 x 2 block."""

    def forward(self, x: Array) -> Array:
        batch, height, width, channels = x.shape
        blocks = x.reshape(batch, height // 2, 2, width // 2, 2, channels)
        largest: Array = blocks.max((2, 4))
        self.winners = blocks == largest[:, :, None, :, None]
        return largest

    def backward(self, gradient: Array) -> Array:
        batch, height, _, width, _, channels = self.winners.shape
        spread = self.winners * gradient[:, :, None, :, None]
        by_input: Array = spread.reshape(batch, 2 * height, 2 * width, channels)
        return by_input

    def export(self, graph: Graph, x: Tensor) -> Tensor:
        batch, height, width, channels = x.shape
        return emit(
            graph,
            "MAX_POOL_2D",
            (x,),
            self.name,
            (batch, height // 2, width // 2, channels),
            padding="VALID",
            stride_w=2,
            stride_h=2,
            filter_width=2,
            filter_height=2,
            fused_activation_function="NONE",
        )


class Residual(Layer):
    """Layers whose result is added to what they were given."""

    def __init__(self, name: str, layers: Sequence[Layer]) -> None:
        super().__init__(name)
        self.layers = layers

    def forward(self, x: Array) -> Array:
        total: Array = x + forward(self.layers, x)
        return total

    def backward(self, gradient: Array) -> Array:
        total: Array = gradient + backward(self.layers, gradient)
        return total

    def export(self, graph: Graph, x: Tensor) -> Tensor:
        branch = x
        for layer in self.layers:
            branch = layer.export(graph, branch)
        return emit(graph, "ADD", (x, branch), self.name, x.shape, fused_activation_function="NONE")

    def leaves(self) -> Iterator[Layer]:
        for layer in self.layers:
            yield from layer.leaves()


class Dense(Layer):
    """A matrix product over everything in an image, plus a bias: one score per class."""

    def __init__(
        self, name: str, inputs: int, outputs: int, generator: np.random.Generator
    ) -> None:
        super().__init__(name)
        weights = generator.normal(0, np.sqrt(1 / inputs), (inputs, outputs)).astype(np.float32)
        self.parameters = {"weights": weights, "bias": np.zeros(outputs, np.float32)}

    def forward(self, x: Array) -> Array:
        self.shape = x.shape
        self.flat = x.reshape(len(x), -1)
        scores: Array = self.flat @ self.parameters["weights"] + self.parameters["bias"]
        return scores

    def backward(self, gradient: Array) -> Array:
        self.gradients = {"weights": self.flat.T @ gradient, "bias": gradient.sum(0)}
        return (gradient @ self.parameters["weights"].T).reshape(self.shape)

    def export(self, graph: Graph, x: Tensor) -> Tensor:
        weights, bias = self.parameters["weights"], self.parameters["bias"]
        shape = (x.shape[0], len(weights))
        target = constant(f"{self.name}/shape", np.array(shape, np.int32))
        flat = emit(graph, "RESHAPE", (x, target), f"{self.name}/flat", shape, new_shape=shape)
        return emit(
            graph,
            "FULLY_CONNECTED",
            (
                flat,
                constant(f"{self.name}/weights", weights.T.copy()),
                constant(f"{self.name}/bias", bias),
            ),
            self.name,
            (x.shape[0], len(bias)),
            fused_activation_function="NONE",
            weights_format="DEFAULT",
            keep_num_dims=False,
            asymmetric_quantize_inputs=False,
        )


def forward(layers: Sequence[Layer], x: Array) -> Array:
    """The layers one after another."""
    for layer in layers:
        x = layer.forward(x)
    return x


def backward(layers: Sequence[Layer], gradient: Array) -> Array:
    """The gradient by the input of the first layer."""
    for layer in reversed(layers):
        gradient = layer.backward(gradient)
    return gradient
