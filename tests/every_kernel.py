"""Compiling with other kernels than the compiler would choose, so that each of them runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from case import Case
from expressions import model

from tflgpu.compiler import pipeline
from tflgpu.compiler.devices import Profile, profile
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Graph, Op
from tflgpu.compiler.select.legality import Candidates, candidates
from tflgpu.compiler.select.storage import Choice


@cache
def rivals(case: Case, name: str) -> int:
    """The most kernels an operator of a case can choose from on a device of that profile."""
    graph = read(model({case.name: case.value}).content)
    pipeline.rewrite(graph, profile(name))
    suited = candidates(graph, profile(name))
    return max((len(options.kernels) for options in suited.values()), default=1)


def choosing(rank: int) -> Callable[[Graph, Mapping[Op, Candidates], Profile], Choice]:
    """Stands in for `choose_storage`: the kernel of that rank for every operator."""

    def choose(graph: Graph, suited: Mapping[Op, Candidates], profile: Profile) -> Choice:
        return {op: options.kernels[rank % len(options.kernels)] for op, options in suited.items()}

    return choose
