"""A kernel of a compiled model that was changed by hand: tried, and kept in its variant."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from ....runtime.cache.folder import newest_first
from ....runtime.cache.variant import Variant, as_compiled, check_text, read_variant
from ....runtime.drivers import RUNNABLE, open_device
from ....runtime.errors import InputError, PlanError
from ....runtime.execution.inputs import arrays_for
from ....runtime.plan.kernels import Kernel
from ....runtime.plan.records import Plan
from ....runtime.session import Session
from ...emit.edits import Edited, apply_edits
from ...emit.folder import pack
from ...frontend.model_file import Model
from ...ir import Array
from ...litert.variations import litert_outputs
from ...side_file import read_text
from ...trial_input import random_input
from ..comparison import Comparison, compare
from .launches import ORIGINAL, LaunchTrial, try_launches

ROUNDS = 20  # Timed runs of the whole model with either kernel, in turns.


@dataclass(frozen=True)
class Trial:
    """An edited kernel compared with the original, which the compiler has written."""

    folder: Path
    kernel: str
    launches: tuple[LaunchTrial, ...]
    outputs: tuple[Comparison, ...]  # The model's outputs, compared with the original's.
    # The outputs, compared with LiteRT's; empty if no model was given.
    litert: tuple[Comparison, ...]
    before: float  # Median seconds of a run of the whole model with the original.
    after: float  # Median seconds of a run with the edited kernel.
    # `after` by `before`, of runs that took turns; below 1, the edited kernel is faster.
    ratio: float
    kept: bool  # Whether the variant now contains the edited kernel.

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        launched = (item for launch in self.launches for item in launch.outputs)
        return (*launched, *self.outputs, *self.litert)

    @property
    def ok(self) -> bool:
        return all(item.ok for item in self.comparisons)


def edit_kernel(
    cache: str | os.PathLike[str],
    kernel: str | int,
    source: str | os.PathLike[str],
    *,
    model: Model | None = None,
    inputs: Mapping[str, Array] | None = None,
    device: str = "auto",
    tolerance: float | None = None,
    keep: bool = False,
) -> Trial:
    """Try a kernel that was changed by hand: compare its results and its time with the original's.

    Args:
        cache: The folder of a variant, or a cache with one model, of which it is the variant
            compiled last.
        kernel: The kernel's index, its name, or a part of its name.
        source: The changed text of its file as a str, or the path of a file with it as a Path.
        model: The model file or its content, to compare the outputs with LiteRT's as well.
        inputs: The model's inputs by name; by default random numbers.
        device: As in `tflgpu.load`.
        tolerance: The error allowed, relative to the largest absolute value or to 1; by default
            that of the variant's precision: 1e-4, or 1e-2 for f16.
        keep: Store the kernel in the variant if all results agree. `tflgpu cache verify` then lists
            it as edited, and sessions loaded from now on run it.

    Raises:
        BuildError: The driver rejects the text; `log` has its messages with the file's lines.
        InputError: There is no such kernel, or the text cannot replace the original.
        PlanError, DeviceError: As `tflgpu.load`.
        ModelError: LiteRT cannot run the model.
    """
    variant = _newest(cache)
    index = find_kernel(variant.plan, str(kernel))
    if isinstance(source, str):
        text, file = source, variant.plan.kernels[index].file
    else:
        text, file = read_source(source), str(source)
    edited = _edited(variant, {index: text})
    plan, sources = as_compiled(variant)
    original = replace(variant, plan=plan, texts=sources)
    changed = replace(variant, plan=edited.plan, texts=edited.sources)
    name = plan.kernels[index].name
    generator = np.random.default_rng(0)
    given = inputs or {info.name: random_input(info, generator) for info in plan.inputs}
    arrays = arrays_for(plan.inputs, given)
    named = {info.name: array for info, array in zip(plan.inputs, arrays, strict=True)}

    def opened() -> Any:
        return open_device(device, [plan.target])

    launches = try_launches(original, index, text, file, opened(), arrays, tolerance)
    with Session(original, opened()) as first, Session(changed, opened()) as second:
        expected, results = first.run(named), second.run(named)
        outputs = _compared(plan, results, expected, ORIGINAL, tolerance)
        litert = _litert(plan, model, named) if model is not None else {}
        before, after = _timed(first, second, named)
    trial = Trial(
        variant.folder,
        name,
        launches,
        outputs,
        _compared(plan, results, litert, "LiteRT's", tolerance),
        median(before),
        median(after),
        median(after) / median(before),
        kept=False,
    )
    if not (keep and trial.ok):
        return trial
    _store(variant, edited)
    return replace(trial, kept=True)


def revert_kernel(cache: str | os.PathLike[str], kernel: str | int) -> Path:
    """Put the compiler's text of an edited kernel back; returns the variant's folder.

    `cache` and `kernel` are those of `edit_kernel`. InputError if the kernel is not edited;
    PlanError if the variant is damaged.
    """
    variant = _newest(cache)
    index = find_kernel(variant.plan, str(kernel))
    if index not in variant.plan.edits:
        raise InputError(f"kernel {variant.plan.kernels[index].name} is not edited")
    _, sources = as_compiled(variant)
    return _store(variant, _edited(variant, {index: sources[variant.plan.kernels[index].file]}))


def _newest(cache: str | os.PathLike[str]) -> Variant:
    """The variant of a cache that was compiled last."""
    return read_variant(newest_first(Path(cache))[0][0])


def find_kernel(plan: Plan, wanted: str) -> int:
    """The index of a kernel, given as that, as a name or file, or a part of it (InputError)."""
    if wanted.isdecimal() and int(wanted) < len(plan.kernels):
        return int(wanted)
    named = list(enumerate(plan.kernels))
    exact = [index for index, kernel in named if wanted in (kernel.name, kernel.file)]
    found = exact or [index for index, k in named if wanted in k.name or wanted in k.file]
    if len(found) == 1:
        return found[0]
    names = ", ".join(plan.kernels[index].name for index in found or range(len(named)))
    reason = "matches several kernels" if found else "matches no kernel; choose one of"
    raise InputError(f"{wanted!r} {reason}: {names}")


def read_source(path: os.PathLike[str]) -> str:
    """The text of a kernel's file (InputError)."""
    return read_text(path, "the kernel", InputError)


