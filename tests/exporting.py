"""Exported models, built with gcc and run as processes."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from cases import Case
from devices import fitting_profiles, need_programs
from graphs import model
from wgpu_native import wgpu_native

import tflgpu
from tflgpu.compiler import CompiledModel, pipeline
from tflgpu.compiler.export import export
from tflgpu.compiler.ir import Array
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.opencl.drivers import VENDORS
from tflgpu.runtime.plan.storage import DEVICE_TYPES

STRICT = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
LIBRARIES = ("-ldl", "-lpthread")
# Options that find wrong uses of memory and undefined behaviour.
CHECKED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# How options begin that say where headers and libraries are; a preprocessed source has no more.
PLACES = ("-I", "-isystem", "/", "-L", "-l", "-Wl,")
OBJECTS = TemporaryDirectory(prefix="tflgpu-objects-")  # Compiled sources of programs.


def content(inputs: Mapping[str, Array]) -> bytes:
    """The file of inputs for a demo."""
    return b"".join(array.tobytes() for array in inputs.values())


def portable(case: Case) -> bool:
    """Whether all inputs and outputs have types that a program can hand over."""
    graph = model({case.name: case.value}).graph
    return all(tensor.dtype in DEVICE_TYPES for tensor in (*graph.inputs, *graph.outputs))


@dataclass(frozen=True)
class Found:
    """A device that both Python and a program that loads the system's drivers can open."""

    device: str  # For `tflgpu.load`.
    name: str  # For the demo's option --device.

    @property
    def profile(self) -> str:
        return fitting_profiles(self.device)[-1]


@dataclass(frozen=True)
class Demo:
    """A model as a program, and its variant for Python."""

    folder: Path  # The exported project, with the program `demo`.
    variant: Path

    def run(self, *options: str, content: bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run the demo on the content of a file; its outputs are in `outputs`."""
        (self.folder / "in.bin").write_bytes(content)
        (self.folder / "out.bin").unlink(missing_ok=True)
        return run(self.folder, "./demo", "in.bin", "out.bin", *options)

    def assert_agrees(self, found: Found, inputs: Mapping[str, Array], runs: int = 1) -> None:
        """The last of some runs has the results of Python's runtime, bit for bit."""
        ran = self.run(*("--device", found.name, "--runs", str(runs)), content=content(inputs))
        assert (ran.returncode, ran.stderr) == (0, "")
        assert self.outputs == self.expected(found.device, inputs, runs)

    @property
    def outputs(self) -> bytes:
        return (self.folder / "out.bin").read_bytes()

    def expected(self, device: str, inputs: Mapping[str, Array], runs: int = 1) -> bytes:
        """What Python's runtime computes in the last of some runs, as the demo writes it."""
        with tflgpu.load(self.variant, device=device, store_binaries=False) as session:
            for _ in range(runs):
                results = session.run(inputs)
        return b"".join(array.tobytes() for array in results.values())


def exported(
    compiled: CompiledModel,
    folder: Path,
    options: Sequence[str] = (),
    embed: bool = False,
    backend: str | None = None,
) -> Demo:
    """Export a compiled model and build its demo."""
    need_programs("gcc")
    stored = pipeline.write(hasty(compiled), folder / "cache")
    project = folder / "project"
    export([read_variant(stored)], project, "net", embed, backend=backend)
    libraries = wgpu_native(folder) if backend == "webgpu" else ()
    sources = sorted(path.name for path in project.glob("*.c"))
    build(project, "demo", *options, *sources, *libraries)
    return Demo(project, stored)


def hasty(compiled: CompiledModel) -> CompiledModel:
    """A model for which drivers do not optimize in programs either, as its plan says."""
    if compiled.plan.target != "opencl":
        return compiled
    schedules = tuple(
        replace(each, options=f"{each.options} -cl-opt-disable") for each in compiled.plan.schedules
    )
    return replace(compiled, plan=replace(compiled.plan, schedules=schedules))


def run(folder: Path, *command: str, sanitizer: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, with the system's drivers and options of AddressSanitizer."""
    system = {name: value for name, value in os.environ.items() if name != VENDORS}
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        # Mesa complains where the other variable is not set.
        env={**system, "ASAN_OPTIONS": sanitizer, "XDG_RUNTIME_DIR": str(folder)},
    )


def build(project: Path, program: str, *words: str) -> None:
    """Build a program in an exported project from these files and options."""
    options = tuple(word for word in words if not word.endswith(".c"))
    objects = [_object(project, word, options) for word in words if word.endswith(".c")]
    _gcc(project, "-o", program, *objects, *options, *LIBRARIES)


def _object(project: Path, source: str, options: Sequence[str]) -> str:
    """The path of a source's object. What programs have in common is compiled once."""
    text = _gcc(project, *options, "-E", "-P", source)
    kinds = [option for option in options if not option.startswith(PLACES)]
    kept = Path(OBJECTS.name) / f"{sha256(repr((kinds, text)).encode()).hexdigest()}.o"
    if not kept.exists():
        _gcc(project, *options, "-c", source, "-o", str(kept))
    return str(kept)


def _gcc(folder: Path, *words: str) -> str:
    """What gcc writes to its standard output."""
    done = subprocess.run(
        [*STRICT, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout
