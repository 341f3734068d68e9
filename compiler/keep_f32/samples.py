"""Inputs on which errors are measured, and what LiteRT computes from them."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...runtime.plan.records import TensorInfo
from ..frontend.model_file import Model
from ..ir import Array, Shape
from ..litert.child import LONGEST_RUN, Child
from ..trial_input import trial_input
from .losses import relative_error

PATCHES = 8  # Rows and columns of even patches in an input like a picture.
SEED = 7


class Samples:
    """A few inputs of different kinds, always the same, with LiteRT's outputs for each.

    Floats are drawn evenly from [-1, 1] and from [0, 1], from a normal distribution, and in patches
    with edges between them, as in pictures: what half precision costs depends on the inputs. Those
    with which the model leaves the range of single precision are left out, unless all are such.
    """

    def __init__(self, model: Model, inputs: Sequence[TensorInfo], signature: str) -> None:
        """Raises what LiteRT raises for the model (ModelError)."""
        self.inputs: list[dict[str, Array]] = []
        for kind in range(4):
            arrays = {info.name: _draw(info, kind) for info in inputs}
            if not any(_equal(arrays, others) for others in self.inputs):
                self.inputs.append(arrays)
        with Child(LONGEST_RUN) as child:
            runs = [child.run(model, arrays, signature) for arrays in self.inputs]
        self._expected = [[array for _, array in outputs] for outputs in runs]
        finite = [number for number, found in enumerate(self._expected) if _finite(found)]
        if finite:
            self.inputs = [self.inputs[number] for number in finite]
            self._expected = [self._expected[number] for number in finite]

    def error(self, number: int, found: Sequence[Array]) -> float:
        """The largest error of the outputs for the input of that number."""
        outputs = zip(found, self._expected[number], strict=True)
        return max(relative_error(actual, expected) for actual, expected in outputs)


def _equal(arrays: Mapping[str, Array], others: Mapping[str, Array]) -> bool:
    return all(np.array_equal(array, others[name]) for name, array in arrays.items())


def _finite(outputs: Sequence[Array]) -> bool:
    return all(np.isfinite(array).all() for array in outputs if array.dtype.kind == "f")


def _draw(info: TensorInfo, kind: int) -> Array:
    plain = trial_input(info)
    if not kind or plain.dtype.kind != "f":
        return plain
    generator = np.random.default_rng(SEED + kind)
    values = (
        generator.random(info.shape),
        generator.standard_normal(info.shape),
        _patches(info.shape, generator),
    )
    return values[kind - 1].astype(plain.dtype)


def _patches(shape: Shape, generator: np.random.Generator) -> Array:
    """Numbers in [-1, 1] that are equal within patches of the axes but the first and the last."""
    inner = range(1, len(shape) - 1)
    few = [min(PATCHES, size) if axis in inner else size for axis, size in enumerate(shape)]
    values = generator.uniform(-1, 1, few)
    for axis in inner:
        places = np.arange(shape[axis]) * few[axis] // max(1, shape[axis])
        values = np.take(values, places, axis)
    return values
