"""Agreement with LiteRT: how far a result may be from its own, and the comparison on a device.

Several cases are compiled as one model, which costs a fraction of compiling each alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from callers_memory import bound_to_caller
from cases import Case
from devices import Way
from graphs import Model, Value, model
from guards import guarded

import tflgpu
from tflgpu.compiler import CompiledModel, Options, UnsupportedError, pipeline
from tflgpu.compiler.ir import Array
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.memory import order
from tflgpu.runtime.litert.module import KernelSet

# By the kind of value: |a - b| may be that times max(1, max|b|).
TOLERANCES = {"float": 1e-4, "exact": 0.0}


def difference(actual: Array, expected: Array, tolerance: float | None = None) -> str | None:
    """What is wrong with a result; None if it agrees. NaN and infinities must be in place.

    A tolerance stands in for the table's, for what is known to have no better answer.
    """
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return (
            f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
        )
    special = ~np.isfinite(expected)
    same = np.where(special, _equal(actual, expected), np.isfinite(actual))
    if not same.all():
        place = tuple(int(i) for i in np.argwhere(~same)[0])
        count = np.count_nonzero(~same)
        return f"{actual[place]} at {list(place)} instead of {expected[place]} ({count} such)"
    kind = "float" if expected.dtype.kind == "f" else "exact"
    wanted = np.where(special, 0, expected).astype(np.float64)
    error = np.abs(np.where(special, 0, actual) - wanted)
    relative = TOLERANCES[kind] if tolerance is None else tolerance
    allowed = relative * max(1.0, float(np.abs(wanted).max(initial=0)))
    if error.max(initial=0) <= allowed:
        return None
    place = tuple(int(i) for i in np.unravel_index(np.argmax(error), error.shape))
    count = np.count_nonzero(error > allowed)
    return (
        f"{actual[place]} at {list(place)} instead of {expected[place]} "
        f"({count} of {error.size} elements are off by more than {allowed:.2g})"
    )


def _equal(actual: Array, expected: Array) -> Array:
    return np.asarray((actual == expected) | (np.isnan(actual) & np.isnan(expected)))


# -- models -----------------------------------------------------------------------------------


@contextmanager
def any_order() -> Iterator[None]:
    """No long search for the best order of operators, where a model is of unrelated graphs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order, "STATES", 50)
        yield


def run(
    compiled: CompiledModel, device: str, folder: Path, inputs: Mapping[str, Array]
) -> dict[str, Array]:
    """The outputs of a compiled model; what it does not write is NaN.

    Nothing behind its buffers may be written either, nor behind those of a caller, on which the
    outputs must be the same.
    """
    stored = pipeline.write(compiled, folder)
    with (
        guarded() as check_guards,
        tflgpu.load(stored, device=device, store_binaries=False) as session,
    ):
        session.poison()
        results = session.run(inputs)
        with bound_to_caller(session, inputs, results):
            check_guards()
        return results


def assert_agrees(
    made: Model, device: str, folder: Path, tolerance: float | None = None, /, **options: Any
) -> CompiledModel:
    """Compile a model with these options and run it on a device: outputs must be LiteRT's."""
    compiled = pipeline.build(made.content, Options(**{"fallback": "none", **options}))
    assert_litert(run(compiled, device, folder, made.inputs), made, tolerance)
    return compiled


def assert_litert(
    found: Mapping[str, Array],
    made: Model,
    tolerance: float | None = None,
    *,
    inputs: Mapping[str, Array] | None = None,
    kernels: KernelSet = "built-in",
) -> None:
    """The outputs of a model, by default of its own inputs, are LiteRT's."""
    expected = Reference(made.content, kernels=kernels).run(inputs or made.inputs)
    pairs = zip(found.items(), expected, strict=True)
    wrong = {name: difference(actual, wanted, tolerance) for (name, actual), wanted in pairs}
    assert set(wrong.values()) == {None}, wrong


# -- cases ------------------------------------------------------------------------------------


@cache
def expected(case: Case) -> tuple[Array, ...]:
    """LiteRT's outputs of a case."""
    whole = case.operator in ("Convolution2DTransposeBias", "moe")
    oracle = model({case.name: case.value if case.oracle is None else case.oracle})
    kernels = "XNNPACK" if whole else case.kernels
    return Reference(oracle.content, kernels=kernels).run(oracle.inputs)


def problems(cases: Sequence[Case], way: Way, folder: Path) -> dict[str, str]:
    """What is wrong, by case. If the cases fail together, each runs alone."""
    together = model({case.name: case.value for case in cases})
    options = Options(target=way.target, device=way.profile, fallback="none")
    try:
        with any_order():
            compiled = pipeline.build(together.content, options)
        results = run(compiled, way.device, folder, together.inputs)
    except Exception as error:
        if len(cases) == 1:
            return {cases[0].name: shortened(error)}
        alone = (problems([case], way, folder / str(i)) for i, case in enumerate(cases))
        found = {name: text for result in alone for name, text in result.items()}
        return found or {"all together": shortened(error)}
    return differences(cases, results)


def assert_cases(cases: Sequence[Case], way: Way, folder: Path) -> None:
    found = problems(cases, way, folder)
    assert not found, "\n".join(f"{name}: {text}" for name, text in found.items())


def assert_values(values: Mapping[str, Value], way: Way, folder: Path) -> None:
    """The same of values, by what is special about each."""
    assert_cases([Case("value", *item) for item in values.items()], way, folder)


def differences(cases: Sequence[Case], results: Mapping[str, Array]) -> dict[str, str]:
    """How the outputs of a model of cases differ from LiteRT's, by case."""
    values = iter(results.values())
    return {
        case.name: text
        for case in cases
        for value in expected(case)
        if (text := difference(next(values), value))
    }


def shortened(error: Exception) -> str:
    """An error without the kernel's whole text and what else the driver has to say."""
    lines = f"{type(error).__name__}: {error}".splitlines()
    if isinstance(error, UnsupportedError):
        return "\n  ".join(lines)
    return "\n  ".join([lines[0], *(line for line in lines[1:] if "error:" in line)][:5])
