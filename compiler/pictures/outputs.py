"""The outputs of a run as real numbers, and which of them have which form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...runtime.errors import InputError
from ...runtime.plan.records import TensorInfo
from ..frontend.metadata import Metadata
from ..ir import Array
from ..side_file import read_text


@dataclass(frozen=True)
class Output:
    name: str
    values: Array  # Real numbers: quantized outputs are dequantized.
    step: float = 0.0  # The scale of a quantized output.
    # The names of classes that the model's metadata gives for this output.
    labels: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
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
        Output(
            info.name,
            _real(results[info.name], info),
            info.scale,
            known[n].labels if known else (),
        )
        for n, info in enumerate(infos)
        if info.dtype != "string"
    ]


def _real(array: Array, info: TensorInfo) -> Array:
    values = array.astype(np.float64)
    return (values - info.zero_point) * info.scale if info.scale else values


BEST = 5


@dataclass(frozen=True)
class Class:
    index: int
    label: str
    score: float


def scores_of(outputs: Sequence[Output]) -> Output | None:
    """The first output with one score for each class; None if there is none."""
    for output in outputs:
        if output.shape and output.shape[-1] == output.values.size > 1:
            return output
    return None


def are_probabilities(output: Output) -> bool:
    """Whether the scores add up to 1, as those of SOFTMAX do; those of bytes nearly.

    Scores below half a step count as 0, and are many where there are many classes.
    """
    values = output.values
    rounded_off = output.step / 2 * np.count_nonzero(values == 0)
    return bool(values.min() >= 0 and 0.95 - rounded_off < values.sum() < 1.05)


def best_classes(output: Output, names: Sequence[str]) -> list[Class]:
    """The classes with the highest scores, the best one first."""
    scores = output.values.reshape(-1)
    order = np.argsort(-scores, kind="stable")[:BEST]
    return [Class(i, label(names, i), float(scores[i])) for i in map(int, order)]


def read_labels(path: Path) -> tuple[str, ...]:
    """The lines of a file of class names (InputError)."""
    names = read_text(path, "the labels in", InputError).splitlines()
    if not names:
        raise InputError(f"{path} contains no labels; it must have one per line")
    return tuple(names)


def label(names: Sequence[str], number: int) -> str:
    """The name of a class, or its number if it has none."""
    return names[number] if 0 <= number < len(names) else f"class {number}"
