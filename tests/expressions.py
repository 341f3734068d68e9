"""Small models written as expressions: `call("RELU", call("ADD", x(2, 5), w(5)))`.

An expression is a value: an input of the model, a constant, or the result of an operator. Naming a
few of them with `model` makes a graph with one output each, in which every input, constant and
output has a name that begins with the expression's. What inputs and constants hold is drawn from a
seed that follows from their name, so that adding a model changes no other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from tflgpu.compiler.frontend.custom_options import custom_attrs
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Shape, Tensor
from tflgpu.compiler.ops import OPS

Array = NDArray[Any]
Random = np.random.Generator

DRAWS: dict[str, Callable[[Random, Shape], Array]] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "positive": lambda random, shape: random.uniform(0.1, 5, shape),
    "away from zero": lambda random, shape: (
        random.uniform(0.5, 3, shape) * random.choice([-1.0, 1.0], shape)
    ),
    "deep": lambda random, shape: random.uniform(-3e5, -2e4, shape),
    "wide": lambda random, shape: random.uniform(-30, 30, shape),
    "small": lambda random, shape: random.integers(-50, 50, shape),
    "counts": lambda random, shape: random.integers(1, 9, shape),
    "places": lambda random, shape: random.integers(0, 2, shape),
    "large": lambda random, shape: random.integers(-(2**20), 2**20, shape),
    "truth": lambda random, shape: random.integers(0, 2, shape),
    "with ties": lambda random, shape: random.integers(-3, 3, shape) + 0.5,
}
"""How values are drawn, by name."""

VERSIONS = {"BROADCAST_TO": 2}
"""Versions of operators of which LiteRT has no first one."""


@dataclass(frozen=True, eq=False)
class Input:
    """An input of the model."""

    shape: Shape
    draw: str = "normal"
    dtype: str = "float32"


@dataclass(frozen=True, eq=False)
class Constant:
    """A constant: the values given, or float32 drawn for its shape."""

    shape: Shape
    draw: str = "normal"
    values: Array | None = None
    quantization: Quantization | None = None


@dataclass(frozen=True, eq=False)
class State:
    """What the model keeps from run to run; zeros at first."""

    shape: Shape


@dataclass(frozen=True, eq=False)
class Call:
    """An operator applied to values; `shapes` where they do not follow from constants alone."""

    operator: str
    operands: tuple[Value | None, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    shapes: tuple[Shape, ...] | None = None
    dtype: str = "float32"
    outputs: int = 1
    dtypes: tuple[str, ...] = ()
    """Types of the outputs where they differ."""


@dataclass(frozen=True, eq=False)
class Part:
    """One output of an operator that has several."""

    call: Call
    position: int


Value = Input | Constant | State | Call | Part

SOURCES = {Input: "in", Constant: "constant", State: "state"}
"""What names of values begin with that no operator computes."""


def x(*shape: int, draw: str = "normal") -> Input:
    """An input of the model."""
    return Input(shape, draw)


def xi(*shape: int, draw: str = "small", dtype: str = "int32") -> Input:
    """An input of the model that holds integers, or truth values."""
    return Input(shape, "truth" if dtype == "bool" else draw, dtype)


def w(*shape: int, draw: str = "normal") -> Constant:
    """A drawn constant."""
    return Constant(shape, draw)


def ints(*values: int) -> Constant:
    """A constant vector of int32."""
    return Constant((len(values),), values=np.array(values, np.int32))


def known(values: Array | np.generic, quantization: Quantization | None = None) -> Constant:
    """A constant of those values."""
    return Constant(values.shape, values=np.asarray(values), quantization=quantization)


def call(operator: str, *operands: Value | None, **attrs: Any) -> Call:
    """An operator with one output, whose shape follows from its operands."""
    return Call(operator, operands, attrs)


def typed(dtype: str, operator: str, *operands: Value | None, **attrs: Any) -> Call:
    """An operator with one output that is no float32."""
    return Call(operator, operands, attrs, dtype=dtype)


def parts(operator: str, count: int, *operands: Value, **attrs: Any) -> tuple[Part, ...]:
    """The outputs of an operator that has several."""
    whole = Call(operator, operands, attrs, outputs=count)
    return tuple(Part(whole, position) for position in range(count))


def largest(values: Value, count: int) -> list[Value]:
    """The largest floats of each row, and their places."""
    operands = (values, known(np.array(count, np.int32)))
    whole = Call("TOPK_V2", operands, outputs=2, dtypes=("float32", "int32"))
    return [Part(whole, 0), Part(whole, 1)]


@dataclass(frozen=True)
class Model:
    """A graph, its .tflite file, and an array for each of its inputs."""

    graph: Graph
    content: bytes
    inputs: Mapping[str, Array]


def model(expressions: Mapping[str, Value | Sequence[Value]]) -> Model:
    """The model that computes the named expressions; several values give several outputs."""
    builder = _Builder()
    for name, values in expressions.items():
        listed = values if isinstance(values, Sequence) else [values]
        builder.begin(name)
        for position, value in enumerate(listed):
            tensor = builder.tensor(value)
            tensor.name = f"{name}:{position}" if len(listed) > 1 else name
            builder.graph.outputs.append(tensor)
            builder.graph.output_names.append(tensor.name)
    return Model(builder.graph, write(builder.graph), builder.inputs)


class _Builder:
    """A graph while it grows: the tensor of each value met so far."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.inputs: dict[str, Array] = {}
        self.prefix = ""
        self._tensors: dict[Value, Tensor] = {}
        self._calls: dict[Call, tuple[Tensor, ...]] = {}

    def begin(self, name: str) -> None:
        """What follows belongs to that expression; it shares nothing with those before."""
        self.prefix = name
        self._tensors.clear()
        self._calls.clear()

    def tensor(self, value: Value) -> Tensor:
        if isinstance(value, Call):
            return self._results(value)[0]
        if isinstance(value, Part):
            return self._results(value.call)[value.position]
        if value not in self._tensors:
            self._tensors[value] = self._source(value)
        return self._tensors[value]

    def _source(self, value: Input | Constant | State) -> Tensor:
        name = f"{self.prefix}/{SOURCES[type(value)]}"
        name += str(sum(tensor.name.startswith(f"{name}") for tensor in self._tensors.values()))
        if isinstance(value, State):
            return Tensor(name, value.shape, variable=True)
        values = value.values if isinstance(value, Constant) else None
        if values is None:
            random = np.random.default_rng(crc32(name.encode()))
            values = DRAWS[value.draw](random, value.shape).astype(np.float32)
        if isinstance(value, Constant):
            return Tensor(name, value.shape, values.dtype.name, values, value.quantization)
        values = values.astype(value.dtype)
        tensor = Tensor(name, value.shape, value.dtype)
        self.graph.inputs.append(tensor)
        self.graph.input_names.append(name)
        self.inputs[name] = values
        return tensor

    def _results(self, value: Call) -> tuple[Tensor, ...]:
        if value not in self._calls:
            operands = tuple(None if o is None else self.tensor(o) for o in value.operands)
            number = len(self.graph)
            names = [f"{self.prefix}/{value.operator}{number}.{i}" for i in range(value.outputs)]
            dtypes = value.dtypes or (value.dtype,) * value.outputs
            results = tuple(map(Tensor, names, [()] * value.outputs, dtypes))
            version = VERSIONS.get(value.operator, 1)
            op = Op(value.operator, operands, results, dict(value.attrs), number, version)
            for tensor, shape in zip(results, value.shapes or _shapes(op), strict=True):
                tensor.shape = tuple(int(size) for size in shape)
            self._calls[value] = self.graph.add(op).outputs
        return self._calls[value]


def _shapes(op: Op) -> Sequence[Shape]:
    """What the compiler infers; LiteRT infers anew, so an error there shows in the comparison."""
    raw = op.attrs.get("custom_options")
    attrs = {**op.attrs, **custom_attrs(op.name, raw)} if raw else op.attrs
    return OPS[op.name].infer(Op(op.name, op.inputs, op.outputs, attrs, op.index))
