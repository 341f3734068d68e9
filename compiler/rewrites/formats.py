"""Operators at the ends of a graph for the formats of inputs and outputs that users choose.

image    becomes    picture (uint8)
                    p = tflgpu.read_picture(picture)
                    c = SUB(p, mean)
                    image = MUL(c, 1 / std)
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import OptionError
from ..formats import RESIZES, PictureFormat, ScoresFormat, input_format, output_format
from ..ir import Array, Graph, Op, Tensor, constant
from ..ops import OPS
from ..ops.elementwise.centered import FROM_CENTERED
from ..ops.images.read_picture import ADD_ALPHA, READ_PICTURE

Formats = Sequence[tuple[str, str]]  # Names of inputs or outputs with their formats.


def apply_formats(graph: Graph, inputs: Formats, outputs: Formats) -> None:
    """Give inputs and outputs their formats, by name or "" for the only one (OptionError)."""
    for name, text in inputs:
        position = _position("inputs", name, graph.input_names)
        name = graph.input_names[position]
        _Pictures(graph, name, position, input_format(name, text)).insert()
    for name, text in outputs:
        position = _position("outputs", name, graph.output_names)
        name = graph.output_names[position]
        _Result(graph, name, position).insert(output_format(name, text))


def _position(option: str, name: str, names: Sequence[str]) -> int:
    if not name and len(names) == 1:
        return 0
    if not name:
        raise OptionError(f"{option}: say which one has the format; it has {', '.join(names)}")
    if name not in names:
        raise OptionError(
            f"{option}: the model has no {option[:-1]} {name!r}; it has {', '.join(names)}"
        )
    return names.index(name)


class _Chain:
    """Operators added one after the other; they stand for none of the model file."""

    def __init__(self, graph: Graph, name: str, index: int) -> None:
        self._graph, self._name, self._index = graph, name, index

    def add(self, operator: str, *operands: Tensor, dtype: str = "float32", **attrs: Any) -> Tensor:
        result = Tensor(f"{self._name}/{operator.removeprefix('tflgpu.').lower()}", (), dtype)
        op = self._graph.add(Op(operator, operands, (result,), attrs, self._index))
        (result.shape,) = OPS[operator].infer(op)
        return result


def _per_channel(what: str, values: Sequence[float], channels: int) -> Array:
    """Numbers as a constant that broadcasts over pixels."""
    if len(values) not in (1, channels):
        fitting = " or ".join(map(str, sorted({1, channels})))
        raise OptionError(f"{what} has {len(values)} numbers; give {fitting}")
    return np.asarray(values if len(values) > 1 else values[0], np.float32)


def _check_shape(what: str, kind: str, image: Tensor, chosen: PictureFormat) -> None:
    """OptionError unless a model's tensor has the axes and channels of a picture."""
    if len(image.shape) != 4:
        raise OptionError(
            f"{what}: the model's {kind} has shape {list(image.shape)}, not [batch, height, width, "
            f"channels]"
        )
    count = image.shape[3]
    if not chosen.holds(count):
        raise OptionError(
            f"{what}: the model's {kind} has {count} channel{'s' * (count != 1)}, but "
            f"{chosen.kind} has {chosen.channels}"
        )


