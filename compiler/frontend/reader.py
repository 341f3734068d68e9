"""The reader: from a .tflite file to a graph.

Nothing in the file is trusted: every index is checked, every length is bounded, and every fault
becomes a ModelError that names the operator or tensor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...runtime.litert.dataflow import OMITTED
from ...runtime.printable import printable
from ..errors import ModelError
from ..ir import Array, Blocks, Graph, Op, Origin, Shape, Signature, Tensor
from ..ir.sizes import Resized, Sizes, sizes_of
from ..ops.base.operands import operands_of
from ..tflite_schema import DTYPES
from .constants import Bytes, byte_size, decode, first_contents
from .flatbuffer import Source
from .model_file import Model, ModelFile, content_of, distinct, name_of, release
from .operator_options import operator_options, subgraphs_of
from .quantization import read_blocks, read_quantization
from .sparsity import densify

OPERANDS = 500_000  # Most operands of all operators together.


def read(
    source: Model, input_shapes: Mapping[str, Shape] | None = None, signature: str | None = None
) -> Graph:
    """The graph of a model's first subgraph, or of a signature's subgraph.

    A signature also names the inputs and outputs. `input_shapes` replaces the shapes of inputs, by
    name; computed tensors keep the shapes in the file. Constants are views of the file. ModelError
    if the file cannot be read or is not a valid model.
    """
    content = content_of(source)
    data = Source(memoryview(content))
    with data.at(name_of(source)):
        model = ModelFile(data)
        signatures = model.signatures()
        chosen = None if signature is None else _find(signatures, signature)
        subgraph = _Subgraph(model, chosen.subgraph if chosen else 0, chosen)
        graph = subgraph.graph(input_shapes or {})
        graph.signatures = signatures
        graph.subgraphs = _referred(model, subgraph)
        graph.verify()
    if not isinstance(content, bytes):
        graph.release = partial(release, content)
    return graph


def read_signatures(source: Model) -> list[Signature]:
    """The signatures of a model, in the order of the file (ModelError)."""
    data = Source(memoryview(content_of(source)))
    with data.at(name_of(source)):
        return ModelFile(data).signatures()


def _find(signatures: Sequence[Signature], key: str) -> Signature:
    for signature in signatures:
        if signature.key == key:
            return signature
    keys = ", ".join(signature.key for signature in signatures) or "none"
    raise ModelError(f"it has no signature {key}; its signatures are {keys}")


def _referred(model: ModelFile, subgraph: _Subgraph) -> dict[int, Graph]:
    """The subgraphs that a subgraph's operators refer to, directly or indirectly, by index."""
    graphs: dict[int, Graph] = {}
    waiting = list(subgraph.subgraphs)
    while waiting:
        index = waiting.pop(0)
        if index not in graphs:
            with model.source.at(f"subgraph {index}"):
                subgraph = _Subgraph(model, index)
                graphs[index] = subgraph.graph({})
                graphs[index].verify()
            waiting.extend(subgraph.subgraphs)
    return dict(sorted(graphs.items()))


