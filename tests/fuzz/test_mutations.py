"""Mutated models and plans: the result is a plan, or an error of tflgpu's own that says why not.

`pytest tests/fuzz --fuzz 10000` tries that many of each kind. A failure names the seed, the model
and the fewest mutations that fail in the same way; `--fuzz-seed` starts there.
"""

from __future__ import annotations

import struct
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from random import Random

from graphs import call, model, typed, x, xi
from plans import chain

from fuzz.mutations import (
    MUTATIONS,
    Mutations,
    drawn_mutations,
    leaves,
    mutated_model,
    mutated_plan,
    sound_model,
)
from tflgpu.compiler import Options, build
from tflgpu.compiler.errors import PassError, RenderError
from tflgpu.runtime.errors import PlanError, TflgpuError
from tflgpu.runtime.plan.file import from_bytes, to_bytes
from tflgpu.runtime.plan.records import Plan
from tflgpu.runtime.plan.seal import sealed
from tflgpu.runtime.plan.validate import validate

# Fields on which the memory that kernels touch depends, where every other value is an accident.
BOUND = frozenset(
    [
        *(("target",), ("fingerprint",), ("dispatches", "grid"), ("dispatches", "kernel")),
        *(("kernels", "group"), ("kernels", "sha256"), ("kernels", "parameters")),
        *(
            ("dispatches", "arguments", name)
            for name in ("region", "index", "size", "writes", "texel")
        ),
    ]
)


@dataclass(frozen=True)
class Failure:
    """An error that is no answer to a damaged model."""

    kind: str  # The name of its class.
    place: str  # The file and the line that raised it.
    text: str = field(compare=False)

    @classmethod
    def of(cls, error: Exception) -> Failure:
        last = traceback.extract_tb(error.__traceback__)[-1]
        lines = traceback.format_exception(error)[-6:]
        return cls(type(error).__name__, f"{last.filename}:{last.lineno}", "".join(lines))


def failure(content: bytes, mutations: Mutations, target: str) -> Failure | None:
    """What goes wrong with a mutated model; None if it compiles or is refused."""
    changed = mutated_model(content, mutations)
    if changed is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            build(changed, Options(target=target, device="gpu"))  # type: ignore[arg-type]
    except TflgpuError as error:
        bug = isinstance(error, (PassError, RenderError))
        return Failure.of(error) if bug else None
    except Exception as error:
        return Failure.of(error)
    return None


Fails = Callable[[Mutations], Failure | None]


def fewest(mutations: Mutations, known: Failure, fails: Fails) -> Mutations:
    """The mutations without those that the same failure does not need."""
    for mutation in mutations:
        fewer = tuple(other for other in mutations if other is not mutation)
        if fewer and fails(fewer) == known:
            return fewest(fewer, known, fails)
    return mutations


def test_models(seeds: range) -> None:
    found, built = [], 0
    for seed in seeds:
        name, content = sound_model(seed)
        mutations = drawn_mutations(seed)
        built += mutated_model(content, mutations) is not None
        target = ("opencl", "glsl")[seed % 2]
        fails = partial(failure, content, target=target)
        if known := fails(mutations):
            needed = fewest(mutations, known, fails)
            names = ", ".join(MUTATIONS[number].__name__ for number, _ in needed)
            found.append(f"seed {seed}, {name}, {target}, {names} {needed}:\n{known.text}")
    assert not found, "\n".join([f"{len(found)} of {len(seeds)}", *found[:30]])
    assert built >= len(seeds) // 2


def test_shrinking_keeps_the_failure() -> None:
    first, second, third = (0, 1), (1, 2), (2, 3)
    own, other = Failure("KeyError", "a.py:1", "x"), Failure("KeyError", "a.py:2", "x")

    def fails(mutations: Mutations) -> Failure | None:
        if second in mutations:
            return replace(own, text=str(mutations))
        return other if third in mutations else None

    assert fewest((first, second, third), own, fails) == (second,)
    assert fewest((first, third), other, fails) == (third,)


@cache
def plans() -> tuple[Plan, ...]:
    """Sound plans: one by hand, and one with views, merged dispatches and checks of indices."""
    table = call("SOFTMAX", call("CONCATENATION", x(3, 8), x(5, 8), axis=0), beta=1.0)
    value = call("GATHER", table, typed("int32", "NEG", xi(2, 3)), axis=0)
    compiled = build(model({"y": value}).content, Options(device="cpu")).plan
    assert compiled.index_checks and compiled.persistent
    return chain().plan, compiled


def test_plans(seeds: range) -> None:
    """Plans with other grids, kernels or sizes are refused, though their digests are right.

    Each is also sealed anew, so that the checks behind those of seals see it as well.
    """
    accepted = set()
    for seed in seeds:
        plan = plans()[seed % 2]
        random = Random(seed)
        path = random.choice(list(leaves(plan)))
        changed = mutated_plan(plan, path, random)
        if changed != plan and _is_valid(changed, seed):
            accepted.add(tuple(step for step in path if isinstance(step, str)))
        with suppress(IndexError, struct.error):  # what cannot be sealed
            _is_valid(sealed(changed), seed)
    assert not accepted & BOUND


def _is_valid(plan: Plan, seed: int) -> bool:
    try:
        content = to_bytes(plan)
    except (TflgpuError, TypeError, ValueError, OverflowError):
        return False  # no file can say it
    try:
        validate(from_bytes(content, f"seed {seed}"))
    except PlanError:
        return False
    return True
