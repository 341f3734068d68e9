"""Cases on a device against LiteRT: what each gives, what is expected, and what differs.

Several cases are compiled as one model, which costs a fraction of compiling each alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from case import Case
from conftest import Way
from expressions import Array, Model, model
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.emit.compiled_model import Program
from tflgpu.compiler.litert.reference import Reference


def run(
    program: Program, device: str, folder: Path, inputs: Mapping[str, Array]
) -> dict[str, Array]:
    """The outputs of a program; what it does not write is NaN."""
    stored = pipeline.store(program, folder)
    with tflgpu.load(stored, device=device, store_binaries=False) as session:
        session.poison()
        return session.run(inputs)


# -- what is expected -------------------------------------------------------------------------


@cache
def expected(case: Case) -> tuple[Array, ...]:
    """LiteRT's outputs of a case."""
    known_by_default = case.operator in ("Convolution2DTransposeBias", "moe")
    oracle = model({case.name: case.value if case.oracle is None else case.oracle})
    return Reference(oracle.content, delegates=known_by_default).run(oracle.inputs)


# -- what is found ----------------------------------------------------------------------------


def problems(cases: Sequence[Case], way: Way, folder: Path) -> dict[str, str]:
    """What is wrong, by case. If the cases fail together, each runs alone."""
    together = model({case.name: case.value for case in cases})
    try:
        results = iter(outputs(together, way, folder).values())
    except Exception as error:
        if len(cases) == 1:
            return {cases[0].name: shortened(error)}
        alone = (problems([case], way, folder / str(i)) for i, case in enumerate(cases))
        found = {name: text for result in alone for name, text in result.items()}
        return found or {"all together": shortened(error)}
    return {
        case.name: text
        for case in cases
        for value in expected(case)
        if (text := difference(next(results), value))
    }


def shortened(error: Exception) -> str:
    """An error without the kernel's whole text and what else the driver has to say."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    return "\n  ".join([lines[0], *(line for line in lines[1:] if "error:" in line)][:5])


def outputs(compiled: Model, way: Way, folder: Path) -> dict[str, Array]:
    options = Options(target=way.target, device=way.profile, fallback="none")
    return run(pipeline.build(compiled.content, options), way.device, folder, compiled.inputs)
