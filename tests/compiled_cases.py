"""The cases of operators, compiled.

Storage is not left to the compiler's choice here: an operator's cases are compiled once with the
first implementation that suits each operator, once with the second, and so on, so that every kernel
is generated.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from agreement import any_order
from cases import Case
from cases.sample import sample
from graphs import model

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.codegen.generate import generate
from tflgpu.compiler.codegen.generated import Kernels
from tflgpu.compiler.ir import Array, Graph, Op
from tflgpu.compiler.memory.allocation import Allocation
from tflgpu.compiler.options import Precision, TargetName
from tflgpu.compiler.select.legality import Candidates
from tflgpu.compiler.select.storage import Choice
from tflgpu.compiler.target import Target


@dataclass(frozen=True)
class CompiledCases:
    """Cases compiled as one model."""

    cases: tuple[Case, ...]
    rank: int  # Which of its implementations each operator has.
    model: CompiledModel
    inputs: Mapping[str, Array]
    # By the name of a case, the most implementations that an operator in it can have.
    choices: Mapping[str, int]


def of_named_implementations(allocation: Allocation, *rest: Any) -> Kernels:
    """The kernels, having seen that an implementation's name is its template's and a variant's."""
    for item in allocation.arrangement.order:
        stems = {Path(launch.template).stem for launch in item.launches} - {""}
        named = item.implementation.name.startswith(tuple(stems))
        assert named or not stems, f"{item.op}: {item.implementation.name} launches {stems}"
    return generate(allocation, *rest)


def by_rank(
    rank: int, choices: dict[str, int]
) -> Callable[[Graph, Mapping[Op, Candidates], Target], Choice]:
    """Chooses the implementation of a rank for each operator; fills in how many `choices` it has
    by the names of cases."""

    def choose(graph: Graph, legal: Mapping[Op, Candidates], target: Target) -> Choice:
        chosen = {}
        for op, candidates in legal.items():
            found = candidates.implementations
            chosen[op] = found[rank % len(found)]
            name = op.output.name.split("/")[0].split(":")[0]
            choices[name] = max(choices.get(name, 1), len(found))
        return chosen

    return choose


def compile_cases(
    cases: tuple[Case, ...],
    target: TargetName,
    profile: str,
    rank: int = 0,
    precision: Precision = "f32",
) -> CompiledCases:
    """Cases compiled with the implementation of a rank for each operator."""
    choices: dict[str, int] = {}
    together = model({case.name: case.value for case in cases})
    options = Options(target=target, device=profile, precision=precision, fallback="none")
    with any_order(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "choose_storage", by_rank(rank, choices))
        patch.setattr(pipeline, "generate", of_named_implementations)
        compiled = pipeline.build(together.content, options)
    return CompiledCases(cases, rank, compiled, together.inputs, choices)


def sampled_kernels(
    cases: Iterable[Case], target: TargetName, profile: str
) -> Iterator[CompiledCases]:
    """Those of these cases that are in a language's sample, each with the implementations named
    there."""
    listed = sample(target)
    chosen = {case: listed[case] for case in cases if case in listed}
    for rank in sorted({rank for ranks in chosen.values() for rank in ranks}):
        together = tuple(case for case, ranks in chosen.items() if rank in ranks)
        yield compile_cases(together, target, profile, rank)


def every_kernel(
    cases: tuple[Case, ...],
    target: TargetName,
    profile: str,
    others: tuple[int, int] | None,
    precision: Precision = "f32",
) -> Iterator[CompiledCases]:
    """Cases of operators with their first implementations, then some with each of the others.

    `others` are where an operator's cases begin of which these are, and how far they are apart;
    None for none of them.
    """
    first = compile_cases(cases, target, profile, precision=precision)
    yield first
    if others is not None:
        start, step = others
        of_operators = (tuple(found) for _, found in groupby(cases, attrgetter("operator")))
        tried = [case for found in of_operators for case in found[start::step]]
        for rank in range(1, max(first.choices.values(), default=1)):
            chosen = tuple(case for case in tried if first.choices.get(case.name, 1) > rank)
            if chosen:
                yield compile_cases(chosen, target, profile, rank, precision)
