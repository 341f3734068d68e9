"""Mutated models and plans: the result is a plan, or an error of tflgpu's own that says why not.

`pytest tests/fuzz --fuzz 10000` tries that many of each kind. A failure names the seed, the model
and the fewest mutations that still fail; `--fuzz-seed` starts there.
"""

from __future__ import annotations

import traceback
import warnings
from functools import cache
from random import Random

import pytest
from cases import CASES
from graphs import model
from plans import chain

from fuzz.mutations import MUTATIONS, leaves, mutated_model, mutated_plan
from tflgpu.compiler import Options, build
from tflgpu.compiler.errors import PassError, RenderError
from tflgpu.runtime.errors import PlanError, TflgpuError
from tflgpu.runtime.plan.file import from_bytes, to_bytes
from tflgpu.runtime.plan.seal import sealed
from tflgpu.runtime.plan.validate import validate

SHORT = 150
"""How many are tried by default."""

STEP = 7
"""Every so many cases of operators are models to mutate."""

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
"""Fields on which the memory that kernels touch depends, where every other value is an accident."""


@pytest.fixture
def seeds(request: pytest.FixtureRequest) -> range:
    count = request.config.getoption("--fuzz") or SHORT
    first = request.config.getoption("--fuzz-seed")
    print(f"seeds {first} to {first + count - 1}")
    return range(first, first + count)


@cache
def sound(position: int) -> tuple[str, bytes]:
    """The name and the file of a sound model."""
    case = CASES[position * STEP % len(CASES)]
    return case.name, model({case.name: case.value}).content


Mutations = tuple[tuple[int, int], ...]


def drawn(seed: int) -> tuple[int, Mutations]:
    """The number of a model and its mutations."""
    random = Random(seed)
    count = random.choice((1, 1, 1, 2, 3))
    mutations = tuple(
        (random.randrange(len(MUTATIONS)), random.getrandbits(32)) for _ in range(count)
    )
    return random.randrange(len(CASES) // STEP), mutations


def failure(content: bytes, mutations: Mutations, target: str) -> str | None:
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
        return f"{type(error).__name__}: {error}" if bug else None
    except Exception:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-7:])
    return None


def fewest(content: bytes, mutations: Mutations, target: str) -> Mutations:
    """The mutations without those that the failure does not need."""
    for mutation in mutations:
        fewer = tuple(other for other in mutations if other is not mutation)
        if fewer and failure(content, fewer, target):
            return fewest(content, fewer, target)
    return mutations


def test_models(seeds: range) -> None:
    found, built = [], 0
    for seed in seeds:
        position, mutations = drawn(seed)
        name, content = sound(position)
        built += mutated_model(content, mutations) is not None
        target = ("opencl", "glsl")[seed % 2]
        if text := failure(content, mutations, target):
            needed = fewest(content, mutations, target)
            names = ", ".join(MUTATIONS[number].__name__ for number, _ in needed)
            found.append(f"seed {seed}, {name}, {target}, {names} {needed}:\n{text}")
    assert not found, "\n".join([f"{len(found)} of {len(seeds)}", *found[:30]])
    assert built >= len(seeds) // 2


def test_plans(seeds: range) -> None:
    """Plans with other grids, kernels or sizes are refused, though their digests are right."""
    plan = sealed(chain().plan)
    paths = list(leaves(plan))
    accepted = set()
    for seed in seeds:
        random = Random(seed)
        path = random.choice(paths)
        changed = mutated_plan(plan, path, random)
        try:
            content = to_bytes(changed)
        except (TflgpuError, TypeError, ValueError, OverflowError):
            continue  # no file can say it
        if changed == plan:
            continue
        try:
            validate(from_bytes(content, f"seed {seed}"))
        except PlanError:
            continue
        accepted.add(tuple(step for step in path if isinstance(step, str)))
    assert not accepted & BOUND
