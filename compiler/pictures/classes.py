"""Classification: names of classes, and the best of an output with one score for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...runtime.errors import InputError
from ..side_file import read_text
from .outputs import Output

BEST = 5
"""Most classes that are shown."""


@dataclass(frozen=True)
class Class:
    """A class and its score."""

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
    """Whether the scores add up to 1, as those of SOFTMAX do; those of bytes nearly."""
    values = output.values
    return bool(values.min() >= 0 and abs(values.sum() - 1) < 0.05)


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
