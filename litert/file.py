"""What a .tflite file says of its tensors, operators and signatures, under LiteRT's numbers.

The compiler's reader checks a model and makes a graph of it. LiteRT's interface shows the file as
it is: names that several tensors share, tensors that nothing uses, and the indices of both.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..compiler.errors import ModelError
from ..compiler.frontend.constants import decode
from ..compiler.frontend.flatbuffer import Source
from ..compiler.frontend.model_file import ModelFile, mapped
from ..compiler.frontend.quantization import read_blocks
from ..compiler.frontend.sparsity import read_indices
from ..compiler.ir import Array, Shape
from ..compiler.tflite_schema import DENSE, DTYPES

Model = str | bytes  # The path of a model file, or its content.


@dataclass(frozen=True)
class FileTensor:
    name: str
    shape: Shape
    # The shape with -1 for each size that the file leaves open; empty if it leaves none.
    shape_signature: Shape
    dtype: str
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    quantized_dimension: int
    # For blockwise quantization: the tensors of scales and zero points, and values per scale.
    blocks: tuple[int, int, int] | None
    # LiteRT's dictionary of how a sparse constant is stored; empty if it is not sparse.
    sparsity: Mapping[str, Any]
    variable: bool  # Whether it keeps its content between runs.
    buffer: int  # The buffer with its content, if it is a constant.


@dataclass(frozen=True)
class FileOperator:
    """An operator, and the indices of the tensors that it reads and writes; -1 for none."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class FileSignature:
    """A signature: a subgraph's tensors, in its order, by the names of the application."""

    subgraph: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True)
