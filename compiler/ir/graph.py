"""The graph every stage works on: operators and tensors as a bipartite directed graph.

The only file that imports networkx. Operators keep their TFLite names; those of tflgpu itself are
named `tflgpu.something`. One line of `str(graph)` per operator is the language of the pass tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ..errors import Finding, ModelError, UnsupportedError

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Quantization:
    """Affine quantization, real = scale * (quantized - zero_point); per channel along `axis`."""

    scale: tuple[float, ...]
    zero_point: tuple[int, ...]
    axis: int = 0


@dataclass(eq=False)
class Tensor:
    """A value that flows between operators; `data` holds its content if it is a constant."""

    name: str
    shape: Shape
    dtype: str = "float32"
    data: Array | None = field(default=None, repr=False)
    quantization: Quantization | None = None
    variable: bool = False
    """Whether the tensor keeps its content between runs."""
    signature: Shape | None = None
    """The shape with -1 for the sizes that the file leaves open, where it leaves any open."""
    blocks: Blocks | None = None
    """How the tensor is quantized if it is in blocks; `quantization` is None then."""

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def constant(self) -> bool:
        return self.data is not None


@dataclass(frozen=True)
class Blocks:
    """Quantization in blocks of `size` along the last axis, each with a scale of its own."""

    size: int
    scales: Tensor
    zero_points: Tensor | None


KERNEL_RESULT = -1
"""The operand of a `Post` that stands for the value its operator computed itself."""


@dataclass(frozen=True)
class Post:
    """An elementwise operator fused into the store of the operator that feeds it.

    `operands` are indices: i >= 0 is the host operator's `post_inputs[i]`, -1 what the host
    computed itself, -2 the result of its first post-operator, -3 of its second, and so on.
    """

    name: str
    operands: tuple[int, ...]
    attrs: dict[str, Any]
    index: int
    """Position in the model file of the operator this was."""


@dataclass(eq=False)
class Op:
    """An operator. Change its inputs through the graph, so that the edges follow."""

    name: str
    inputs: tuple[Tensor | None, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    index: int = 0
    """Position in the model file of the operator it is, or comes from."""
    version: int = 1
    post: tuple[Post, ...] = ()
    post_inputs: tuple[Tensor, ...] = ()
    """What the post-operators read besides values computed in the same kernel."""
    stored: tuple[int, ...] = ()
    """Where post-operators leave more than the last value: for each further output which one it is,
    0 what the operator computed itself, 1 the result of its first post-operator, and so on."""
    intermediates: tuple[Tensor, ...] = ()
    """Tensors that only hold the quantization of values inside the operator (integer LSTM)."""

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Every tensor the operator reads, its post-operators' included."""
        return (*(tensor for tensor in self.inputs if tensor is not None), *self.post_inputs)

    @property
    def results(self) -> tuple[Tensor, ...]:
        """Its outputs without those that hold an earlier value."""
        return self.outputs[: len(self.outputs) - len(self.stored)]

    @property
    def early(self) -> tuple[Tensor, ...]:
        """Its outputs that hold the values `stored` names."""
        return self.outputs[len(self.outputs) - len(self.stored) :]

    @property
    def output(self) -> Tensor:
        return self.outputs[0]

    def input(self, position: int) -> Tensor | None:
        """The input at `position`, None if it is left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def operand(self, position: int) -> Tensor:
        """The input at `position`, which must be there (ModelError)."""
        tensor = self.input(position)
        if tensor is None:
            raise ModelError(f"operator {self.index} {self.name} has no input {position}")
        return tensor

    def constant(self, position: int) -> Array:
        """The content of the constant input at `position` (UnsupportedError if it is computed)."""
        tensor = self.operand(position)
        if tensor.data is None:
            reason = f"input {position} ({tensor.name}) is computed while the model runs"
            advice = "it must be a constant; converting the model with fixed shapes makes it one"
            raise UnsupportedError([Finding(self.index, self.name, reason, advice)])
        return tensor.data

    def __str__(self) -> str:
        operands = ", ".join("none" if t is None else t.name for t in self.inputs)
        attrs = "".join(f" {key}={_plain(value)}" for key, value in self.attrs.items())
        post = "".join(f" | {_post_text(step, self)}" for step in self.post)
        results = ", ".join(t.name for t in self.outputs)
        results += "".join(f"=%{number}" for number in self.stored)
        return f"{results} = {self.name}({operands}){attrs}{post}"


def _plain(value: Any) -> str:
    return str(value).replace(" ", "")


def _post_text(step: Post, op: Op) -> str:
    """Values computed in the kernel print as %0 (the operator's own), %1, ..."""
    names = (op.post_inputs[i].name if i >= 0 else f"%{-1 - i}" for i in step.operands)
    attrs = "".join(f" {key}={_plain(value)}" for key, value in step.attrs.items())
    return f"{step.name}({', '.join(names)}){attrs}"


@dataclass(frozen=True)
class Signature:
    """A named way to call a model: which tensors its inputs and outputs are."""

    key: str
    inputs: dict[str, str]
    """Tensor names by the signature's input names."""
    outputs: dict[str, str]
    """Tensor names by the signature's output names."""
    subgraph: int = 0


class Graph:
    """Operators and tensors with their edges, and the model's named inputs and outputs."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.input_names: list[str] = []
        self.output_names: list[str] = []
        self.signatures: list[Signature] = []
        self.subgraphs: dict[int, Graph] = {}
        """What operators such as WHILE run, by the index their attributes name."""
        self.kept: dict[Tensor, Tensor] = {}
        """Tensors whose content a variable has after the run, each with its variable."""
        self.contents: dict[Tensor, Array] = {}
        """What variables hold before the first run, where that is not zeros."""
        self._graph: nx.DiGraph[Any] = nx.DiGraph()
        self._sequence = 0
        self._touched: dict[Op, None] = {}
        self._order: list[Op] | None = None

    # -- building ---------------------------------------------------------------------------

    def add(self, op: Op) -> Op:
        """Add an operator with the tensors it names; ModelError if an output has a producer."""
        for tensor in op.outputs:
            if tensor in self._graph and self._graph.in_degree(tensor):
                raise ModelError(f"tensor {tensor.name} is written by two operators")
        self._sequence += 1
        self._graph.add_node(op, sequence=self._sequence)
        self._connect(op)
        return op

    def _connect(self, op: Op) -> None:
        for tensor in op.reads:
            self._graph.add_edge(tensor, op)
        for tensor in op.outputs:
            self._graph.add_edge(op, tensor)
        self._touched[op] = None
        self._order = None

    def remove(self, op: Op) -> None:
        """Remove an operator, and the tensors nothing refers to any more."""
        tensors = (*op.reads, *op.outputs)
        self._graph.remove_node(op)
        self._touched.pop(op, None)
        self._order = None
        for tensor in tensors:
            if tensor in self._graph and not self._graph.degree(tensor):
                self._graph.remove_node(tensor)

    def set_inputs(
        self, op: Op, inputs: Iterable[Tensor | None], post_inputs: Iterable[Tensor] | None = None
    ) -> None:
        """Give an operator other inputs, and other inputs of its post-operators if given."""
        before = dict.fromkeys(op.reads)
        for tensor in before:
            self._graph.remove_edge(tensor, op)
        op.inputs = tuple(inputs)
        op.post_inputs = op.post_inputs if post_inputs is None else tuple(post_inputs)
        self._connect(op)
        for tensor in before:
            if tensor in self._graph and not self._graph.degree(tensor):
                self._graph.remove_node(tensor)

    def set_outputs(self, op: Op, outputs: Iterable[Tensor]) -> None:
        """Let an operator write other tensors, which nothing else may write."""
        for tensor in op.outputs:
            self._graph.remove_edge(op, tensor)
            if not self._graph.degree(tensor):
                self._graph.remove_node(tensor)
        op.outputs = tuple(outputs)
        self._connect(op)

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Let everything that reads `old`, the model's outputs included, read `new`."""
        for reader in self.consumers(old):
            self.set_inputs(
                reader,
                [new if tensor is old else tensor for tensor in reader.inputs],
                [new if tensor is old else tensor for tensor in reader.post_inputs],
            )
        self.outputs = [new if t is old else t for t in self.outputs]

    def bypass(self, op: Op) -> None:
        """Remove a one-output operator; its first input takes the place of its output."""
        self.replace(op.output, op.operand(0))
        self.remove(op)

    # -- reading ----------------------------------------------------------------------------

    @property
    def ops(self) -> list[Op]:
        """Operators in an order in which they can run: the file's, wherever that is possible."""
        if self._order is None:
            self._order = self._sorted()
        return list(self._order)

    def _sorted(self) -> list[Op]:
        def position(node: Any) -> tuple[int, int]:
            if isinstance(node, Op):
                return (node.index, int(self._graph.nodes[node]["sequence"]))
            return (-1, 0)

        try:
            order = list(nx.lexicographical_topological_sort(self._graph, key=position))
        except nx.NetworkXUnfeasible:
            edges = nx.find_cycle(self._graph)
            names = " -> ".join(node.name for node, _ in edges)
            raise ModelError(f"the operators form a cycle: {names}") from None
        return [node for node in order if isinstance(node, Op)]

    @property
    def tensors(self) -> list[Tensor]:
        return [node for node in self._graph if isinstance(node, Tensor)]

    def __contains__(self, node: Op | Tensor) -> bool:
        return node in self._graph

    def producer(self, tensor: Tensor) -> Op | None:
        """The operator that writes a tensor; None for inputs and constants."""
        if tensor not in self._graph:
            return None
        return next(iter(self._graph.predecessors(tensor)), None)

    def consumers(self, tensor: Tensor) -> list[Op]:
        """The operators that read a tensor, each once."""
        return list(self._graph.successors(tensor)) if tensor in self._graph else []

    def is_output(self, tensor: Tensor) -> bool:
        return tensor in self.kept or any(tensor is output for output in self.outputs)

    def only_reader(self, tensor: Tensor) -> Op | None:
        """The one operator that reads a tensor which nothing else needs; None otherwise."""
        readers = self.consumers(tensor)
        return readers[0] if len(readers) == 1 and not self.is_output(tensor) else None

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def __len__(self) -> int:
        return sum(isinstance(node, Op) for node in self._graph)

    # -- checking and printing --------------------------------------------------------------

    def verify(self, everything: bool = True) -> None:
        """ModelError unless edges match operands and every tensor read has a source.

        With `everything` False only operators changed since the last call are looked at, which
        keeps checking after each rewrite linear.
        """
        ops: Sequence[Op] = self.ops if everything else list(self._touched)
        self._touched.clear()
        for op in ops:
            self._verify_op(op)
        if everything:
            for tensor in self.outputs:
                there = tensor.constant or tensor.variable or tensor in self.inputs
                if not (there or self.producer(tensor)):
                    raise ModelError(f"the model's output {tensor.name} is never written")

    def _verify_op(self, op: Op) -> None:
        reads = set(op.reads)
        if set(self._graph.predecessors(op)) != reads:
            raise ModelError(f"the edges into {op} do not match its inputs")
        if set(self._graph.successors(op)) != set(op.outputs):
            raise ModelError(f"the edges out of {op} do not match its outputs")
        for tensor in reads:
            source = tensor.constant or tensor.variable or self.producer(tensor)
            if not (source or tensor in self.inputs):
                raise ModelError(
                    f"operator {op.index} {op.name} reads {tensor.name}, which nothing writes"
                )
        for tensor in (*reads, *op.outputs):
            if any(size < 0 for size in tensor.shape):
                raise ModelError(f"tensor {tensor.name} has a negative size: {list(tensor.shape)}")
            if tensor.data is not None and tensor.data.shape != tensor.shape:
                raise ModelError(f"tensor {tensor.name}: its content does not have its shape")
        if op.stored and len(op.stored) != len(op.outputs) - 1:
            raise ModelError(f"{op} does not say what each of its outputs is")
        outside = len(op.post_inputs)
        for step, post in enumerate(op.post):
            if not all(-1 - step <= operand < outside for operand in post.operands):
                raise ModelError(f"post-operator {step} of {op} reads an operand that is not there")

    def __str__(self) -> str:
        return "\n".join(str(op) for op in self.ops)


def scalar(value: float, name: str = "scalar", dtype: str = "float32") -> Tensor:
    """A constant tensor of rank 0."""
    return Tensor(name, (), dtype, np.asarray(value, dtype))


def constant(name: str, data: Array) -> Tensor:
    """A constant tensor that holds `data`."""
    return Tensor(name, tuple(data.shape), data.dtype.name, data)
