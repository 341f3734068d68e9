"""How tests compile kernels: hastily, and what a driver has compiled for one, others restore.

Compiling takes seconds for a network that dozens of tests load, and restoring a tenth of that.
Most kernels run once or twice, which takes a fraction of the time in which drivers optimize them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from tflgpu.runtime.opencl.library import OwnedHandles
from tflgpu.runtime.opencl.programs import OpenCLPrograms, Program
from tflgpu.runtime.plan.kernels import Kernel

Build = Callable[[OpenCLPrograms, Sequence[Kernel], str, Mapping[str, str]], list[Program]]


def sharing(build: Build, folder: Path) -> Build:
    """`OpenCLPrograms.build` that keeps its results in a folder."""

    def shared(
        self: OpenCLPrograms, kernels: Sequence[Kernel], options: str, sources: Mapping[str, str]
    ) -> list[Program]:
        texts = [(kernel.name, sources[kernel.file]) for kernel in kernels]
        facts = repr((self._name, self._defines, options, texts))
        kept = folder / sha256(facts.encode()).hexdigest()
        if kept.exists() and (found := self.restore(kernels, options, kept.read_bytes())):
            return found
        built = build(self, kernels, options, sources)
        if binary := self.binary(built):
            kept.write_bytes(binary)
        return built

    return shared


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