class _Pictures:
    """An input that becomes a picture."""

    def __init__(self, graph: Graph, name: str, position: int, chosen: PictureFormat) -> None:
        self._graph, self._position, self._chosen = graph, position, chosen
        self._what = f"inputs[{name!r}]"
        self._image = graph.inputs[position]
        self._chain = _Chain(graph, name, -1)
        self._name = name

    def insert(self) -> None:
        image, chosen = self._image, self._chosen
        _check_shape(self._what, "input", image, chosen)
        batch, rows, columns, channels = image.shape
        width, height = chosen.size or (columns, rows)
        shape = (batch, height, width, chosen.channels)
        picture = Tensor(f"{self._name}/{chosen.kind}", shape, "uint8")
        mean, std = self._normalization()
        self._graph.inputs[self._position] = picture
        part = _part((height, width), (rows, columns), chosen)
        resize = RESIZES[chosen.resize] if chosen.resize else ""
        if part[2:] == (rows, columns):
            resize = ""
        elif not resize:
            raise OptionError(
                f"{self._what}: a picture of {width}x{height} does not fit the model's input of "
                f"{columns}x{rows}; add resize=bilinear, or crop=center for larger pictures"
            )
        attrs: dict[str, Any] = dict(zip(("top", "left", "height", "width"), part, strict=True))
        attrs |= {"rows": rows, "columns": columns, "channels": channels, "resize": resize}
        value = self._chain.add(READ_PICTURE, picture, **attrs)
        if np.any(mean):
            value = self._chain.add("SUB", value, constant("mean", mean))
        if np.any(std != 1):
            value = self._chain.add("MUL", value, constant("1 / std", np.float32(1) / std))
        if image.dtype != "float32":
            self._graph.add(Op("QUANTIZE", (value,), (image,), {}, -1))
        else:
            self._graph.replace(image, value)

    def _normalization(self) -> tuple[Array, Array]:
        """Mean and std; by default such that the bytes are those of a quantized input."""
        image, chosen = self._image, self._chosen
        mean, std = chosen.mean or (0.0,), chosen.std or (1.0,)
        if image.dtype != "float32":
            quantization = image.quantization
            if image.dtype not in ("int8", "uint8") or quantization is None:
                raise OptionError(f"{self._what}: the model's input is {image.dtype}")
            if not (chosen.mean or chosen.std):
                below = 128 if image.dtype == "int8" else 0
                mean = (float(quantization.zero_point[0] + below),)
                std = (1 / quantization.scale[0],)
        channels = image.shape[3]
        return (
            _per_channel(f"{self._what}: mean", mean, channels),
            _per_channel(f"{self._what}: std", std, channels),
        )


def _part(
    picture: tuple[int, int], image: tuple[int, int], chosen: PictureFormat
) -> tuple[int, int, int, int]:
    """Top, left, height and width of the part of a picture that is read, in pixels."""
    height, width = picture
    if chosen.crop:
        rows, columns = image
        if not chosen.resize:
            height, width = min(rows, height), min(columns, width)
        elif width * rows > height * columns:
            width = max(round(height * columns / rows), 1)
        else:
            height = max(round(width * rows / columns), 1)
    return (picture[0] - height) // 2, (picture[1] - width) // 2, height, width


class _Result:
    """An output that becomes something else."""

    def __init__(self, graph: Graph, name: str, position: int) -> None:
        self._graph, self._position, self._name = graph, position, name
        self._tensor = graph.outputs[position]
        producer = graph.producer(self._tensor)
        self._chain = _Chain(graph, name, producer.index if producer else 0)

    def insert(self, chosen: PictureFormat | ScoresFormat) -> None:
        what = f"outputs[{self._name!r}]"
        if not self._tensor.shape:
            raise OptionError(f"{what}: the model's output is a single number")
        if isinstance(chosen, PictureFormat):
            result = self._picture(what, chosen)
        elif chosen.kind == "softmax":
            result = self._chain.add("SOFTMAX", self._real(what), beta=1.0)
        else:
            axis = constant("axis", np.asarray(-1, np.int32))
            result = self._chain.add("ARG_MAX", self._tensor, axis, dtype="int32")
        self._graph.outputs[self._position] = result

    def _real(self, what: str) -> Tensor:
        """The output as real numbers."""
        tensor = self._tensor
        if tensor.quantization is not None:
            return self._chain.add("DEQUANTIZE", tensor)
        if tensor.dtype != "float32":
            raise OptionError(f"{what}: the model's output is {tensor.dtype}, not real numbers")
        return tensor

    def _picture(self, what: str, chosen: PictureFormat) -> Tensor:
        _check_shape(what, "output", self._tensor, chosen)
        channels, value = self._tensor.shape[3], self._real(what)
        std = _per_channel(f"{what}: std", chosen.std or (1.0,), channels)
        mean = _per_channel(f"{what}: mean", chosen.mean or (0.0,), channels)
        if np.any(std != 1):
            value = self._chain.add("MUL", value, constant("std", std))
        if np.any(mean):
            value = self._chain.add("ADD", value, constant("mean", mean))
        value = self._chain.add("ROUND", value)
        for name, bound in (("MAXIMUM", 0), ("MINIMUM", 255)):
            limit = constant("bound", np.asarray(bound, np.float32))
            value = self._chain.add(name, value, limit)
        if channels < chosen.channels:
            value = self._chain.add(ADD_ALPHA, value)
        return self._chain.add(FROM_CENTERED, value, dtype="uint8", zero_point=0)
