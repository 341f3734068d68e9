"""What rounding to half precision costs at the outputs of a model, by runs of copies on LiteRT.

A copy rounds weights and tensors:

    t = CONV_2D(x, w, b)   y = RELU(t)
    becomes
    t = CONV_2D(x, half w, half b)   h = CAST(t): float16   r = CAST(h): float32   y = RELU(r)

One is made for each set of roundings that is tried, so that a run takes about as long as one of
the model: no device takes part, and no kernel is compiled.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import inf

import numpy as np

from ..frontend.writer import write
from ..ir import Array, Graph, Op, Tensor, constant
from ..litert.reference import Reference

# What is rounded: a tensor, by its name, or the weights of an operator, by its index.
Rounding = str | int


def roundings(graph: Graph, stored: Collection[str]) -> dict[int, frozenset[Rounding]]:
    """What can be rounded of each operator, by its index, in the order of execution: the tensors
    that it reads and writes, of those `stored` in half precision, and its weights.
    """
    found = {}
    for op in graph.ops:
        own: set[Rounding] = {
            tensor.name for tensor in (*op.reads, *op.outputs) if _can_round(tensor, stored)
        }
        found[op.index] = frozenset(own | {op.index} if _has_weights(op) else own)
    return found


def rounded_copy(graph: Graph, rounded: Collection[Rounding]) -> bytes:
    """The copy as a model file; the graph is the copy from then on."""
    tensors = [tensor for tensor in graph.tensors if tensor.name in rounded]
    for op in graph.ops:
        if op.index in rounded:
            graph.set_inputs(op, [None if each is None else _halved(each) for each in op.inputs])
    for tensor in tensors:
        half = Tensor(f"{tensor.name}/half", tensor.shape, "float16")
        result = Tensor(f"{tensor.name}/rounded", tensor.shape)
        graph.replace(tensor, result)
        graph.add(Op("CAST", (tensor,), (half,)))
        graph.add(Op("CAST", (half,), (result,)))
    return write(graph)


def _can_round(tensor: Tensor, stored: Collection[str]) -> bool:
    """Whether a tensor is one of floats that a device stores in half precision."""
    return tensor.name in stored and tensor.dtype == "float32" and not tensor.variable


def _has_weights(op: Op) -> bool:
    """Whether an operator reads constants that kernels store in half precision."""
    if any(tensor.dtype != "float32" for tensor in op.outputs):
        return False
    return any(_is_weight(tensor) and tensor.elements > 1 for tensor in op.reads)


def _is_weight(tensor: Tensor) -> bool:
    return tensor.constant and tensor.dtype == "float32"


def _halved(tensor: Tensor) -> Tensor:
    """A constant of floats as half precision has it; any other tensor as it is."""
    if tensor.data is None or not _is_weight(tensor):
        return tensor
    return constant(f"{tensor.name}/half", _through_half(tensor.data))


def _through_half(values: Array) -> Array:
    """Floats as half precision has them, which are infinite beyond its range."""
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float32)


Sample = Sequence[Array]  # The inputs of a run, in their order.


class Losses:
    """Measures what sets of operators lose, and remembers it."""

    def __init__(
        self,
        read: Callable[[], Graph],
        stored: Collection[str],
        samples: Sequence[Sample],
        progress: Callable[[], None] = lambda: None,
    ) -> None:
        """`read` reads the model anew; `stored` names the tensors in half precision. `progress` is
        called before each set that is tried.

        ModelError if LiteRT cannot run the copies.
        """
        self._read, self._progress = read, progress
        self._roundings = roundings(read(), stored)
        self._everything = self._own(self._roundings)
        # The errors of as many samples as were needed, by what is rounded.
        self._known: dict[frozenset[Rounding], list[float]] = {}
        # The samples with the outputs without roundings.
        self._samples = list(zip(samples, self._outputs(frozenset(), samples), strict=True))
        lost = self._errors(self._everything, len(samples))
        # Those that lose most come first, as they decide most trials.
        order = sorted(range(len(samples)), key=lambda number: -lost[number])
        self._samples = [self._samples[number] for number in order]
        self._known[self._everything] = [lost[number] for number in order]

    @property
    def operators(self) -> list[int]:
        """The operators of which something can be rounded, in the order of execution."""
        return [op for op, own in self._roundings.items() if own]

    def of_rounding(self, ops: Iterable[int]) -> float:
        """The error if only these operators are rounded, for the sample that loses most."""
        return self._errors(self._own(ops), 1)[0]

    def suffices(self, kept: Iterable[int], tolerance: float) -> bool:
        """Whether all samples are within the tolerance if only these are not rounded."""
        rounded = self._everything - self._own(kept)
        return max(self._errors(rounded, len(self._samples), tolerance)) <= tolerance

    def _own(self, ops: Iterable[int]) -> frozenset[Rounding]:
        return frozenset[Rounding]().union(*(self._roundings[op] for op in ops))

    def _errors(
        self, rounded: frozenset[Rounding], count: int, most: float = inf
    ) -> Sequence[float]:
        """The errors of the first samples, so many or up to the first that exceeds `most`."""
        known = self._known.setdefault(rounded, [])
        if len(known) < count and max(known, default=0.0) <= most:
            self._progress()
            left = self._samples[len(known) : count]
            runs = self._outputs(rounded, [inputs for inputs, _ in left])
            for outputs, (_, exact) in zip(runs, left, strict=False):
                known.append(max(map(relative_error, outputs, exact)))
                if known[-1] > most:
                    break
        return known[:count]

    def _outputs(
        self, rounded: frozenset[Rounding], samples: Sequence[Sample]
    ) -> Iterator[Sequence[Array]]:
        """The outputs for each sample, one run after another."""
        copy = rounded_copy(self._read(), rounded)
        shapes = [array.shape for array in samples[0]]
        model = Reference(copy, input_shapes=shapes, kernels="XNNPACK")
        for inputs in samples:
            yield model.run(inputs)


def relative_error(actual: Array, expected: Array) -> float:
    """The largest difference, relative to the largest absolute value of `expected` or to 1.

    Infinite if one is not finite where the other is, or if shapes differ; 0 if equal.
    """
    if expected.dtype.kind != "f" or actual.shape != expected.shape:
        same = actual.shape == expected.shape and bool(np.all(actual == expected))
        return 0.0 if same else np.inf
    finite = np.isfinite(expected)
    if np.any(np.isfinite(actual) != finite):
        return np.inf
    wanted = expected[finite].astype(np.float64)
    difference = np.abs(actual[finite] - wanted).max(initial=0.0)
    return float(difference / max(1.0, np.abs(wanted).max(initial=0.0)))
