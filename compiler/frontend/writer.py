"""The writer: from a graph to a .tflite file, the inverse of the reader.

It hands parts of a graph to LiteRT. Equal graphs give equal bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import flatbuffers
import numpy as np

from ..errors import ModelError, PassError
from ..ir import Graph, Op, Tensor
from ..tflite_schema import (
    CUSTOM,
    DTYPES,
    ENUMERATIONS,
    IDENTIFIER,
    OWN_PREFIX,
    VERSION,
    Field,
    OptionTable,
    generated,
    operator_code,
    option_table_of,
    refers_to_subgraph,
)
from .constants import encode
from .quantization import DETAILS, write_blocks

LARGEST = 2**31 - 1  # Most bytes of a flatbuffer.
_ALIGNMENT = 16  # Alignment of buffers in bytes, as the schema requires.

_DTYPE_NUMBERS = {name: number for number, name in DTYPES.items()}

# The largest operator number in the deprecated field; newer operators put this number there.
_LARGEST_DEPRECATED_CODE = 127


def write(graph: Graph) -> bytes:
    """A .tflite file with the graph and the subgraphs that its operators refer to.

    Inputs and outputs have the graph's `input_names` and `output_names`. PassError for anything
    that TFLite cannot express: fused operators, tflgpu's own operators, options not in the schema.
    ModelError if the file would exceed the size of a flatbuffer.
    """
    return _Writer(graph).file()


class _Writer:
    """Writes one file. A flatbuffer is written from the leaves up."""

    def __init__(self, graph: Graph) -> None:
        self.graphs = [graph, *graph.subgraphs.values()]
        self.places = {index: place for place, index in enumerate(graph.subgraphs, start=1)}
        self.codes: dict[tuple[str, int], int] = {}
        # The buffers; the first stays empty, for tensors without content.
        self.contents: list[bytes] = [b""]
        self.builder = flatbuffers.Builder(1024)

    def file(self) -> bytes:
        subgraphs = [self._subgraph(graph) for graph in self.graphs]
        if sum(map(len, self.contents)) + self.builder.Offset() > LARGEST:
            raise ModelError("the constants exceed the 2 GiB that a .tflite file can hold")
        buffers = [self._table("Buffer", Data=self._content(data)) for data in self.contents]
        model = self._table(
            "Model",
            Version=VERSION,
            OperatorCodes=self._offsets([self._code(*code) for code in self.codes]),
            Subgraphs=self._offsets(subgraphs),
            Description=self.builder.CreateString("written by tflgpu"),
            Buffers=self._offsets(buffers),
        )
        self.builder.Finish(model, IDENTIFIER)
        return bytes(self.builder.Output())

    # -- flatbuffers ------------------------------------------------------------------------

    def _table(self, name: str, /, **fields: Any) -> int:
        """A table of the schema; fields that are None are left out."""
        generated(f"{name}Start")(self.builder)
        for field, value in fields.items():
            if value is not None:
                generated(f"{name}Add{field}")(self.builder, value)
        return int(generated(f"{name}End")(self.builder))

    def _numbers(self, values: Iterable[Any], dtype: str) -> int:
        return int(self.builder.CreateNumpyVector(np.array(list(values), dtype)))

    def _offsets(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def _content(self, data: bytes) -> int | None:
        """An aligned vector of bytes, for which flatbuffers has no function."""
        if not data:
            return None
        self.builder.StartVector(1, len(data), _ALIGNMENT)
        head = self.builder.head = self.builder.Head() - len(data)
        self.builder.Bytes[head : head + len(data)] = data
        return int(self.builder.EndVector())

    # -- tensors ----------------------------------------------------------------------------

    def _subgraph(self, graph: Graph) -> int:
        indices: dict[Tensor, int] = {}
        ops = graph.ops
        for tensor in (*graph.inputs, *(t for op in ops for t in _tensors(op)), *graph.outputs):
            indices.setdefault(tensor, len(indices))
        names = {tensor: tensor.name for tensor in indices}
        names.update(zip(graph.outputs, graph.output_names, strict=False))
        names.update(zip(graph.inputs, graph.input_names, strict=False))
        tensors = [self._tensor(tensor, names[tensor], indices) for tensor in indices]
        operators = [self._operator(op, indices) for op in ops]
        return self._table(
            "SubGraph",
            Tensors=self._offsets(tensors),
            Inputs=self._numbers((indices[t] for t in graph.inputs), "int32"),
            Outputs=self._numbers((indices[t] for t in graph.outputs), "int32"),
            Operators=self._offsets(operators),
            Name=self.builder.CreateString(graph.name),
        )

    def _tensor(self, tensor: Tensor, name: str, indices: Mapping[Tensor, int]) -> int:
        buffer = 0
        if tensor.data is not None and tensor.data.size:
            buffer = len(self.contents)
            self.contents.append(encode(tensor.data, tensor.dtype))
        signature = tensor.signature
        if signature is not None and len(signature) != len(tensor.shape):
            signature = None
        return self._table(
            "Tensor",
            Shape=self._numbers(tensor.shape, "int32"),
            ShapeSignature=None if signature is None else self._numbers(signature, "int32"),
            Type=_DTYPE_NUMBERS[tensor.dtype],
            Buffer=buffer,
            Name=self.builder.CreateString(name),
            Quantization=self._quantization(tensor, indices),
            IsVariable=tensor.variable,
            HasRank=True,
        )

    def _quantization(self, tensor: Tensor, indices: Mapping[Tensor, int]) -> int | None:
        if tensor.blocks is not None:
            blocks = tensor.blocks
            zero_points = -1 if blocks.zero_points is None else indices[blocks.zero_points]
            return self._table(
                "QuantizationParameters",
                DetailsType=DETAILS,
                Details=write_blocks(
                    self.builder, indices[blocks.scales], zero_points, blocks.size
                ),
            )
        if tensor.quantization is None:
            return None
        return self._table(
            "QuantizationParameters",
            Scale=self._numbers(tensor.quantization.scale, "float32"),
            ZeroPoint=self._numbers(tensor.quantization.zero_point, "int64"),
            QuantizedDimension=tensor.quantization.axis,
        )

    # -- operators --------------------------------------------------------------------------

    def _operator(self, op: Op, indices: Mapping[Tensor, int]) -> int:
        if op.epilogue or op.name.startswith(OWN_PREFIX):
            raise PassError(f"TFLite has no operator for {op}")
        inputs = [-1 if tensor is None else indices[tensor] for tensor in op.inputs]
        intermediates = [indices[tensor] for tensor in op.intermediates]
        return self._table(
            "Operator",
            OpcodeIndex=self.codes.setdefault((op.name, op.version), len(self.codes)),
            Inputs=self._numbers(inputs, "int32"),
            Outputs=self._numbers((indices[tensor] for tensor in op.outputs), "int32"),
            Intermediates=self._numbers(intermediates, "int32") if intermediates else None,
            **self._options(op),
        )

    def _code(self, name: str, version: int) -> int:
        number, custom = operator_code(name)
        return self._table(
            "OperatorCode",
            DeprecatedBuiltinCode=min(number, _LARGEST_DEPRECATED_CODE),
            CustomCode=None if custom is None else self.builder.CreateString(custom),
            Version=version,
            BuiltinCode=number,
        )

    def _options(self, op: Op) -> dict[str, int]:
        """The fields of an operator's table that hold its options."""
        if operator_code(op.name)[0] == CUSTOM:
            raw = op.attrs.get("custom_options", b"")
            return {"CustomOptions": self._numbers(raw, "uint8")} if raw else {}
        table = option_table_of(op.name)
        unknown = set(op.attrs) - {field.key for field in (table.fields if table else ())}
        if unknown:
            raise PassError(f"TFLite's {op.name} has no option {', '.join(sorted(unknown))}: {op}")
        if table is None or not op.attrs:
            return {}
        suffix = "2" if table.second else ""
        return {
            f"BuiltinOptions{suffix}Type": table.number,
            f"BuiltinOptions{suffix}": self._option_table(table, op),
        }

    def _option_table(self, table: OptionTable, op: Op) -> int:
        values = {
            field.accessor: self._option(field, op)
            for field in table.fields
            if field.key in op.attrs
        }
        return self._table(table.name, **values)

    def _option(self, field: Field, op: Op) -> Any:
        value = op.attrs[field.key]
        if refers_to_subgraph(field.key):
            value = self._renumbered(op, value)
        if field.vector:
            return self._numbers(value, field.element)
        if field.key in ENUMERATIONS:
            for number, name in ENUMERATIONS[field.key].items():
                if name == value:
                    return number
            raise PassError(f"TFLite has no {field.key} called {value}: {op}")
        if isinstance(value, str):
            return self.builder.CreateString(value)
        return value

    def _renumbered(self, op: Op, value: Any) -> Any:
        """The number of a subgraph in the file, or those of several."""
        if isinstance(value, tuple):
            return tuple(self._renumbered(op, each) for each in value)
        if value not in self.places:
            raise PassError(f"the graph has no subgraph {value}: {op}")
        return self.places[value]


def _tensors(op: Op) -> Iterator[Tensor]:
    """The tensors that an operator refers to, and those that their quantization refers to."""
    for tensor in (*op.inputs, *op.outputs, *op.intermediates):
        if tensor is not None:
            yield tensor
            if tensor.blocks is not None:
                yield from (t for t in (tensor.blocks.scales, tensor.blocks.zero_points) if t)
