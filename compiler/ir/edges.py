"""The edges of a graph: from tensors to the operators that read them, and from these to results.

Nodes, and the neighbours of each, stay in the order in which they came.
"""

from collections.abc import Iterable, Iterator, Set
from typing import Any

from .op import Op
from .tensor import Tensor

Node = Op | Tensor
_Neighbours = dict[Any, None]


class Edges:
    """Nodes, and what leads to which."""

    def __init__(self) -> None:
        self._before: dict[Node, _Neighbours] = {}
        self._after: dict[Node, _Neighbours] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._after

    def __iter__(self) -> Iterator[Node]:
        return iter(self._after)

    def before(self, node: Node) -> Set[Any]:
        """What leads to a node: the operands of an operator, or the writer of a tensor."""
        return self._before[node].keys()

    def after(self, node: Node) -> Set[Any]:
        """What a node leads to: the results of an operator, or the readers of a tensor."""
        return self._after[node].keys()

    def joins(self, source: Node, target: Node) -> bool:
        return source in self._after and target in self._after[source]

    def add(self, node: Node) -> None:
        if node not in self._after:
            self._before[node], self._after[node] = {}, {}

    def join(self, source: Node, target: Node) -> None:
        """Let one lead to the other; both are added if need be."""
        self.add(source)
        self.add(target)
        self._after[source][target] = None
        self._before[target][source] = None

    def part(self, source: Node, target: Node) -> None:
        del self._after[source][target]
        del self._before[target][source]

    def remove(self, node: Node) -> None:
        for source in self._before.pop(node):
            del self._after[source][node]
        for target in self._after.pop(node):
            del self._before[target][node]

    def cycle(self, nodes: Iterable[Node]) -> list[Node]:
        """A cycle among nodes each of which another of them leads to."""
        among = set(nodes)
        path: dict[Node, None] = {}
        node = next(iter(nodes))
        while node not in path:
            path[node] = None
            node = next(found for found in self._before[node] if found in among)
        found = list(path)
        return found[found.index(node) :][::-1]
