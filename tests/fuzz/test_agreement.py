"""Mutated models that compile give LiteRT's results, odd as they are.

`pytest tests/fuzz --fuzz 10000` tries that many, on all devices in turn. LiteRT may compute a model
with XNNPACK or with its own kernels, which treat NaN differently; either is right.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from agreement import difference, run, shortened
from devices import Way, ways
from graphs.draws import drawn

from fuzz.mutations import MUTATIONS, drawn_mutations, mutated_model, sound_model
from tflgpu.compiler import CompiledModel, Options, build
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.child import Child
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.errors import DeviceError, TflgpuError

DRAWN = {"f": "normal", "i": "counts", "u": "counts", "b": "truth"}
"""The draws of inputs, by the kind of their type."""


def test_results_are_those_of_litert(seeds: range, tmp_path: Path) -> None:
    found, agreed, present = [], 0, ways()
    with Child() as child:
        for seed in seeds:
            name, content = sound_model(seed)
            mutations = drawn_mutations(seed)
            changed = mutated_model(content, mutations)
            way = present[seed % len(present)]
            compiled = compiled_for(way, changed) if changed else None
            if not changed or not compiled:
                continue
            inputs = {
                info.name: drawn(
                    f"{seed}", info.shape, DRAWN[np.dtype(info.dtype).kind], info.dtype
                )
                for info in compiled.plan.inputs
            }
            try:
                results = run(compiled, way.device, tmp_path / str(seed), inputs)
                child.ask("run", changed, list(inputs.values()), "", True)
            except DeviceError as error:
                problem = shortened(error)
            except TflgpuError:
                continue  # LiteRT cannot run it
            else:
                problem = compared(list(results.values()), changed, list(inputs.values()))
            agreed += not problem
            if problem:
                names = ", ".join(MUTATIONS[number].__name__ for number, _ in mutations)
                found.append(f"seed {seed}, {name}, {way}, {names}: {problem}")
    assert not found, "\n".join([f"{len(found)} of {len(seeds)}", *found[:30]])
    assert agreed >= len(seeds) // 5


def compiled_for(way: Way, content: bytes) -> CompiledModel | None:
    """A model compiled for the device alone; None if it is refused."""
    options = Options(target=way.target, device=way.profile, fallback="none")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return build(content, options)
        except TflgpuError:
            return None


def compared(results: list[Array], content: bytes, inputs: list[Array]) -> str:
    """How results differ from LiteRT's with XNNPACK, unless they are those without it."""
    problems = []
    for delegates in (True, False):
        expected = Reference(content, delegates=delegates).run(inputs)
        pairs = zip(results, expected, strict=True)
        problems.append("; ".join(filter(None, (difference(*pair) for pair in pairs))))
    return problems[0] if all(problems) else ""
