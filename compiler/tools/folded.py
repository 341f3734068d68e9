"""Results of a model's operators that are computed while compiling."""

from __future__ import annotations

from .. import pipeline
from ..events import describe
from ..frontend.model_file import Model
from ..ir import Graph
from ..options import Options
from .nearest import Result


def folded_results(model: Model, options: Options) -> list[Result]:
    """The constants that kernels read instead of results of operators.

    The options have a single choice of input shapes. Raises what `pipeline.select` raises.
    """
    writers: dict[str, str] = {}
    found: dict[str, Result] = {}

    def observe(stage: str, graph: Graph) -> None:
        if stage == "read":
            writers.update((t.name, describe(op)) for op in graph.ops for t in op.outputs)
        for tensor in graph.tensors:
            if tensor.folded and tensor.data is not None and tensor.name in writers:
                label = f"folded: {writers[tensor.name]}"
                found[tensor.name] = Result(tensor.name, tensor.data, label)

    pipeline.select(model, options, pipeline.target_of(options), observe=observe)
    return list(found.values())
