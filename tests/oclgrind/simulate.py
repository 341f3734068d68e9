"""Runs the cases of operators on Oclgrind, and prints what is wrong with their results as JSON.

    python -m oclgrind.simulate PROFILE FIRST STEP OPERATOR...

Of the cases of each operator, every STEPth runs, from number FIRST on, with every implementation.
It is a program of its own because the loader of OpenCL's drivers is told by environment variables,
and only once, to load Oclgrind. What Oclgrind finds goes to the file that OCLGRIND_LOG names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from agreement import differences
from cases import families, quantized, quantized_layers
from compiled_cases import every_kernel

import tflgpu
from tflgpu.compiler import pipeline

DEVICE = "Oclgrind"
WRONG = {
    case.operator for file in (quantized, quantized_layers) for t in file.TABLES for case in t()
}
"""Their results are not compared: Oclgrind 21.10 is wrong about min, max and clamp of a vector of
integers and a number."""


def main(profile: str, first: str, step: str, operators: Sequence[str]) -> None:
    found: dict[str, str] = {}
    for name in operators:
        cases = families()[name][int(first) :: int(step)]
        for item in every_kernel(cases, "opencl", profile, (0, 1)) if cases else ():
            with TemporaryDirectory() as folder:
                stored = pipeline.store(item.model, Path(folder))
                with tflgpu.load(stored, device=DEVICE, store_binaries=False) as session:
                    results = session.run(item.inputs)
            wrong = {} if name in WRONG else differences(item.cases, results)
            found |= {f"{case}, implementation {item.rank}": text for case, text in wrong.items()}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    profile, first, step, *operators = sys.argv[1:]
    main(profile, first, step, operators)
