"""Verification: compares a compiled model with LiteRT on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ... import runtime
from ...runtime.plan.records import TensorInfo
from .. import pipeline
from ..devices.attached import attached_device
from ..frontend.model_file import Model
from ..ir import Array
from ..litert.child import try_run
from ..litert.every_tensor import every_tensor
from ..litert.reference import Reference
from ..options import Options
from ..scratch import scratch_folder

TOLERANCES = {"f32": 1e-4, "f32_f16": 1e-2, "f16": 1e-2}
"""Allowed error by precision, relative to the largest absolute value in the tensor or to 1."""

QUANTA = 3
"""Steps by which any quantized value may differ."""
OUTLIERS = 0.01
"""Share of the quantized values that may differ by more than one step."""

Feed = Callable[[Sequence[TensorInfo]], Mapping[str, Array]]
"""Returns the arrays for a model's inputs, by name."""


@dataclass(frozen=True)
class Comparison:
    """One tensor compared with what is expected: LiteRT's, or that of the kernel before an edit."""

    name: str
    max_error: float
    """Largest absolute difference; infinite if the two cannot be compared."""
    tolerance: float
    """Largest absolute difference allowed."""
    problem: str = ""
    """Any other difference, such as in shape; "" if there is none."""
    label: str = ""
    """Label of the dispatch that computes it, if all tensors are compared."""

    @property
    def ok(self) -> bool:
        """Whether the two agree."""
        return not self.problem and self.max_error <= self.tolerance

    def __str__(self) -> str:
        if self.problem:
            return f"{self.name} {self.problem}"
        return (
            f"{self.name} differs by {self.max_error:.3g}, but only {self.tolerance:.3g} is allowed"
        )


@dataclass(frozen=True)
class Verification:
    """The comparisons of a model with LiteRT."""

    outputs: tuple[Comparison, ...]
    """In the model's order."""
    layers: tuple[Comparison, ...] = ()
    """Intermediate tensors, in the order of dispatch, if they were compared."""

    @property
    def ok(self) -> bool:
        """Whether all tensors agree."""
        return self.departure is None

    @property
    def departure(self) -> Comparison | None:
        """The first tensor that does not agree, intermediate tensors before outputs."""
        return next((item for item in (*self.layers, *self.outputs) if not item.ok), None)


def verify(
    model: Model,
    options: Options,
    feed: Feed,
    *,
    layers: bool = False,
    progress: pipeline.Progress = pipeline.silent,
) -> Verification:
    """Compile into a temporary cache, run the model and LiteRT on the same arrays, and compare.

    LiteRT runs XNNPACK, as by default. With `layers` every tensor gets its own memory, and is
    compared with the tensor of that name. Raises what compiling and loading raise, and ModelError
    if LiteRT cannot run the model.
    """
    options = replace(options, keep_intermediates=layers or options.keep_intermediates)
    device = attached_device(options.device)
    with scratch_folder() as cache:
        path = pipeline.store(pipeline.build(model, options, progress), cache)
        progress("load", 0, 1)
        with runtime.load(path, device=device, store_binaries=False) as session:
            arrays = feed(session.inputs)
            progress("run", 0, 1)
            results = session.run(arrays)
            progress("LiteRT", 0, 1)
            ordered = [arrays[info.name] for info in session.inputs]
            given = dict(arrays) if options.signature else ordered
            try_run(model, given, options.signature, (True,))
            expected = litert_outputs(model, options.signature, session, arrays)
            outputs = tuple(
                compare(info.name, results[info.name], value, options.precision, info.scale)
                for info in session.outputs
                if (value := expected.get(info.name)) is not None
            )
            tensors: tuple[Comparison, ...] = ()
            if layers:
                every = every_tensor(model, options.signature, arrays)
                tensors = compare_layers(session, every, options.precision)
    return Verification(outputs, tensors)


