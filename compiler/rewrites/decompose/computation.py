"""What the subgraph of an operator makes of scalars, found by running it on samples.

StableHLO's reductions, scatters and sorts say what they do by a subgraph, which converters spell in
many ways: with the operands exchanged, or with selections around them for what is no number. Its
results on numbers of all kinds tell these few functions apart, however it is written.
"""

from collections.abc import Callable

import numpy as np

from ....runtime.errors import TflgpuError
from ...ir import Array, Graph, Op, constant
from ...ops.base.storage import FLOATS
from ...ops.indexing.windows import UPDATE
from ...target import Target
from ..canonicalize.infer_and_fold import tried

# Their sums and products are exact, and no two of the functions agree on all pairs.
_NUMBERS = (-7.5, -2.0, -1.0, -0.25, 0.0, 0.5, 1.0, 3.0, 6.5)

_FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "MUL": np.multiply,
    "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum,
    UPDATE: lambda a, b: b,
}
_LOGICAL: dict[str, Callable[[Array, Array], Array]] = {
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_OR": np.logical_or,
    UPDATE: lambda a, b: b,
}


def joining(graph: Graph, op: Op, subgraph: int, target: Target) -> str | None:
    """The operator that a subgraph of two scalars computes; UPDATE if it returns the second; None
    for any other.
    """
    truth = op.output.dtype == "bool"
    numbers = np.array([0, 1] if truth else _NUMBERS)
    whole = op.output.dtype not in FLOATS
    samples = np.unique(numbers.astype("int64" if whole else "float32")).astype(op.output.dtype)
    first, second = (grid.ravel() for grid in np.meshgrid(samples, samples))
    result = evaluated(graph, op, subgraph, [first, second], target)
    for name, function in (_LOGICAL if truth else _FUNCTIONS).items():
        if result is not None and np.array_equal(result, function(first, second)):
            return name
    return None


def evaluated(
    graph: Graph, op: Op, subgraph: int, samples: list[Array], target: Target
) -> Array | None:
    """The results of a subgraph on samples of its operands [n]; None if it has operators with
    which constants are not folded, or does not take scalars.
    """
    called = graph.subgraphs[subgraph]
    if len(called.inputs) != len(samples) or len(called.outputs) != 1:
        return None
    operands = [constant(f"sample{i}", array) for i, array in enumerate(samples)]
    try:
        result = tried(graph, called, operands, op, target).outputs[0].data
    except TflgpuError:
        return None
    return None if result is None else np.broadcast_to(result, samples[0].shape)
