"""An open model: its file, and its subgraphs with their sessions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..runtime.custom_op import CustomOp
from .defaults import DEFAULTS
from .file import File, Model
from .preserved import with_all_outputs
from .subgraph import Subgraph
from .variants import Key, Shapes, Variants


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
        self._input_shapes = input_shapes
        self._custom_ops = custom_ops or {}
        self.file = File(model)
        self._device = device or DEFAULTS.device
        self._cache = Path(cache or DEFAULTS.folder)
        self._preserve = preserve
        self._subgraphs: dict[int, Subgraph] = {}

    def subgraph(self, index: int) -> Subgraph:
        """A subgraph, always the same for an index. Only the first and those of signatures run."""
        if index not in self._subgraphs:
            self._subgraphs[index] = self._open(index)
        return self._subgraphs[index]

    def _open(self, index: int) -> Subgraph:
        key = self._signature(index)
        extended, preserved = b"", tuple[int, ...]()
        if self._preserve and not index:
            extended, preserved = with_all_outputs(self.file)
        names = self._input_names(index, key)
        choices = {} if index else self._choices(names)
        model = (lambda: extended) if extended else self.file.model
        variants = Variants(model, key, self._device, self._cache, self._custom_ops, choices)
        return Subgraph(self.file, index, names, variants, preserved)

    def _choices(self, names: Mapping[int, str]) -> Mapping[Key, Shapes]:
        """The input shapes to compile at once, by what differs from the file's."""
        tensors = self.file.subgraph(0).tensors
        own = {name: tensors[index].shape for index, name in names.items()}
        found: dict[Key, Shapes] = {}
        for choice in self._input_shapes:
            shapes = {name: tuple(shape) for name, shape in choice.items()}
            differing = {name: shape for name, shape in shapes.items() if shape != own.get(name)}
            found[tuple(sorted(differing.items()))] = shapes
        return found

    def _signature(self, index: int) -> str:
        """The signature that runs a subgraph; "" for the first one, which needs none."""
        if not index:
            return ""
        signatures = self.file.signatures
        return next((key for key, item in signatures.items() if item.subgraph == index), "")

    def _input_names(self, index: int, key: str) -> Mapping[int, str]:
        """The compiler's names of the inputs of a subgraph, by index."""
        subgraph = self.file.subgraph(index)
        names = {number: subgraph.names[number] for number in subgraph.inputs}
        if key:
            names |= {number: name for name, number in self.file.signatures[key].inputs.items()}
        return names
