"""Runs rewrites on a model or on the text of a graph, for those who write rewrites."""

from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from ..errors import ModelError, ModelFileError, OptionError
from ..frontend.reader import read
from ..ir import Array, Graph, Op, Shape
from ..ir.parse import Parser
from ..ops import OPS
from ..rewrites import PIPELINE, STAGES, Pass
from ..rewrites.rewrite import check
from ..side_file import read_text
from ..target import Target

TEXT = ".txt"  # The suffix of files that hold a graph as text.


def rewritten(
    source: Path, passes: Sequence[str], until: str, target: Target, signature: str | None = None
) -> Graph:
    """The graph of a .tflite file, or of a text in a .txt file, after some rewrites.

    `signature` is that of the file to take, by default its first subgraph. With `until` the
    pipeline runs up to that stage or pass, and `passes` run after it; with neither the whole
    pipeline does. Raises ModelFileError, ModelError, and OptionError for names unknown.
    """
    known = {each.name: each for each in PIPELINE}
    unknown = [name for name in passes if name not in known]
    if unknown:
        raise OptionError(f"no pass {', '.join(unknown)}; choose from {', '.join(known)}")
    whole = PIPELINE if not passes else ()
    chosen = [*(_up_to(until) if until else whole), *(known[name] for name in passes)]
    graph = _graph(source, signature)
    for each in chosen:
        each(graph, target)
        check(graph, each.name, everything=True)
    return graph


def _up_to(stage: str) -> tuple[Pass, ...]:
    """The passes of the pipeline up to and including a stage or a pass (OptionError)."""
    names = [each.name for each in PIPELINE]
    if stage in STAGES:
        stages = list(STAGES.values())[: list(STAGES).index(stage) + 1]
        return tuple(each for passes in stages for each in passes)
    if stage not in names:
        raise OptionError(f"no stage {stage!r}; choose {', '.join(STAGES)}, or the name of a pass")
    return PIPELINE[: names.index(stage) + 1]


def _graph(source: Path, signature: str | None) -> Graph:
    if source.suffix != TEXT:
        return read(source, signature=signature)
    if signature is not None:
        raise OptionError(f"{source.name} is a text, which has no signature {signature}")
    parser = Parser(_drawn, _inferred)
    parser.read(read_text(source, "the graph", ModelFileError))
    graph = parser.graph()
    graph.verify()
    return graph


def _inferred(op: Op) -> Sequence[Shape]:
    if op.name not in OPS:
        raise ModelError(f"operator {op!r} is unknown; give its results a type")
    return OPS[op.name].infer(op)


def _drawn(name: str, shape: Shape, dtype: str) -> Array:
    """The content of a constant whose text does not say it: random, but the same for one name."""
    random = np.random.default_rng(crc32(name.encode()))
    if np.dtype(dtype).kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2, shape).astype(dtype)
