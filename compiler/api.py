"""`compile`: what a program that uses tflgpu calls."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from warnings import warn

from ..runtime import load
from .emit.compiled_model import fallback_text
from .errors import FallbackWarning, OptionError
from .options import Options
from .pipeline import Model, build, store


def compile(
    model: Model, cache: str | os.PathLike[str], *, prebuild: str = "", **options: Any
) -> Path:
    """Compile a model into a cache directory and return the folder it is compiled to.

    `options` are the fields of `Options`. `prebuild` names an attached device, as `device` of
    `tflgpu.load` does: its driver's compiler runs now and not at the first load. Raises ModelError
    for a bad model, UnsupportedError for operators that cannot run, OptionError for an option,
    PlanError where the cache is unusable; with `prebuild` also what `tflgpu.load` raises. A
    FallbackWarning lists the operators that run on LiteRT instead of the device.
    """
    compiled = build(model, make_options(options))
    if compiled.fallback:
        warn(fallback_text(compiled.report["fallback"]), FallbackWarning, stacklevel=2)
    folder = store(compiled, Path(cache))
    if prebuild:
        build_kernels(folder, prebuild)
    return folder


def make_options(options: Mapping[str, Any]) -> Options:
    """Options from keyword arguments (OptionError for one that does not exist)."""
    unknown = sorted(options.keys() - set(Options.names()))
    if unknown:
        raise OptionError(f"no option {', '.join(unknown)}; there are {', '.join(Options.names())}")
    return Options(**options)


def build_kernels(folder: Path, device: str) -> None:
    """Compile the kernels of a variant for an attached device and store them beside the plan.

    `device` is as in `tflgpu.load`, and so are the errors. The plan does not change.
    """
    load(folder, device=device).close()
