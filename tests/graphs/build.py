"""Small models from expressions: a graph, its .tflite file, and an array for each input.

Naming a few expressions with `model` makes a graph with one output each, in which every input,
constant and output has a name that begins with the expression's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflgpu.compiler.frontend.custom_options import custom_attrs
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Op, Shape, Tensor
from tflgpu.compiler.ops import OPS

from .draws import drawn
from .values import Body, Call, Constant, Input, Part, State, Value

VERSIONS = {"BROADCAST_TO": 2}  # Versions of operators of which LiteRT has no first one.

QUANTIZED_TYPES = ("int8", "uint8", "int16")

# What names of values begin with that no operator computes.
SOURCES = {Input: "in", Constant: "constant", State: "state"}


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
        if isinstance(value, Constant):
            values = value.values
            if values is None:
                values = drawn(name, value.shape, value.draw)
            dtype = value.dtype or values.dtype.name
            quantized = value.quantization
            return Tensor(name, value.shape, dtype, values, quantized, blocks=value.blocks)
        tensor = Tensor(name, value.shape, value.dtype, quantization=value.quantization)
        self.graph.inputs.append(tensor)
        self.graph.input_names.append(name)
        self.inputs[name] = drawn(name, value.shape, value.draw, value.dtype)
        return tensor

    def _results(self, value: Call) -> tuple[Tensor, ...]:
        if value not in self._calls:
            operands = tuple(None if o is None else self.tensor(o) for o in value.operands)
            number = len(self.graph)
            names = [f"{self.prefix}/{value.operator}{number}.{i}" for i in range(value.outputs)]
            dtypes = value.dtypes or (value.dtype,) * value.outputs
            results = tuple(map(Tensor, names, [()] * value.outputs, dtypes))
            version = VERSIONS.get(value.operator, 1)
            attrs = {
                key: self._subgraph(option) if isinstance(option, Body) else option
                for key, option in value.attrs.items()
            }
            op = Op(value.operator, operands, results, attrs, number, version)
            for tensor, shape in zip(results, value.shapes or _shapes(op), strict=True):
                tensor.shape = tuple(int(size) for size in shape)
                if tensor.dtype in (*QUANTIZED_TYPES, value.dtype):
                    tensor.quantization = value.quantization
            self._calls[value] = self.graph.add(op).outputs
        return self._calls[value]

    def _subgraph(self, body: Body) -> int:
        """The index of a new subgraph."""
        index = len(self.graph.subgraphs) + 1
        inner = _Builder()
        inner.begin(f"{self.prefix}/subgraph{index}")
        for operand in body.operands:
            inner.tensor(operand)
        inner.graph.outputs.append(inner.tensor(body.result))
        inner.graph.output_names.append(f"{inner.prefix}/result")
        self.graph.subgraphs[index] = inner.graph
        return index


def _shapes(op: Op) -> Sequence[Shape]:
    """What the compiler infers; LiteRT infers anew, so an error there shows in the comparison."""
    raw = op.attrs.get("custom_options")
    attrs = {**op.attrs, **custom_attrs(op.name, raw)} if raw else op.attrs
    return OPS[op.name].infer(Op(op.name, op.inputs, op.outputs, attrs, op.index))
