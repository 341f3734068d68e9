"""Every situation an operator is tested in: a row each, run on all devices against LiteRT.

Sizes are prime and no multiples of the slice widths 4, 8 and 16, except where the row is about
such multiples. Batches are larger than one wherever the operator allows it.
"""

from collections.abc import Mapping
from functools import cache

from . import (
    attention,
    binary,
    blocks,
    composites,
    computed_weights,
    conversions,
    convolutions,
    dilations,
    fusions,
    indices,
    integers,
    layers,
    matrices,
    moves,
    named_composites,
    norms,
    pools,
    quantized,
    quantized_layers,
    quantized_weights,
    reductions,
    repetitions,
    rotations,
    rows,
    segments,
    shapes,
    sorts,
    special_values,
    spellings,
    stablehlo,
    stablehlo_convolutions,
    stablehlo_windows,
    transposed_convolutions,
    unary,
)
from .case import Case

FILES = (
    *(convolutions, computed_weights, transposed_convolutions, matrices, pools, unary, binary),
    *(integers, moves, rows, repetitions, shapes, indices, reductions, conversions, blocks),
    *(dilations, segments, stablehlo, stablehlo_windows, stablehlo_convolutions, sorts),
    *(composites, named_composites, fusions, norms, spellings, attention, rotations),
    *(layers, special_values),
    *(quantized_layers, quantized_weights, quantized),
)

CASES: tuple[Case, ...] = tuple(case for file in FILES for table in file.TABLES for case in table())


@cache
def families() -> Mapping[str, tuple[Case, ...]]:
    """The cases of each operator."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        found.setdefault(case.operator, []).append(case)
    return {operator: tuple(cases) for operator, cases in found.items()}


__all__ = ["CASES", "Case", "families"]
