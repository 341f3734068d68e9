"""The outputs of a run as real numbers, and which of them have which form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...runtime.plan.records import TensorInfo
from ..frontend.metadata import Metadata
from ..ir import Array


@dataclass(frozen=True)
class Output:
    """An output of a run."""

    name: str
    values: Array
    """Real numbers: quantized outputs are dequantized."""
    labels: tuple[str, ...] = ()
    """The names of classes that the model's metadata gives for this output."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.values.shape

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers, as those of classes are."""
        return bool(np.all(self.values == np.rint(self.values)))


def real_outputs(
    infos: Sequence[TensorInfo], results: Mapping[str, Array], metadata: Metadata
) -> list[Output]:
    """The outputs of a run that are numbers, in the model's order."""
    known = metadata.outputs if len(metadata.outputs) == len(infos) else ()
    return [
        Output(info.name, _real(results[info.name], info), known[n].labels if known else ())
        for n, info in enumerate(infos)
        if info.dtype != "string"
    ]


def _real(array: Array, info: TensorInfo) -> Array:
    values = array.astype(np.float64)
    return (values - info.zero_point) * info.scale if info.scale else values