class _Subgraph:
    def __init__(self, model: ModelFile, index: int, signature: Signature | None = None) -> None:
        self.model = model
        self.source = model.source
        self.table = model.subgraphs[index]
        self.names = model.tensor_names(index)
        self.inputs = self._indices(self.table, "Inputs")
        for index, count in Counter(self.inputs).items():
            if count > 1:
                raise ModelError(
                    f"tensor {index} {printable(self.names[index])} is {count} of its inputs"
                )
        self.outputs = self._indices(self.table, "Outputs")
        if signature:
            # It may name any tensor, and one more often than the subgraph has it as an output.
            places = {name: index for index, name in enumerate(self.names)}
            named = Counter(places[tensor] for tensor in signature.outputs.values())
            self.outputs += tuple((named - Counter(self.outputs)).elements())
        self.input_names = self._called(self.inputs, signature.inputs if signature else {})
        self.output_names = self._called(self.outputs, signature.outputs if signature else {})
        self.tensors: list[Tensor] = []
        self.filed: dict[int, Shape] = {}  # The shapes in the file of inputs with chosen ones.
        # Indices of the subgraphs its operators refer to, in order.
        self.subgraphs: dict[int, None] = {}

    def _called(self, indices: Sequence[int], given: Mapping[str, str]) -> list[str]:
        """The names of inputs or outputs: those of a signature, or else the tensors' own.

        `given` maps a signature's names to tensor names; one that is empty counts for none. A name
        that is taken gets a number.
        """
        # A tensor may be several outputs, each with a name of its own.
        names: dict[str, list[str]] = {}
        for name, tensor in given.items():
            names.setdefault(tensor, []).append(name)
        called = []
        for index in indices:
            left = names.get(self.names[index], [])
            called.append((left.pop(0) if left else "") or self.names[index])
        return distinct(called)

    def _indices(self, table: Any, field: str, lowest: int = 0) -> tuple[int, ...]:
        """A vector of tensor indices, at least `lowest`; -1 is an operand left out (ModelError)."""
        indices: tuple[int, ...] = self.source.numbers(table, field)
        for index in indices:
            if not lowest <= index < len(self.names):
                raise ModelError(
                    f"its {field.lower()} refer to tensor {index}, but the subgraph has "
                    f"{len(self.names)}"
                )
        return indices

    def graph(self, input_shapes: Mapping[str, Shape]) -> Graph:
        """The graph of the whole subgraph."""
        graph = Graph(self.source.text(self.table, "Name") or "model")
        shapes = self._chosen_shapes(input_shapes)
        tables = self.source.children(self.table, "Tensors")
        for index, table in enumerate(tables):
            with self.source.at(f"tensor {index} {self.names[index]}"):
                self.tensors.append(self._tensor(index, table, shapes.get(index)))
        # Blocks refer to other tensors, so they can only be read once all tensors exist.
        for index, table in enumerate(tables):
            with self.source.at(f"tensor {index} {self.names[index]}"):
                self.tensors[index].blocks = self._blocks(table)
        ops = [
            self._operator(index, table)
            for index, table in enumerate(self.source.children(self.table, "Operators"))
        ]
        self._fill_empty(ops)
        graph.contents = first_contents(self.tensors, ops)
        self._check_order(ops)
        for op in ops:
            graph.add(op)
        graph.inputs = [self.tensors[index] for index in self.inputs]
        graph.outputs = [self.tensors[index] for index in self.outputs]
        graph.input_names = list(self.input_names)
        graph.output_names = list(self.output_names)
        graph.resized = Resized(self._changed_sizes())
        return graph

    def _changed_sizes(self) -> dict[Tensor, Sizes]:
        """Sizes of inputs with other shapes; none if the file, made for all, leaves any open."""
        if any(min(self.tensors[index].signature or (), default=0) < 0 for index in self.inputs):
            return {}
        filed = {self.tensors[index]: shape for index, shape in self.filed.items()}
        return {
            tensor: sizes_of(shape, tensor.shape)
            for tensor, shape in filed.items()
            if shape != tensor.shape and len(shape) == len(tensor.shape)
        }

    # -- tensors ----------------------------------------------------------------------------

    def _chosen_shapes(self, input_shapes: Mapping[str, Shape]) -> dict[int, Shape]:
        """The shapes in `input_shapes` by tensor index (ModelError for an unknown input)."""
        by_name = dict(zip(self.input_names, self.inputs, strict=True))
        unknown = [name for name in input_shapes if name not in by_name]
        if unknown:
            raise ModelError(f"it has no input {unknown[0]}; its inputs are {', '.join(by_name)}")
        for name, shape in input_shapes.items():
            if any(size < 1 for size in shape):
                raise ModelError(
                    f"input {name} cannot have the shape {list(shape)}: sizes must be at least 1"
                )
        return {by_name[name]: tuple(shape) for name, shape in input_shapes.items()}

    def _tensor(self, index: int, table: Any, chosen: Shape | None) -> Tensor:
        name = self.names[index]
        if table.Type() not in DTYPES:
            raise ModelError(f"its element type {table.Type()} is unknown")
        dtype = DTYPES[table.Type()]
        shape: Shape = self.source.numbers(table, "Shape")
        if chosen is not None:
            # If the file has neither a shape nor a rank, the caller determines both.
            if len(chosen) != len(shape) and (shape or table.HasRank()):
                raise ModelError(
                    f"the given shape {list(chosen)} does not fit: the input has {len(shape)} "
                    f"dimensions, {list(shape)}"
                )
            self.filed[index] = shape
            shape = chosen
        if any(size < 0 for size in shape) and index in self.inputs:
            sizes = ",".join(str(size) if size >= 0 else "N" for size in shape)
            called = self.input_names[self.inputs.index(index)]
            raise ModelError(
                f"its shape {list(shape)} has open sizes; give --input-shape {called}={sizes}"
            )
        byte_size(dtype, shape)
        tensor = Tensor(name, shape, dtype, variable=bool(table.IsVariable()))
        tensor.signature = self.source.numbers(table, "ShapeSignature") or None
        tensor.quantization = read_quantization(self.source, table, len(shape))
        raw = self.model.buffer(table.Buffer())
        # The caller's values take the place of what the file has for an input.
        if len(raw) and index not in self.inputs:
            if tensor.variable:
                raise ModelError("it is both a variable and a constant")
            tensor.content = self._content(table, raw, dtype, shape)
            tensor.tied = table.Buffer() in self.model.tied
        return tensor

    def _content(self, table: Any, raw: Bytes, dtype: str, shape: Shape) -> Array:
        sparsity = table.Sparsity()
        if sparsity is not None:
            return densify(self.source, raw, dtype, shape, sparsity)
        return decode(self.source, raw, dtype, shape)

    def _blocks(self, table: Any) -> Blocks | None:
        parameters = table.Quantization()
        found = None if parameters is None else read_blocks(parameters)
        if found is None:
            return None
        scales, zero_points, size = found
        count = len(self.tensors)
        if not (0 <= scales < count and OMITTED <= zero_points < count and size > 0):
            raise ModelError(
                f"its blocks of {size} have scales in tensor {scales} and zero points in tensor "
                f"{zero_points}, but the subgraph has {count} tensors"
            )
        return Blocks(
            size,
            self.tensors[scales],
            None if zero_points == OMITTED else self.tensors[zero_points],
        )

    def _fill_empty(self, ops: Sequence[Op]) -> None:
        """Make empty tensors that nothing writes constants; they need no buffer."""
        taken = {tensor for op in ops for tensor in op.outputs}
        taken.update(self.tensors[index] for index in self.inputs)
        for tensor in self.tensors:
            free = tensor.data is None and not tensor.variable and tensor not in taken
            if free and tensor.elements == 0:
                tensor.content = decode(
                    self.source, self.model.buffer(0)[:0], tensor.dtype, tensor.shape
                )

    # -- operators --------------------------------------------------------------------------

    def _operator(self, index: int, table: Any) -> Op:
        code = table.OpcodeIndex()
        if code >= len(self.model.codes):
            raise ModelError(
                f"operator {index} refers to operator code {code}, but the model has "
                f"{len(self.model.codes)}"
            )
        name, version, custom = self.model.codes[code]
        with self.source.at(f"operator {index} {name}"):
            inputs = self._indices(table, "Inputs", lowest=OMITTED)
            outputs = self._indices(table, "Outputs")
            self.model.operands += len(inputs) + len(outputs)
            if self.model.operands > OPERANDS:
                raise ModelError(f"the model's operators have more than {OPERANDS} operands")
            attrs = operator_options(self.model, name, custom, table)
            self.subgraphs.update(dict.fromkeys(subgraphs_of(attrs)))
            op = Op(
                name,
                tuple(None if i == OMITTED else self.tensors[i] for i in inputs),
                tuple(self.tensors[i] for i in outputs),
                attrs,
                index,
                version,
                intermediates=tuple(self.tensors[i] for i in self._indices(table, "Intermediates")),
                origins=(Origin(index, name),),
            )
            declared = operands_of(op)
            if declared is not None:
                declared.check(op)
                declared.set_result_types(op)
            return op

    def _check_order(self, ops: Sequence[Op]) -> None:
        """ModelError unless each tensor is written exactly once, before it is read."""
        sources = {self.tensors[index]: "an input" for index in self.inputs}
        for tensor in self.tensors:
            if tensor.constant or tensor.variable:
                sources[tensor] = "a constant" if tensor.constant else "a variable"
        for op in ops:
            place = f"operator {op!r}"
            for tensor in op.reads:
                if tensor not in sources:
                    raise ModelError(
                        f"{place} reads tensor {printable(tensor.name)}, which no earlier operator "
                        "writes"
                    )
            for tensor in op.outputs:
                if tensor in sources:
                    raise ModelError(
                        f"{place} writes tensor {printable(tensor.name)}, which is "
                        f"{sources[tensor]}"
                    )
                sources[tensor] = f"also written by {place}"
