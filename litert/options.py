"""The options of LiteRT's `CompiledModel`. They are accepted, and make no difference here."""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class HardwareAccelerator(enum.IntFlag):
    """Where LiteRT may run a model. tflgpu runs it on its own device in any case."""

    CPU = 1
    GPU = 2
    NPU = 4


class CpuKernelMode(enum.IntEnum):
    """Which of its kernels for CPUs LiteRT runs."""

    DELEGATE = 0
    XNNPACK = 0
    REFERENCE = 1
    BUILTIN = 2


@dataclass
class CpuOptions:
    num_threads: int = 0
    kernel_mode: CpuKernelMode | None = None
    enable_ynnpack: bool = False
    xnnpack_flags: int | None = None
    xnnpack_weight_cache_path: str = ""


@dataclass
class GpuOptions:
    enforce_f32: bool = False
    constant_tensor_sharing: bool = False
    infinite_float_capping: bool = False
    benchmark_mode: bool = False
    allow_src_quantized_fc_conv_ops: bool = False
    hint_waiting_for_completion: bool = False


@dataclass
class Options:
    hardware_accelerators: HardwareAccelerator = HardwareAccelerator.CPU
    cpu_options: CpuOptions = field(default_factory=CpuOptions)
    gpu_options: GpuOptions = field(default_factory=GpuOptions)

    @classmethod
    def create(cls) -> Options:
        return cls()


@dataclass(frozen=True)
class EnvironmentOptions:
    """Where LiteRT finds its libraries."""

    runtime_path: str | None = None
    compiler_plugin_path: str = ""
    dispatch_library_path: str = ""


class Environment:
    """What LiteRT's models share. tflgpu needs nothing of the kind."""

    def __init__(self, options: EnvironmentOptions) -> None:
        self.options = options

    @classmethod
    def create(
        cls,
        *,
        options: EnvironmentOptions | str | None = None,
        runtime_path: str | None = None,
        compiler_plugin_path: str = "",
        dispatch_library_path: str = "",
    ) -> Environment:
        """An environment with options, or with paths (ValueError for both)."""
        paths = (runtime_path, compiler_plugin_path, dispatch_library_path)
        if isinstance(options, EnvironmentOptions):
            if any(paths):
                raise ValueError("Pass either options or environment path shortcuts.")
            return cls(options)
        if options is not None and runtime_path is not None:
            raise ValueError("runtime_path was provided twice.")
        return cls(
            EnvironmentOptions(options or runtime_path, compiler_plugin_path, dispatch_library_path)
        )

    def close(self) -> None:
        """Does nothing."""

    def __enter__(self) -> Environment:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Delegate:
    """A delegate that is accepted and not used. Its library is not loaded."""

    def __init__(
        self, library: str | os.PathLike[str], options: Mapping[str, Any] | None = None
    ) -> None:
        self.library = os.fspath(library)
        self.options = dict(options or {})


def load_delegate(
    library: str | os.PathLike[str], options: Mapping[str, Any] | None = None
) -> Delegate:
    """A `Delegate` for LiteRT's interface; a warning says that its library is not loaded."""
    warnings.warn(
        f"tflgpu does not load the delegate {os.fspath(library)}: it runs models on its own device",
        stacklevel=2,
    )
    return Delegate(library, options)
