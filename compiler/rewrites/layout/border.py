"""The border of a region of operators that compute with their axes in other places."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ...ir import Graph, Op, Tensor
from ...ir.connected import reached
from .permutable import images

Region = dict[Op, None]  # Connected operators, in the order of execution.


def connected(starts: Iterable[Op], near: Callable[[Op], Iterable[Op]]) -> Region:
    """The region that is connected to some operators."""
    return dict.fromkeys(sorted(reached(starts, near), key=lambda op: op.index))


class Border(ABC):
    """The border of a region whose axes move, by operators that other rewrites can cancel."""

    def __init__(self, graph: Graph, region: Region) -> None:
        self.graph, self.region = graph, region
        self.computed = dict.fromkeys(tensor for op in region for tensor in op.outputs)
        read = dict.fromkeys(tensor for op in region for _, tensor in images(op))
        # Tensors that the region reads but does not compute.
        self.inputs = [tensor for tensor in read if tensor not in self.computed]
        # Tensors that it computes and that are used elsewhere.
        self.outputs = [tensor for tensor in self.computed if graph.leaves(tensor, region)]

    @abstractmethod
    def like(self, tensor: Tensor) -> Tensor:
        """A new tensor for what one holds with its axes moved."""

    @abstractmethod
    def moved(self, tensor: Tensor) -> Tensor:
        """An input with its axes moved."""

    @abstractmethod
    def adapt(self, op: Op, inputs: list[Tensor | None]) -> None:
        """Change an operator's attributes and, among its new operands, those that name axes."""

    @abstractmethod
    def moves_back(self, reader: Op, tensor: Tensor) -> bool:
        """Whether a reader outside moves the axes of an output back."""

    @abstractmethod
    def skip(self, reader: Op, moved: Tensor) -> None:
        """Let what reads the result of such a reader read what the region computes."""

    @abstractmethod
    def move_back(self, moved: Tensor, tensor: Tensor) -> None:
        """Compute an output, as it was, from what the region computes."""

    def readers(self, tensor: Tensor) -> tuple[list[Op], bool]:
        """The readers that move an output's axes back, and whether it is also read as it is."""
        outside = [op for op in self.graph.consumers(tensor) if op not in self.region]
        back = [op for op in outside if self.moves_back(op, tensor)]
        return back, len(back) < len(outside) or self.graph.is_output(tensor)

    def apply(self) -> None:
        """Let the region compute with its axes moved."""
        readers = {tensor: self.readers(tensor) for tensor in self.outputs}
        moved = {tensor: self.moved(tensor) for tensor in self.inputs}
        moved |= {tensor: self.like(tensor) for tensor in self.computed}
        for op in self.region:
            inputs = list(op.inputs)
            for position, tensor in images(op):
                inputs[position] = moved[tensor]
            self.adapt(op, inputs)
            self.graph.set_outputs(op, [moved[tensor] for tensor in op.outputs])
            self.graph.set_inputs(op, inputs)
        for tensor, (back, others) in readers.items():
            for op in back:
                self.skip(op, moved[tensor])
            if others:
                self.move_back(moved[tensor], tensor)
        self.graph.remove_unread(self.graph.producers(self.inputs))

    def convert(
        self, name: str, source: Tensor, result: Tensor, *inputs: Tensor, **attrs: Any
    ) -> Tensor:
        """Let an operator compute a tensor from one of the border right after that is known."""
        first, *_ = (*self.graph.producers([source]), *self.region)
        self.graph.add(Op(name, (source, *inputs), (result,), attrs, first.index))
        return result
