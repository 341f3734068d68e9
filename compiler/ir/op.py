"""Operators: the nodes of the graph, each computed by one kernel in the end.

Operators keep their TFLite names; those of tflgpu itself are named `tflgpu.something`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import Finding, ModelError, UnsupportedError
from .tensor import Array, Tensor


@dataclass(frozen=True, order=True, slots=True)
class Origin:
    """An operator of the model file, which tells users what a kernel computes."""

    index: int  # Position in the model file.
    name: str

    def __str__(self) -> str:
        return f"{self.index} {self.name}"


class Op:
    """An operator. Change its inputs and outputs through the graph, which updates the edges."""

    def __init__(
        self,
        name: str,
        inputs: Iterable[Tensor | None],
        outputs: Iterable[Tensor],
        attrs: Mapping[str, Any] | None = None,
        index: int = 0,
        version: int = 1,
        intermediates: Iterable[Tensor] = (),
        origins: Iterable[Origin] = (),
    ) -> None:
        self.name = name
        self._inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.attrs: Mapping[str, Any] = attrs if attrs is not None else {}
        # Its position in the model file, which orders execution where dependencies do not.
        self.index = index
        self.version = version
        # Tensors that only describe the quantization of inner values (integer LSTM).
        self.intermediates = tuple(intermediates)
        # The operators of the model file that it computes, in full or in part.
        self.origins = tuple(origins)

    # -- what it computes -------------------------------------------------------------------

    @property
    def core(self) -> tuple[Op, ...]:
        """The operators its implementation computes: the operator itself unless it is fused."""
        return (self,)

    @property
    def epilogue(self) -> tuple[Op, ...]:
        """The elementwise operators computed where the kernel stores its result."""
        return ()

    @property
    def ops(self) -> tuple[Op, ...]:
        """All operators its kernel computes, in order."""
        return (*self.core, *self.epilogue)

    # -- operands and results ---------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Tensor | None, ...]:
        """The operands by position; None for an optional operand that is left out."""
        return self._inputs

    @property
    def epilogue_inputs(self) -> tuple[Tensor, ...]:
        """The tensors the epilogue reads that its kernel does not compute, each once."""
        return ()

    @property
    def reads(self) -> tuple[Tensor, ...]:
        """Every tensor the operator reads, including its epilogue."""
        return (*(tensor for tensor in self.inputs if tensor is not None), *self.epilogue_inputs)

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The outputs without the early outputs."""
        return self.outputs

    @property
    def early_outputs(self) -> tuple[Tensor, ...]:
        """Intermediate results of the epilogue that the kernel also stores."""
        return ()

    @property
    def output(self) -> Tensor:
        return self.outputs[0]

    def input(self, position: int) -> Tensor | None:
        """The input at `position`; None if it is left out."""
        return self.inputs[position] if position < len(self.inputs) else None

    def operand(self, position: int) -> Tensor:
        """The input at `position` (ModelError if it is left out)."""
        tensor = self.input(position)
        if tensor is None:
            raise ModelError(f"operator {self!r} has no input {position}")
        return tensor

    def constant(self, position: int) -> Array:
        """The content of the input at `position` (UnsupportedError if it is not a constant)."""
        tensor = self.operand(position)
        content = tensor.data
        if content is None:
            reason = f"input {position} ({tensor.name}) is computed while the model runs"
            advice = "it must be a constant; convert the model with fixed shapes"
            raise self.unsupported(reason, advice)
        return content

    def number(self, position: int) -> Any:
        """An input's first number (UnsupportedError if it is no constant, ModelError if empty)."""
        content = self.constant(position)
        if not content.size:
            name = self.operand(position).name
            raise ModelError(f"operator {self!r} takes a number from {name}, which is empty")
        return content.reshape(-1)[0]

    def integers(self, position: int) -> list[int]:
        """All that the input at `position` holds (UnsupportedError if it is not a constant)."""
        return [int(number) for number in self.constant(position).reshape(-1)]

    def integers_in(self, option: str) -> list[int]:
        """Those of an option that is a list; none if it is left out."""
        return [int(number) for number in self.attrs.get(option) or ()]

    def replace_operands(self, new: Mapping[Tensor, Tensor]) -> None:
        """Read the mapped tensors instead; only the graph may call this."""
        inputs = list(self._inputs)
        for old, tensor in new.items():
            for position in [i for i, operand in enumerate(self._inputs) if operand is old]:
                inputs[position] = tensor
        self._inputs = tuple(inputs)

    def set_operands(self, inputs: Iterable[Tensor | None]) -> None:
        """Replace all operands; only the graph may call this."""
        self._inputs = tuple(inputs)

    def set_results(self, outputs: Iterable[Tensor]) -> None:
        """Replace all outputs; only the graph may call this."""
        self.outputs = tuple(outputs)

    def invalid(self, reason: str) -> ModelError:
        """The error to raise because of its operands or options."""
        return ModelError(f"operator {self!r}: {reason}")

    def unsupported(self, reason: str, advice: str = "", unsafe: bool = False) -> UnsupportedError:
        """The error to raise if it cannot run on the device; see `Finding`."""
        return UnsupportedError([self.finding(reason, advice, unsafe)])

    def finding(self, reason: str, advice: str = "", unsafe: bool = False) -> Finding:
        return Finding(self.index, self.name, reason, advice, unsafe)

    def __repr__(self) -> str:
        return f"{self.index} {self.name}"


def copies(
    ops: Iterable[Op], known: Mapping[Tensor, Tensor] | None = None
) -> tuple[list[Op], dict[Tensor, Tensor]]:
    """Copies of unfused operators, and the mapping from old to new tensors.

    The copies write new tensors and read the tensors in `known` instead of their keys; all other
    tensors are shared with the originals.
    """
    new = dict(known or {})
    result = []
    for op in ops:
        inputs = [None if tensor is None else new.get(tensor, tensor) for tensor in op.inputs]
        for tensor in op.outputs:
            new.setdefault(tensor, replace(tensor))
        outputs = [new[tensor] for tensor in op.outputs]
        result.append(
            Op(
                op.name,
                inputs,
                outputs,
                op.attrs,
                op.index,
                op.version,
                intermediates=op.intermediates,
                origins=op.origins,
            )
        )
    return result, new
