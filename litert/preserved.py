"""A model that gives the intermediate tensors of another as well, for inspection."""

from __future__ import annotations

from ..compiler.frontend.reader import read
from ..compiler.frontend.writer import write
from .details import TYPES
from .file import File

_UNREADABLE = ("resource", "variant")


def with_all_outputs(file: File) -> tuple[bytes, tuple[int, ...]]:
    """A model whose outputs are those of a file's first subgraph, then all other computed tensors.

    Returns it with the indices in the file of these others. ModelError if the model cannot be read,
    PassError if it cannot be written.
    """
    graph = read(file.model())
    computed = [tensor for op in graph.ops for tensor in op.outputs]
    others = [
        tensor
        for tensor in computed
        if tensor not in graph.outputs and tensor.dtype in TYPES and tensor.dtype not in _UNREADABLE
    ]
    graph.outputs += others
    graph.output_names += [tensor.name for tensor in others]
    numbers = {name: index for index, name in enumerate(file.subgraph(0).names)}
    return write(graph), tuple(numbers[tensor.name] for tensor in others)
