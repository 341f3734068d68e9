"""Runs the cases of operators on Oclgrind, and prints what is wrong with their results as JSON.

    python -m oclgrind.simulate PROFILE FIRST STEP OPERATOR...

Of the cases of each operator, every STEPth runs, from number FIRST on, with every implementation.
It is a program of its own because the loader of OpenCL's drivers is told by environment variables,
and only once, to load Oclgrind, which prints what it finds among the errors.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from agreement import differences
from cases import families
from compiled_cases import every_kernel
from devices import own_profile
from shared_programs import hasty_drivers

import tflgpu
from tflgpu.compiler import pipeline
from tflgpu.runtime.opencl import device
from tflgpu.runtime.opencl.device import OpenCLDevice
from tflgpu.runtime.opencl.programs import Program
from tflgpu.runtime.plan.kernels import Kernel

DEVICE = "Oclgrind"
TOGETHER = 32  # Cases compiled as one model, which costs a fraction of compiling each alone.
# Oclgrind 21.10 is wrong about these functions of a vector of integers and a number.
CORRECTIONS = """
#define clamp(v, low, high) clamp(v, (__typeof__(v))(low), (__typeof__(v))(high))
#define max(a, b) max(a, (__typeof__(a))(b))
#define min(a, b) min(a, (__typeof__(a))(b))
"""


class Simulator(OpenCLDevice):
    """Oclgrind, for which sources are corrected."""

    def build(
        self, kernels: Sequence[Kernel], options: str, sources: Mapping[str, str]
    ) -> list[Program]:
        corrected = {file: CORRECTIONS + source for file, source in sources.items()}
        return super().build(kernels, options, corrected)


def main(profile: str, first: str, step: str, operators: Sequence[str]) -> None:
    found: dict[str, str] = {}
    listed = [case for name in operators for case in families()[name][int(first) :: int(step)]]
    for start in range(0, len(listed), TOGETHER):
        cases = tuple(listed[start : start + TOGETHER])
        for item in every_kernel(cases, "opencl", profile, (0, 1)):
            with TemporaryDirectory() as folder:
                stored = pipeline.write(item.model, Path(folder))
                with tflgpu.load(stored, device=DEVICE, store_binaries=False) as session:
                    results = session.run(item.inputs)
            wrong = differences(item.cases, results)
            found |= {f"{case}, implementation {item.rank}": text for case, text in wrong.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    device.OpenCLDevice = Simulator  # type: ignore[misc]
    profile, first, step, *operators = sys.argv[1:]
    # Oclgrind lacks functions of LLVM that its compiler makes of kernels with long vectors.
    with TemporaryDirectory() as folder, hasty_drivers(profile.startswith("cpu_")):
        # Without sub-groups, which Oclgrind lacks: work-items share sums through local memory.
        main(own_profile(Path(folder), profile, sub_groups=[]), first, step, operators)
