"""Which operators run on LiteRT instead of the device, and LiteRT's consent to run them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import Finding, ModelError, OptionError, PassError, UnsupportedError
from ..ir import Graph, Op, Shape, Tensor
from .partition import Partition, partition
from .parts import part_file
from .reference import Model, Reference, ReferenceMissingError, result_shapes


class ForeignShapes:
    """The shapes that LiteRT gives the tensors of a model, asked for when the first is needed."""

    def __init__(self, model: Model, input_shapes: Mapping[str, Shape]) -> None:
        self._model, self._input_shapes = model, input_shapes
        self._shapes: Mapping[str, Shape | None] | None = None

    def __call__(self, tensor: Tensor) -> Shape | None:
        """The shape of a tensor, None if only a run tells it; what the file says if none knows."""
        if self._shapes is None:
            try:
                reference = Reference(
                    self._model, input_shapes=self._input_shapes, keep_intermediates=True
                )
                self._shapes = reference.tensor_shapes()
            except (ModelError, ReferenceMissingError):
                self._shapes = {}  # said where the parts are handed to LiteRT
        return self._shapes.get(tensor.name, tensor.shape)


def chosen_by_user(graph: Graph, wanted: Sequence[str | int]) -> dict[int, Finding]:
    """Findings by position for the operators of those names and positions in the model file.

    OptionError for one that is not there.
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
            findings[op.index] = Finding(op.index, op.name, "fallback_ops names it")
    return findings


def fall_back(graph: Graph, hosted: Mapping[Op, Finding]) -> tuple[Finding, ...]:
    """Let LiteRT run some operators, and what has to run with them.

    If LiteRT refuses a part it is asked to run the whole model. Returns why operators run there, in
    the order of the model file. Raises UnsupportedError if LiteRT refuses that, too, and
    ReferenceMissingError if it is not installed.
    """
    found = partition(graph, hosted)
    refusal = _refusal(graph, found)
    if refusal is not None:
        reason = "LiteRT does not run the rest of the model alone"
        everything = {op: Finding(op.index, op.name, reason) for op in graph.ops}
        found = partition(graph, everything | dict(hosted))
        if _refusal(graph, found) is not None:
            raise UnsupportedError(refusal)
    found.apply(graph)
    return in_order(found.findings.values())


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each operator of the model file, in its order."""
    by_index = {finding.index: finding for finding in findings}
    return tuple(by_index[index] for index in sorted(by_index))


def _refusal(graph: Graph, found: Partition) -> tuple[Finding, ...] | None:
    """What LiteRT says against a part, added to why its operators are to run there."""
    for part in found.parts:
        own = in_order(found.findings[op] for op in part.core)
        try:
            _check_shapes(part, result_shapes(part_file(graph, part)))
        except (ModelError, PassError) as error:
            return tuple(
                Finding(item.index, item.operator, f"{item.reason}; {error}", item.advice)
                for item in own
            )
        except ReferenceMissingError as error:
            raise ReferenceMissingError(f"{UnsupportedError(own)}\n{error}") from error
    return None


def _check_shapes(part: Op, shapes: Sequence[Shape | None]) -> None:
    """ModelError if LiteRT gives results other shapes than the rest of the model relies on."""
    for tensor, shape in zip(part.outputs, shapes, strict=True):
        if shape not in (None, tensor.shape) and not tensor.dynamic:
            given, expected = list(shape or ()), list(tensor.shape)
            raise ModelError(f"LiteRT gives {tensor.name} the shape {given}, not {expected}")
