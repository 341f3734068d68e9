"""One situation an operator is tested in; the other files of this folder are tables of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphs import Value

from tflgpu.runtime.litert.module import KernelSet

# Activations that LiteRT's own kernels apply; its convolutions pass over others silently.
ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass(frozen=True, eq=False)
class Case:
    """One situation: the operator it is about, what is special, and what is computed."""

    operator: str
    situation: str
    value: Value | Sequence[Value]
    # What LiteRT runs in its place, where it does not run the value itself.
    oracle: Value | Sequence[Value] | None = None
    # LiteRT's kernels; quantized operators repeat the rounding of XNNPACK.
    kernels: KernelSet = "built-in"

    @property
    def values(self) -> tuple[Value, ...]:
        """What is computed, one value or several."""
        return tuple(self.value) if isinstance(self.value, Sequence) else (self.value,)

    @property
    def name(self) -> str:
        return f"{self.operator} {self.situation}"
