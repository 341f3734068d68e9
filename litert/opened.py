"""An open model: its file, and its subgraphs with their sessions."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..compiler.frontend.reader import read
from ..compiler.frontend.writer import write
from ..compiler.user_cache import user_cache
from ..runtime.custom_op import CustomOp
from .details import TYPES
from .file import File, Model
from .subgraph import Subgraph
from .variants import Key, Loader, Shapes, Together, Variants

_UNREADABLE = ("resource", "variant")  # Those of `TYPES` whose content cannot be returned.


class Opened:
    """A model for `Interpreter` and `CompiledModel`. ModelError if it cannot be read."""

    def __init__(
        self,
        model: Model,
        device: str | None = None,
        cache: str | os.PathLike[str] | None = None,
        preserve: bool = False,
        custom_ops: Mapping[str, CustomOp] | None = None,
        input_shapes: Sequence[Mapping[str, Sequence[int]]] = (),
    ) -> None:
        """With `preserve`, intermediate tensors of the first subgraph can be read after a run.

        `custom_ops` has functions for operators, as for `tflgpu.load`; `input_shapes` are those of
        the first subgraph to compile at once, as for `tflgpu.compile`.
        """
        self.file = File(model)
        self._loader = Loader(
            self.file.model,
            device or DEFAULTS.device,
            Path(cache or DEFAULTS.folder),
            custom_ops or {},
        )
        self._input_shapes, self._preserve = input_shapes, preserve
        self._subgraphs: dict[int, Subgraph] = {}

    def subgraph(self, index: int) -> Subgraph:
        """A subgraph, always the same for an index. Only the first and those of signatures run."""
        if index not in self._subgraphs:
            self._subgraphs[index] = self._open(index)
        return self._subgraphs[index]

    def _open(self, index: int) -> Subgraph:
        key, names = self._keys.get(index, ""), self._input_names(index)
        if key:
            return Subgraph(self.file, index, names, Variants(self._loader, key, self._signatures))
        loader, preserved = self._loader, tuple[int, ...]()
        if self._preserve and not index:
            extended, preserved = with_all_outputs(self.file)
            loader = replace(loader, model=lambda: extended)
        variants = Variants(loader, "", Together(loader, (), {} if index else self._choices()))
        return Subgraph(self.file, index, names, variants, preserved)

    @cached_property
    def _keys(self) -> Mapping[int, str]:
        """A signature of each subgraph; none for the first if it runs under its own names.

        It does if there is no other, and if intermediate tensors are wanted.
        """
        found: dict[int, str] = {}
        for key, signature in self.file.signatures.items():
            found.setdefault(signature.subgraph, key)
        if self._preserve or len(found) == 1:
            found.pop(0, None)
        return dict(sorted(found.items()))

    @cached_property
    def _signatures(self) -> Together:
        choices = self._choices() if 0 in self._keys else {}
        return Together(self._loader, tuple(self._keys.values()), choices)

    def _choices(self) -> Mapping[Key, Shapes]:
        """The input shapes to compile at once, by what differs from the file's."""
        tensors = self.file.subgraph(0).tensors
        own = {name: tensors[index].shape for index, name in self._input_names(0).items()}
        found: dict[Key, Shapes] = {}
        for choice in self._input_shapes:
            shapes = {name: tuple(shape) for name, shape in choice.items()}
            differing = {name: shape for name, shape in shapes.items() if shape != own.get(name)}
            found[tuple(sorted(differing.items()))] = shapes
        return found

    def _input_names(self, index: int) -> Mapping[int, str]:
        """The compiler's names of the inputs of a subgraph, by index."""
        subgraph = self.file.subgraph(index)
        names = {number: subgraph.names[number] for number in subgraph.inputs}
        if index in self._keys:
            called = self.file.signatures[self._keys[index]].inputs
            names |= {number: name for name, number in called.items()}
        return names


@dataclass
class Defaults:
    """What `python -m tflgpu.litert` sets for the script that it runs."""

    device: str = "auto"  # As in `tflgpu.load`.
    # The folder of compiled models; None for one in the user's cache folder.
    cache: Path | None = None

    @property
    def folder(self) -> Path:
        return self.cache or user_cache()


DEFAULTS = Defaults()


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
