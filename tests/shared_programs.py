"""How tests compile kernels: hastily, and what a driver has compiled for one, others restore.

Compiling takes seconds for a network that dozens of tests load, and restoring a tenth of that.
Most kernels run once or twice, which takes a fraction of the time in which drivers optimize them.
Kernels that a change leaves as they were are restored when tests run again, too.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from hashlib import sha256
from inspect import unwrap
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from tflgpu.runtime.cache.binaries import device_key
from tflgpu.runtime.opencl.info import describe
from tflgpu.runtime.opencl.library import OwnedHandles
from tflgpu.runtime.opencl.programs import OpenCLPrograms, Program
from tflgpu.runtime.plan.kernels import Kernel

Build = Callable[[OpenCLPrograms, Sequence[Kernel], str, Mapping[str, str]], list[Program]]

KEPT = 7 * 24 * 60 * 60  # Seconds after which programs that no test restores are removed.


def programs_folder() -> Path:
    """Where programs are kept, without those that were not used for long."""
    folder = user_cache_path("tflgpu") / "programs of tests"
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        # Another process may do the same.
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < time.time() - KEPT:
                file.unlink()
    return folder


def sharing(build: Build, folder: Path) -> Build:
    """`OpenCLPrograms.build` that keeps its results in a folder."""

    @wraps(build)
    def shared(
        self: OpenCLPrograms, kernels: Sequence[Kernel], options: str, sources: Mapping[str, str]
    ) -> list[Program]:
        texts = [(kernel.name, sources[kernel.file]) for kernel in kernels]
        device = device_key(describe(self._device))
        facts = repr((device, self._defines, options, texts))
        kept = folder / sha256(facts.encode()).hexdigest()
        if kept.exists() and (found := self.restore(kernels, options, kept.read_bytes())):
            kept.touch()
            return found
        built = build(self, kernels, options, sources)
        if binary := self.binary(built):
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_bytes(binary)
            written.replace(kept)
        return built

    return shared


def build_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the running test build its programs, whatever others have built."""
    monkeypatch.setattr(OpenCLPrograms, "build", unwrap(OpenCLPrograms.build))


@contextmanager
def hasty_drivers(hasty: bool = True) -> Iterator[None]:
    """Drivers of OpenCL do not optimize what sessions loaded within compile, if they are hasty."""
    begin = OpenCLPrograms.__init__

    def begin_hastily(
        self: OpenCLPrograms,
        name: str,
        context: int,
        device: int,
        owned: OwnedHandles,
        defines: str,
    ) -> None:
        begin(self, name, context, device, owned, f"{defines} -cl-opt-disable")

    with pytest.MonkeyPatch.context() as patch:
        if hasty:
            patch.setattr(OpenCLPrograms, "__init__", begin_hastily)
        yield