def _edited(variant: Variant, changes: Mapping[int, str]) -> Edited:
    """The variant with these texts of kernels beside those edited before (InputError)."""
    plan, sources = as_compiled(variant)
    texts = {index: variant.sources[plan.kernels[index].file] for index in variant.plan.edits}
    for index, text in changes.items():
        check_editable(plan, index)
        try:
            check_text(f"the text of {plan.kernels[index].name}", text)
        except PlanError as error:
            raise InputError(str(error)) from error
        texts[index] = text
    return apply_edits(plan, sources, texts)


def check_editable(plan: Plan, index: int) -> None:
    """InputError, which says what to edit instead, if a kernel cannot be edited."""
    kernel: Kernel = plan.kernels[index]
    if plan.target not in RUNNABLE:
        raise InputError(
            f"kernels for {plan.target} do not run here, so no change of them can be tried; "
            f"compile the model for {', '.join(RUNNABLE)}"
        )
    if plan.specializations:
        raise InputError(
            f"{plan.model} was compiled for several choices of input shapes, each with kernels of "
            f"its own; compile it for one of them into another cache, and edit that"
        )
    launched = {dispatch.kernel for dispatch in plan.dispatches}
    if index not in launched:
        parts = ", ".join(plan.kernels[body.kernel].name for body in kernel.bodies)
        raise InputError(
            f"{kernel.name} consists of other kernels; edit one of these, and it follows: {parts}"
        )


def _store(variant: Variant, edited: Edited) -> Path:
    files = [*edited.plan.companions]
    companions = {item.file: (variant.folder / item.file).read_bytes() for item in files}
    others = {**companions, **variant.parts, **edited.originals}
    content = variant.weights.content
    return pack(edited.plan, edited.sources, content, variant.folder, others, keep_edits=False)


def _compared(
    plan: Plan,
    results: Mapping[str, Array],
    expected: Mapping[str, Array],
    whose: str,
    tolerance: float | None,
) -> tuple[Comparison, ...]:
    """The outputs of the model that are expected."""
    return tuple(
        compare(
            info.name,
            results[info.name],
            expected[info.name],
            plan.precision,
            info.scale,
            whose,
            tolerance,
        )
        for info in plan.outputs
        if expected.get(info.name) is not None
    )


def _litert(plan: Plan, model: Model, arrays: Mapping[str, Array]) -> Any:
    """LiteRT's outputs, by the session's names (ModelError)."""
    options = json.loads(plan.options)
    if options.get("inputs") or options.get("outputs"):
        raise InputError(
            "the variant takes or returns pictures of bytes, which LiteRT does not; leave out the "
            "model to compare with the original alone"
        )
    found = litert_outputs(model, plan.signature, arrays)
    return {name: value for name, (_, value) in found.items()}


def _timed(
    first: Session, second: Session, arrays: Mapping[str, Array]
) -> tuple[list[float], list[float]]:
    """The seconds of runs of two sessions that take turns."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for session, found in zip((first, second), times, strict=True):
            start = perf_counter()
            session.run(arrays)
            found.append(perf_counter() - start)
    return times