class FileSubgraph:
    """A subgraph: its tensors by index, and what the caller gives and gets."""

    tensors: tuple[FileTensor, ...]
    names: tuple[str, ...]  # The compiler's name of each tensor, which no other has.
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class File:
    """An open model file. ModelError if it cannot be read or is damaged."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._name = "model" if isinstance(model, bytes) else model
        content = model if isinstance(model, bytes) else mapped(model)
        self._opened = None if isinstance(model, bytes) else os.stat(model)
        self._source = Source(memoryview(content))
        with self._source.at(self._name):
            self._file = ModelFile(self._source)
        self._subgraphs: dict[int, FileSubgraph] = {}

    def model(self) -> Model:
        """The path while this file lies there, or else the content, as it was when it was opened"""
        if self._opened is not None:
            with suppress(OSError):
                if os.path.samestat(self._opened, os.stat(self._name)):
                    return self._model
        return bytes(self._source.data)

    def __len__(self) -> int:
        return len(self._file.subgraphs)

    def subgraph(self, index: int) -> FileSubgraph:
        if index not in self._subgraphs:
            with self._source.at(self._name):
                self._subgraphs[index] = self._read(index)
        return self._subgraphs[index]

    @cached_property
    def operators(self) -> Sequence[FileOperator]:
        """The operators of the first subgraph (ModelError)."""
        with self._source.at(self._name):
            numbers, codes = self._source.numbers, self._file.codes
            return [
                FileOperator(
                    codes[table.OpcodeIndex()][0],
                    numbers(table, "Inputs"),
                    numbers(table, "Outputs"),
                )
                for table in self._source.children(self._file.subgraphs[0], "Operators")
            ]

    @cached_property
    def widened(self) -> frozenset[int]:
        """The int8 weights that LiteRT's delegate for CPUs gives a scale for each row."""
        tensors = self.subgraph(0).tensors
        weighted = [operator for operator in self.operators if len(operator.inputs) > 1]
        return frozenset(
            operator.inputs[1]
            for operator in weighted
            if tensors[operator.inputs[1]].dtype == "int8"
            if operator.name == "FULLY_CONNECTED"
            or (operator.name == "CONV_2D" and tensors[operator.inputs[0]].dtype == "float32")
        )

    @cached_property
    def signatures(self) -> Mapping[str, FileSignature]:
        """The signatures by key (ModelError)."""
        with self._source.at(self._name):
            return {
                self._source.text(table, "SignatureKey"): self._signature(table)
                for table in self._source.children(self._file.root, "SignatureDefs")
            }

    def _signature(self, table: Any) -> FileSignature:
        number = table.SubgraphIndex()
        if number >= len(self):
            raise ModelError(f"a signature refers to subgraph {number}, of {len(self)}")
        subgraph = self.subgraph(number)
        inputs = self._named(table, "Inputs", subgraph.inputs)
        return FileSignature(number, inputs, self._named(table, "Outputs", subgraph.outputs))

    def constant(self, tensor: FileTensor) -> Array | None:
        """The content of a tensor; None if it has none in the file (ModelError)."""
        with self._source.at(f"{self._name}: tensor {tensor.name}"):
            raw = self._file.buffer(tensor.buffer)
            return decode(self._source, raw, tensor.dtype, tensor.shape) if len(raw) else None

    def block_scales(self, subgraph: FileSubgraph, tensor: FileTensor) -> Array | None:
        """The scale of each block of a tensor; None if it has none (ModelError)."""
        if tensor.blocks is None:
            return None
        scales, _, _ = tensor.blocks
        if not 0 <= scales < len(subgraph.tensors):
            raise ModelError(f"tensor {tensor.name} has its scales in tensor {scales}")
        content = self.constant(subgraph.tensors[scales])
        return None if content is None else content.reshape(-1)

    def _named(self, table: Any, field: str, order: Sequence[int]) -> dict[str, int]:
        """Tensor indices by name, in this order; those that it lacks are last."""
        entries = self._source.children(table, field)
        found = {self._source.text(entry, "Name"): int(entry.TensorIndex()) for entry in entries}
        places = {index: place for place, index in enumerate(order)}
        return dict(sorted(found.items(), key=lambda item: places.get(item[1], len(places))))

    def _read(self, index: int) -> FileSubgraph:
        table = self._file.subgraphs[index]
        numbers = self._source.numbers
        tensors = tuple(self._tensor(item) for item in self._source.children(table, "Tensors"))
        found = FileSubgraph(
            tensors,
            tuple(self._file.tensor_names(index)),
            numbers(table, "Inputs"),
            numbers(table, "Outputs"),
        )
        for number in (*found.inputs, *found.outputs):
            if not 0 <= number < len(tensors):
                raise ModelError(f"subgraph {index} has no tensor {number}")
        return found

    def _tensor(self, table: Any) -> FileTensor:
        numbers = self._source.numbers
        quantization = table.Quantization()
        scales = () if quantization is None else numbers(quantization, "Scale")
        zero_points = () if quantization is None else numbers(quantization, "ZeroPoint")
        return FileTensor(
            self._source.text(table, "Name"),
            numbers(table, "Shape"),
            numbers(table, "ShapeSignature"),
            DTYPES.get(table.Type(), ""),
            scales,
            zero_points * len(scales) if len(zero_points) == 1 else zero_points,
            0 if quantization is None else quantization.QuantizedDimension(),
            None if quantization is None else read_blocks(quantization),
            self._sparsity(table.Sparsity()),
            bool(table.IsVariable()),
            table.Buffer(),
        )

    def _sparsity(self, table: Any) -> dict[str, Any]:
        if table is None:
            return {}
        numbers = self._source.numbers
        return {
            "traversal_order": np.array(numbers(table, "TraversalOrder"), np.int32),
            "block_map": np.array(numbers(table, "BlockMap"), np.int32),
            "dim_metadata": [
                self._level(level) for level in self._source.children(table, "DimMetadata")
            ],
        }

    def _level(self, level: Any) -> dict[str, Any]:
        """A dimension of a sparse tensor: dense, or with segments and indices."""
        if level.Format() == DENSE:
            return {"format": 0, "dense_size": level.DenseSize()}
        segments = read_indices(self._source, level.ArraySegmentsType(), level.ArraySegments())
        indices = read_indices(self._source, level.ArrayIndicesType(), level.ArrayIndices())
        return {
            "format": 1,
            "array_segments": segments.astype(np.int32),
            "array_indices": indices.astype(np.int32),
        }
