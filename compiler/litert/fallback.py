"""The fallback: moves operators to LiteRT, after checking that LiteRT can run them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from ..errors import Finding, ModelError, OptionError, PassError, UnsupportedError
from ..frontend.model_file import Model
from ..ir import Graph, Op, Shape, Tensor
from ..ops.litert_part import LITERT
from .child import Child
from .partition import Partition, partition
from .parts import part_file, part_inputs
from .reference import ReferenceMissingError

# What LiteRT's kernels of an operator and a type of results do, so that they must not run.
BEYOND_MEMORY = {
    (operator, dtype): f"LiteRT writes {dtype} as floats of 32 bits, beyond its memory"
    for operator, types in (
        ("FAKE_QUANT", ("bool", "float16", "int16", "int8", "uint16", "uint8")),
        ("MATRIX_DIAG", ("bool", "float16", "uint16")),
        ("MATRIX_SET_DIAG", ("bool", "float16", "uint16")),
    )
    for dtype in types
}

# What LiteRT says of an input or output: shape, None if known only in a run, and dtype.
Interface = tuple[list[int] | None, str]


class LitertShapes:
    """The shapes that LiteRT computes for a model, looked up when the first is needed."""

    def __init__(self, model: Model, input_shapes: Mapping[str, Shape]) -> None:
        self._model, self._input_shapes = model, input_shapes

    @cached_property
    def _shapes(self) -> Mapping[str, Shape | None]:
        with suppress(ModelError, ReferenceMissingError), Child() as child:
            model = self._model if isinstance(self._model, bytes) else os.fspath(self._model)
            found = child.ask("tensor_shapes", model, dict(self._input_shapes))
            return {name: None if shape is None else tuple(shape) for name, shape in found.items()}
        return {}  # what is wrong is reported when parts are handed to LiteRT

    def __call__(self, tensor: Tensor) -> Shape | None:
        """The shape of a tensor; None if it is known only while the model runs.

        The shape in the file if LiteRT is not installed or cannot load the model.
        """
        return self._shapes.get(tensor.name, tensor.shape)


def chosen_by_user(graph: Graph, wanted: Sequence[str | int]) -> dict[int, Finding]:
    """Findings for the operators that the user names for LiteRT, by index in the model file.

    `wanted` has names and indices; OptionError if one matches no operator, or one that LiteRT must
    not run.
    """
    findings = {}
    for item in wanted:
        matched = [op for op in graph.ops if item in (op.name, op.index)]
        if not matched:
            names = ", ".join(sorted({op.name for op in graph.ops}))
            raise OptionError(
                f"fallback_ops: the model has no operator {item!r}; it has {len(graph)}: {names}"
            )
        for op in matched:
            if wrong := beyond_memory(op):
                raise OptionError(
                    f"fallback_ops: operator {op.index} {op.name} must stay on the device: {wrong}"
                )
            findings[op.index] = op.finding("the option fallback_ops names it")
    return findings


def hand_over(
    graph: Graph, hosted: dict[Op, Finding], chosen: Mapping[int, Finding], allowed: bool
) -> tuple[Finding, ...]:
    """Move what the device cannot run, and what is `chosen` by index, to parts on LiteRT.

    Returns and raises what `fall_back` does; UnsupportedError, too, if LiteRT is not `allowed`, and
    for what it must not run, even if the user names it.
    """
    if not allowed and hosted:
        raise UnsupportedError(in_order(hosted.values()))
    if unsafe := [finding for finding in hosted.values() if finding.unsafe]:
        raise UnsupportedError(in_order(unsafe))
    for op in graph.ops:
        for origin in op.origins:
            if origin.index in chosen:
                hosted[op] = chosen[origin.index]
    return fall_back(graph, hosted) if hosted else ()


def fall_back(graph: Graph, hosted: Mapping[Op, Finding]) -> tuple[Finding, ...]:
    """Move operators, and those that must run with them, to parts on LiteRT.

    If LiteRT cannot run a part, small regions stay on the device; if it still cannot, the whole
    model becomes one part. Returns the findings of all operators on LiteRT, in the order of the
    model file. UnsupportedError if LiteRT cannot run the whole model either,
    ReferenceMissingError if it is not installed.
    """
    reason = "LiteRT cannot run the other operators without the whole model"
    everything = {
        op: op.finding(reason)
        for op in graph.ops
        # Operators of formats stand for none of the file.
        if op.origins and op.name != LITERT
    } | dict(hosted)
    failures: list[tuple[Finding, ...]] = []
    with Child() as child:
        for moved, weighed in ((hosted, True), (hosted, False), (everything, True)):
            found = partition(graph, moved, weighed)
            failures.append(_failures(graph, found, child))
            if not failures[-1]:
                found.apply(graph)
                return in_order(found.findings.values())
    raise UnsupportedError(failures[1])  # of the fewest operators


def beyond_memory(op: Op) -> str | None:
    """What LiteRT's kernel of an operator does, if it must not run; None for all others."""
    return BEYOND_MEMORY.get((op.name, op.outputs[0].dtype)) if op.outputs else None


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding per operator of the model file, in its order."""
    by_index = {finding.index: finding for finding in findings}
    return tuple(by_index[index] for index in sorted(by_index))


def _failures(graph: Graph, found: Partition, child: Child) -> tuple[Finding, ...]:
    """The findings of the parts that LiteRT cannot run, with its messages, or must not run."""
    failures = [
        replace(finding, reason=f"{finding.reason}, but {wrong}", unsafe=True)
        for op, finding in found.findings.items()
        if (wrong := beyond_memory(op))
    ]
    if failures:
        return in_order(failures)
    for part in found.parts:
        own = in_order(found.findings[op] for op in part.core)
        try:
            inputs, outputs = child.ask("interface", part_file(graph, part))
            _check_interface(graph, part, inputs, outputs)
        except (ModelError, PassError) as error:
            failures += (replace(item, reason=f"{item.reason}; {error}") for item in own)
        except ReferenceMissingError as error:
            raise ReferenceMissingError(f"{UnsupportedError(own)}\n{error}") from error
    return in_order(failures)


def _check_interface(
    graph: Graph, part: Op, inputs: Sequence[Interface], outputs: Sequence[Interface]
) -> None:
    """ModelError if LiteRT has other shapes or types than the rest of the model relies on."""
    tensors = [*part_inputs(graph, part), *part.outputs]
    found = [*inputs, *outputs]
    if len(found) != len(tensors):
        raise ModelError(f"LiteRT takes and computes {len(found)} tensors, not {len(tensors)}")
    for tensor, (shape, dtype) in zip(tensors, found, strict=True):
        if dtype != tensor.dtype:
            raise ModelError(f"LiteRT has {tensor.name} as {dtype}, not as {tensor.dtype}")
        if shape not in (None, list(tensor.shape)) and not tensor.dynamic:
            raise ModelError(
                f"LiteRT computes the shape {shape} for {tensor.name} instead of "
                f"{list(tensor.shape)}"
            )
