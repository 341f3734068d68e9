"""Mutated models that compile give LiteRT's results, odd as they are.

`pytest tests/fuzz --fuzz 10000` tries that many, on all devices in turn. LiteRT may compute a model
with XNNPACK or with its own kernels, which treat NaN differently; either is right.
"""

import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from agreement import difference, run, shortened
from devices import Way, ways
from graphs import call, model, x
from graphs.draws import drawn

import tflgpu
from fuzz.mutations import MUTATIONS, drawn_mutations, mutated_model, sound_model
from tflgpu.compiler import CompiledModel, Options, build
from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.child import Child
from tflgpu.runtime.errors import DeviceError, TflgpuError
from tflgpu.runtime.litert.module import KernelSet

# The draws of inputs, by the kind of their type.
DRAWN = {"f": "normal", "i": "counts", "u": "counts", "b": "truth", "c": "normal"}


def test_results_are_those_of_litert(seeds: range, tmp_path: Path) -> None:
    targets = {info.target for info in tflgpu.devices()}
    present = [way for way in ways() if way.target in targets]
    found, agreed = [], 0
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
            wanted = list(answers(child, changed, list(inputs.values())))
            if not wanted:
                continue
            try:
                results = run(compiled, way.device, tmp_path / str(seed), inputs)
            except DeviceError as error:
                problem = shortened(error)
            else:
                problem = compared(list(results.values()), wanted)
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


def answers(child: Child, content: bytes, inputs: list[Array]) -> Iterator[tuple[Array, ...]]:
    """LiteRT's results with XNNPACK, then without; none of kernels that refuse it or crash."""
    for kernels in get_args(KernelSet)[:2]:
        with suppress(ModelError):
            yield tuple(array for _, array in child.run(content, inputs, kernels=kernels))


def compared(results: list[Array], wanted: list[tuple[Array, ...]]) -> str:
    """How results differ from LiteRT's first answer, unless they are another one.

    LiteRT's own kernels turn infinities into the largest float.
    """
    found = [unlimited(result) for result in results]
    answered = [[unlimited(each) for each in expected] for expected in wanted]
    problems = [
        "; ".join(filter(None, (difference(*pair) for pair in zip(found, expected, strict=True))))
        for expected in answered
    ]
    return problems[0] if all(problems) else ""


def unlimited(array: Array) -> Array:
    """An array with infinities in place of the largest floats."""
    if array.dtype.kind != "f":
        return array
    at_limit = np.abs(array) == np.finfo(array.dtype).max
    return np.where(at_limit, np.copysign(np.inf, array).astype(array.dtype), array)


def test_kernels_of_litert_that_crash_give_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content, array = model({"y": call("NEG", x(2, 3))}).content, np.ones((2, 3), np.float32)
    stand_in = "import tflgpu.runtime.litert.probe as probe, os\n"
    stand_in += "run = probe.run\n"
    stand_in += "def dies(*args): return os.abort() if args[3] == 'built-in' else run(*args)\n"
    stand_in += "probe.FUNCTIONS = {'run': dies}\nprobe.main()\n"
    (tmp_path / "stand_in.py").write_text(stand_in)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr("tflgpu.compiler.litert.child.MODULE", "stand_in")
    with Child() as child:
        ((result,),) = answers(child, content, [array])
    assert np.array_equal(result, -array)
