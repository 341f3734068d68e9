"""Kernels that tests share: what a driver has compiled for one test, others restore.

Compiling takes seconds for a network that dozens of tests load, and restoring a tenth of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

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