def litert_outputs(
    model: Model, signature: str, session: runtime.Session, arrays: Mapping[str, Array]
) -> dict[str, Array]:
    """LiteRT's outputs, by the session's output names; a signature may omit some."""
    if signature:
        called = Reference(model, delegates=True, signature=signature)
        return dict(zip((info.name for info in called.outputs), called.run(arrays), strict=True))
    shapes = [info.shape for info in session.inputs]
    reference = Reference(model, input_shapes=shapes, delegates=True)
    results = reference.run([arrays[info.name] for info in session.inputs])
    return dict(zip((info.name for info in session.outputs), results, strict=True))


def compare_layers(
    session: runtime.Session, every: Mapping[str, tuple[TensorInfo, Array]], precision: str
) -> tuple[Comparison, ...]:
    """Compare every tensor that a dispatch writes and LiteRT also has, in the order of dispatch.

    Kernels compute with quantized integers less their zero points, as floats.
    """
    plan = session.plan
    result = []
    computed = [tensor for tensor in plan.tensors if 0 <= tensor.first < len(plan.dispatches)]
    for tensor in sorted(computed, key=lambda tensor: tensor.first):
        if tensor.name in every:
            info, expected = every[tensor.name]
            actual = session.read(tensor.name)
            if actual.dtype.kind == "f" and expected.dtype.kind in "iu":
                actual = actual + info.zero_point
            comparison = compare(tensor.name, actual, expected, precision, info.scale)
            result.append(replace(comparison, label=plan.dispatches[tensor.first].label))
    return tuple(result)


def compare(
    name: str,
    actual: Array,
    expected: Array,
    precision: str = "f32",
    scale: float = 0.0,
    whose: str = "LiteRT's",
    tolerance: float | None = None,
) -> Comparison:
    """Compare an array with an expected one in shape, NaN and infinities, and values.

    Floats may differ by the tolerance, by default the precision's, * max(1, largest absolute
    value), quantized integers (`scale` is not 0) by `QUANTA`, and other integers not at all.
    Problems say `whose` the expected array is.
    """
    floating = expected.dtype.kind == "f"
    relative = TOLERANCES[precision] if tolerance is None else tolerance
    tolerance = 0.0 if floating or not scale else float(QUANTA)
    if actual.shape != expected.shape:
        problem = f"has the shape {list(actual.shape)}, but {whose} is {list(expected.shape)}"
        return Comparison(name, inf, tolerance, problem)
    if expected.dtype.kind in "SO":
        same_text = actual.tolist() == expected.tolist()
        return Comparison(name, 0.0, 0.0, "" if same_text else f"has other strings than {whose}")
    got, wanted = actual.astype(np.float64), expected.astype(np.float64)
    if floating:
        finite = np.abs(wanted[np.isfinite(wanted)])
        tolerance = relative * max(1.0, float(finite.max(initial=0.0)))
        if problem := _special_values(got, wanted, whose):
            return Comparison(name, inf, tolerance, problem)
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    error = np.abs(np.subtract(got, wanted, out=np.zeros_like(got), where=~same))
    outliers = float(np.mean(error > 1)) if error.size and tolerance == QUANTA else 0.0
    problem = f"differs by more than one step in {outliers:.1%} of its elements"
    return Comparison(
        name, float(error.max(initial=0.0)), tolerance, problem if outliers > OUTLIERS else ""
    )


def _special_values(actual: Array, expected: Array, whose: str) -> str:
    """How the NaN and infinities of two arrays differ; "" if they agree."""
    kinds: tuple[tuple[str, Any], ...] = (
        ("NaN", np.isnan),
        ("infinite", np.isposinf),
        ("negatively infinite", np.isneginf),
    )
    for kind, test in kinds:
        wrong = test(actual) != test(expected)
        if wrong.any():
            first = [int(place[0]) for place in np.nonzero(wrong)]
            has, has_not = ("is", "is not") if test(actual)[tuple(first)] else ("is not", "is")
            return (
                f"{has} {kind} at {first} where {whose} {has_not} "
                f"({np.count_nonzero(wrong)} of {wrong.size} elements)"
            )
    return ""
