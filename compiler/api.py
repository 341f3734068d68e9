"""`compile`: what a program that uses tflgpu calls."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from warnings import warn

from ..runtime import load
from .emit.compiled_model import fallback_text
from .errors import FallbackWarning
from .options import Fallback, Options, Precision, TargetName
from .pipeline import Model, build, store


def compile(
    model: Model,
    cache: str | os.PathLike[str],
    *,
    target: TargetName = "opencl",
    precision: Precision = "f32",
    device: str = "auto",
    fallback: Fallback = "litert",
    fallback_ops: Sequence[str | int] = (),
    signature: str = "",
    tuning: str | os.PathLike[str] = "",
    input_shapes: Mapping[str, Sequence[int]] | None = None,
    disable_passes: Sequence[str] = (),
    keep_intermediates: bool = False,
    prebuild: str = "",
) -> Path:
    """Compile a model into a cache directory and return the folder it is compiled to.

    Args:
        model: A .tflite file, or its content.
        cache: The cache directory; it is made if it is not there.
        target: The language of the kernels. Plans for vulkan and metal are for other runtimes.
        precision: "f32", or "f16": slices of activations are stored in half precision, computed in
            single; weights stay float32.
        device: "auto", part of the name of an attached device, or the name of a device profile or
            its file.
        fallback: Where operators run that the device cannot run: on LiteRT, with a FallbackWarning
            that lists them; or "none", and they are an UnsupportedError.
        fallback_ops: Names and positions of operators that are to run on LiteRT in any case.
        signature: Which of the model's signatures to compile, whose names its inputs and outputs
            then have; "" for the first subgraph, whose tensors keep their own names.
        tuning: A file of tuned tiles and work-groups, which `tflgpu compile --tune` makes.
        input_shapes: Shapes for inputs, by name, instead of the model's.
        disable_passes: Names of rewrites to leave out, to find the one at fault.
        keep_intermediates: Give every intermediate tensor its own memory, so that all can be read
            after a run.
        prebuild: An attached device, as `device` of `tflgpu.load` names it, whose driver compiles
            the kernels now and not at the first load.

    Raises:
        ModelError: The file is not a model that can be read.
        UnsupportedError: Operators cannot run; `findings` lists all of them.
        OptionError: An option has a value that does not exist, or two contradict each other.
        PlanError: The cache is unusable.
        TflgpuError: With `prebuild` also what `tflgpu.load` raises.
    """
    options = Options(
        target=target,
        precision=precision,
        device=device,
        fallback=fallback,
        fallback_ops=tuple(fallback_ops),
        signature=signature,
        tuning=os.fspath(tuning),
        input_shapes=tuple((name, tuple(shape)) for name, shape in (input_shapes or {}).items()),
        disable_passes=tuple(disable_passes),
        keep_intermediates=keep_intermediates,
    )
    compiled = build(model, options)
    if compiled.fallback:
        warn(fallback_text(compiled.report["fallback"]), FallbackWarning, stacklevel=2)
    folder = store(compiled, Path(cache))
    if prebuild:
        build_kernels(folder, prebuild)
    return folder


def build_kernels(folder: Path, device: str) -> None:
    """Compile the kernels of a variant for an attached device and store them beside the plan.

    `device` is as in `tflgpu.load`, and so are the errors. The plan does not change.
    """
    load(folder, device=device).close()
