"""The graph: operators and tensors as a bipartite directed graph."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from ..errors import Finding, ModelError
from .edges import Edges
from .fused import FusedOp, verify_fused
from .op import Op
from .sizes import Resized
from .tensor import Array, Shape, Tensor
from .text import graph_text, to_text

# The shape that LiteRT computes for a tensor; None if it is known only while the model runs.
LitertShape = Callable[[Tensor], Shape | None]


def declared_shape(tensor: Tensor) -> Shape | None:
    """The `LitertShape` that returns the shape in the file."""
    return tensor.shape


@dataclass(frozen=True)
class Signature:
    """A named entry point of a model, which names its inputs and outputs."""

    key: str
    inputs: dict[str, str]  # Tensor names by the signature's input names.
    outputs: dict[str, str]  # Tensor names by the signature's output names.
    subgraph: int = 0  # Index of the subgraph it runs.


def _keep() -> None:
    """Nothing is given back: no file is behind the constants."""


class Graph:
    """Operators and tensors with their edges, and the model's named inputs and outputs."""

    def __init__(self, name: str = "model") -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.input_names: list[str] = []
        self.output_names: list[str] = []
        self.signatures: list[Signature] = []
        # The subgraphs that operators such as WHILE run, by index.
        self.subgraphs: dict[int, Graph] = {}
        # Tensors that become a variable's content at the end of a run, with their variable.
        self.kept: dict[Tensor, Tensor] = {}
        # Variables that are the same for all signatures: kept inputs, and the file's resources.
        self.state: list[Tensor] = []
        # The content of variables before the first run, if it is not zero.
        self.contents: dict[Tensor, Array] = {}
        self.resized = Resized()
        # Operators found so far that cannot run on the device, with the reason.
        self.set_aside: dict[Op, Finding] = {}
        # Gives the shapes of the results of operators set aside.
        self.litert_shape: LitertShape = declared_shape
        # Gives back the memory of the file that constants are views of.
        self.release: Callable[[], None] = _keep
        self._edges = Edges()
        self._places: dict[Op, int] = {}  # The operators, and which of those ever added each is.
        self._count = 0
        self._touched: dict[Op, None] = {}  # Operators to verify.
        # Tensors to verify, each with an operator that has been made to read it.
        self._given: dict[Tensor, Op] = {}
        self._added: list[Op] = []
        self._order: list[Op] | None = None

    # -- building ---------------------------------------------------------------------------

    def add(self, op: Op) -> Op:
        """Add an operator with its tensors; ModelError if one of its outputs has a producer."""
        for tensor in op.outputs:
            if self.producer(tensor) is not None:
                raise ModelError(f"tensor {tensor.name} is written by two operators")
        self._count += 1
        self._places[op] = self._count
        self._edges.add(op)
        self._connect(op)
        self._added.append(op)
        return op

    def _connect(self, op: Op) -> None:
        for tensor in op.reads:
            self._edges.join(tensor, op)
        for tensor in op.outputs:
            self._edges.join(op, tensor)
        self._touched[op] = None
        self._order = None

    def take_added(self) -> list[Op]:
        """The operators added since the last call, including any removed again since."""
        added, self._added = self._added, []
        return added

    def remove(self, op: Op) -> None:
        """Remove an operator, and the tensors that nothing refers to any more."""
        tensors = (*op.reads, *op.outputs)
        self._edges.remove(op)
        del self._places[op]
        self._touched.pop(op, None)
        self.set_aside.pop(op, None)
        self._order = None
        self._forget_unused(tensors)

    def remove_unread(self, ops: Iterable[Op]) -> None:
        """Remove those of some operators that nothing reads, and then those that only they read."""
        waiting = list(ops)
        while waiting:
            op = waiting.pop()
            if op in self and not any(map(self.is_used, op.outputs)):
                waiting += self.producers(op.reads)
                self.remove(op)

    def set_inputs(self, op: Op, inputs: Iterable[Tensor | None]) -> None:
        """Replace an operator's operands; the core of a fused one must be a single operator."""
        with self._rewired(op):
            op.set_operands(inputs)

    def replace_operand(self, op: Op, old: Tensor, new: Tensor) -> None:
        """Let an operator, including its epilogue, read `new` instead of `old`."""
        # Only these two edges change, which matters for operators with thousands of operands.
        op.replace_operands({old: new})
        self._edges.part(old, op)
        self._edges.join(new, op)
        if isinstance(op, FusedOp):
            self._touched[op] = None
        self._given[new] = op
        self._order = None
        self._forget_unused((old,))

    def replace_in_core(self, op: Op, old: Tensor, new: Tensor) -> None:
        """Let the core of an operator read `new` instead of `old`."""
        with self._rewired(op):
            for inner in op.core:
                inner.replace_operands({old: new})

    def replace_in_epilogue(self, op: Op, old: Tensor, new: Tensor) -> None:
        """Let the epilogue of an operator read `new` instead of `old`."""
        with self._rewired(op):
            for inner in op.epilogue:
                inner.replace_operands({old: new})

    @contextmanager
    def _rewired(self, op: Op) -> Iterator[None]:
        """The operator's operands may change within the block; its edges are updated at the end."""
        before = dict.fromkeys(op.reads)
        for tensor in before:
            self._edges.part(tensor, op)
        yield
        self._connect(op)
        self._forget_unused(before)

    def _forget_unused(self, tensors: Iterable[Tensor]) -> None:
        for tensor in tensors:
            there = tensor in self._edges
            if there and not (self._edges.before(tensor) or self._edges.after(tensor)):
                self._edges.remove(tensor)

    def set_outputs(self, op: Op, outputs: Iterable[Tensor]) -> None:
        """Replace an operator's outputs by tensors that nothing else writes."""
        for tensor in op.outputs:
            self._edges.part(op, tensor)
        self._forget_unused(op.outputs)
        op.set_results(outputs)
        self._connect(op)

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Let every reader of `old` read `new` instead; the model's outputs change too."""
        for reader in self.consumers(old):
            self.replace_operand(reader, old, new)
        self.outputs = [new if t is old else t for t in self.outputs]

    def bypass(self, op: Op) -> None:
        """Remove an operator with one output; readers of the output read its first input."""
        self.replace(op.output, op.operand(0))
        self.remove(op)

    # -- reading ----------------------------------------------------------------------------

    @property
    def ops(self) -> list[Op]:
        """The operators in a valid order of execution, as close to the file's as possible."""
        if self._order is None:
            self._order = self._sorted()
        return list(self._order)

    def _sorted(self) -> list[Op]:
        """Of the operators that can run, the first of the file comes next."""
        before, after = self._edges.before, self._edges.after
        missing = {op: sum(len(before(tensor)) for tensor in before(op)) for op in self._places}
        ready = [(op.index, self._places[op], op) for op, count in missing.items() if not count]
        heapify(ready)
        order = []
        while ready:
            op = heappop(ready)[2]
            order.append(op)
            for tensor in after(op):
                for reader in after(tensor):
                    missing[reader] -= 1
                    if not missing[reader]:
                        heappush(ready, (reader.index, self._places[reader], reader))
        if len(order) < len(missing):
            stuck = [op for op in missing if missing[op]]
            written = [tensor for op in stuck for tensor in after(op)]
            names = " -> ".join(node.name for node in self._edges.cycle([*stuck, *written]))
            raise ModelError(f"the operators form a cycle: {names}")
        return order

    @property
    def tensors(self) -> list[Tensor]:
        return [node for node in self._edges if isinstance(node, Tensor)]

    def __contains__(self, node: object) -> bool:
        return node in self._edges

    def producer(self, tensor: Tensor) -> Op | None:
        """The operator that writes a tensor; None for inputs and constants."""
        return next(iter(self._edges.before(tensor)), None) if tensor in self._edges else None

    def producers(self, tensors: Iterable[Tensor]) -> list[Op]:
        """The operators that write some tensors, as far as operators do, in the same order."""
        return [op for tensor in tensors if (op := self.producer(tensor)) is not None]

    def consumers(self, tensor: Tensor) -> list[Op]:
        """The operators that read a tensor, each once, epilogues included."""
        return list(self._edges.after(tensor)) if tensor in self._edges else []

    def is_output(self, tensor: Tensor) -> bool:
        return tensor in self.kept or tensor in self.outputs

    def only_reader(self, tensor: Tensor) -> Op | None:
        """The reader of a tensor that has just one reader and is no output; None otherwise."""
        readers = self.consumers(tensor)
        return readers[0] if len(readers) == 1 and not self.is_output(tensor) else None

    def leaves(self, tensor: Tensor, ops: Container[Op]) -> bool:
        """Whether a tensor is an output, or read by an operator that is not among `ops`."""
        return self.is_output(tensor) or any(op not in ops for op in self.consumers(tensor))

    def is_used(self, tensor: Tensor) -> bool:
        """Whether a tensor is an output, or read by an operator."""
        return self.leaves(tensor, ())

    def __iter__(self) -> Iterator[Op]:
        return iter(self.ops)

    def __len__(self) -> int:
        return len(self._places)

    # -- checking and printing --------------------------------------------------------------

    def verify(self, everything: bool = True) -> None:
        """ModelError unless the edges match the operands and every tensor read has a source.

        With `everything` False only operators changed since the last call are checked, so that
        checking after every rewrite takes linear time in total.
        """
        ops: Sequence[Op] = self.ops if everything else list(self._touched)
        given = [] if everything else list(self._given.items())
        self._touched.clear()
        self._given.clear()
        for op in ops:
            self._verify_op(op)
        for tensor, op in given:
            if self._edges.joins(tensor, op):
                self._verify_source(tensor, op)
        if everything:
            for tensor in self.outputs:
                there = tensor.constant or tensor.variable or tensor in self.inputs
                if not (there or self.producer(tensor)):
                    raise ModelError(f"the model's output {tensor.name} is never written")

    def _verify_op(self, op: Op) -> None:
        reads = set(op.reads)
        if self._edges.before(op) != reads:
            raise ModelError(f"the edges into {op} do not match its inputs")
        if self._edges.after(op) != set(op.outputs):
            raise ModelError(f"the edges out of {op} do not match its outputs")
        for tensor in reads:
            self._verify_source(tensor, op)
        for tensor in (*reads, *op.outputs):
            if min(tensor.shape, default=0) < 0:
                raise ModelError(f"tensor {tensor.name} has a negative size: {list(tensor.shape)}")
            if tensor.content is not None and tensor.content.shape != tensor.shape:
                raise ModelError(
                    f"tensor {tensor.name} has the shape {list(tensor.shape)}, but its content has "
                    f"{list(tensor.content.shape)}"
                )
        if isinstance(op, FusedOp):
            verify_fused(op, self)

    def _verify_source(self, tensor: Tensor, op: Op) -> None:
        source = tensor.constant or tensor.variable or self.producer(tensor)
        if not (source or tensor in self.inputs):
            raise ModelError(f"operator {op!r} reads {tensor.name}, which nothing writes")

    @property
    def text(self) -> str:
        """The whole graph as text, with types, which `parse.Parser` reads back."""
        return graph_text(self.inputs, self.ops, self.outputs, self.kept)

    def __str__(self) -> str:
        return to_text(self.ops)
