"""A model as LiteRT is asked about it: with what it keeps, with every tensor, with other last bits.

XNNPACK, which computes most of a model, shows only the outputs of what it was given. What it
computes for a copy in which all tensors are outputs it computes for the model, too; LiteRT's own
kernels round otherwise.

Every device rounds sums and functions otherwise. Where that may change much, as where activations
are quantized while the model runs or where layers amplify what differs, LiteRT's result moves as
far when each number that it starts from is replaced by its neighbour. Operators of integers are
exact everywhere: what they read stays, and what becomes integers before them.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Literal

import numpy as np

from ...runtime.litert.module import KernelSet
from ..errors import ModelError, PassError
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..frontend.writer import write
from ..ir import Array, Graph, Tensor
from ..options import Options
from ..state_names import state_names
from .child import Output, run_apart
from .fallback import beyond_memory


def with_state(model: Model, signature: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays for all inputs of a model file, in its order: zeros for those that are kept.

    `arrays` has those that are given; the names of what is returned are LiteRT's. ModelError if the
    model cannot be read.
    """
    return _in_its_names(_read(model, signature, arrays), signature, arrays)


def _in_its_names(graph: Graph, signature: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    theirs = _names_in(graph, signature, "inputs")
    return {theirs.get(name, name): array for name, array in _with_state(graph, arrays).items()}


def litert_outputs(
    model: Model,
    signature: str,
    arrays: Mapping[str, Array],
    kernels: KernelSet = "XNNPACK",
    seed: int | None = None,
) -> Mapping[str, Output]:
    """LiteRT's outputs, by the compiler's names for them; a signature may omit some (ModelError).

    What the model keeps starts with zeros. With a `seed` they are those of a copy with other last
    bits.
    """
    graph = _read(model, signature, arrays)
    if seed is not None:
        moved = other_last_bits(graph, _with_state(graph, arrays), seed)
        found = run_apart(_written(graph), moved, kernels=kernels)
        return dict(zip(graph.output_names, found, strict=True))
    found = run_apart(model, _in_its_names(graph, signature, arrays), signature, kernels)
    if not signature:
        return dict(zip(graph.output_names, found, strict=True))
    ours = {theirs: name for name, theirs in _names_in(graph, signature, "outputs").items()}
    return {ours.get(info.name, info.name): (info, value) for info, value in found}


def _names_in(graph: Graph, signature: str, kind: Literal["inputs", "outputs"]) -> dict[str, str]:
    """A signature's names, which LiteRT uses, by the compiler's, of which none is empty."""
    names: dict[str, list[str]] = {}
    for each in graph.signatures if signature else ():
        if each.key == signature:
            for name, tensor in getattr(each, kind).items():
                names.setdefault(tensor, []).append(name)
    ours = graph.input_names if kind == "inputs" else graph.output_names
    pairs = zip(ours, getattr(graph, kind), strict=True)
    return {name: names[t.name].pop(0) for name, t in pairs if names.get(t.name)}


def _read(model: Model, signature: str, arrays: Mapping[str, Array]) -> Graph:
    """The model for the shapes of arrays; ModelError if LiteRT must not run it."""
    shapes = {name: array.shape for name, array in arrays.items()}
    graph = read(model, shapes, signature or None)
    for op in chain(graph.ops, *(body.ops for body in graph.subgraphs.values())):
        if wrong := beyond_memory(op):
            raise ModelError(
                f"LiteRT, which this is compared with, must not run operator {op.index} "
                f"{op.name}: {wrong}"
            )
    return graph


def _with_state(graph: Graph, arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {
        name: arrays[name] if name in arrays else np.zeros(tensor.shape, tensor.dtype)
        for name, tensor in zip(graph.input_names, graph.inputs, strict=True)
    }


def kept_outputs(model: Model, options: Options) -> dict[str, str]:
    """The inputs that outputs of one choice of a model update, by the names of the outputs."""
    graph = read(model, signature=options.signature_key or None)
    (pairs,) = state_names(options.keep, [(graph.input_names, graph.output_names)])
    return {output: name for output, name in pairs if output}


# Types of tensors that are left out: handles, which LiteRT does not hand out, and texts.
HIDDEN = ("resource", "variant", "string")

# Operators of constants whose results XNNPACK makes for itself alone.
UNPACKING = ("DENSIFY", "DEQUANTIZE")


def every_tensor(
    model: Model,
    signature: str,
    arrays: Mapping[str, Array],
    kernels: KernelSet = "XNNPACK",
    seed: int | None = None,
) -> Mapping[str, Output]:
    """The operators' results on these inputs, by tensor name; of a signature, or "" for the model.

    Names that several tensors have are left out, and so are the constants that XNNPACK unpacks.
    With a `seed` they are those of a copy with other last bits. ModelError if LiteRT cannot run the
    copy.
    """
    graph = _read(model, signature, arrays)
    whole = _with_state(graph, arrays)
    if seed is not None:
        whole = other_last_bits(graph, whole, seed)
    results = dict.fromkeys(tensor for op in graph.ops for tensor in op.outputs)
    unpacked = _unpacked(graph) if kernels == "XNNPACK" else set()
    graph.outputs = [t for t in results if t.dtype not in HIDDEN and t not in unpacked]
    graph.output_names = [tensor.name for tensor in graph.outputs]
    found = run_apart(_written(graph), whole, kernels=kernels)
    times = Counter(graph.output_names)
    named = zip(graph.output_names, found, strict=True)
    return {name: pair for name, pair in named if times[name] == 1}


def _written(graph: Graph) -> bytes:
    """A copy of a model; ModelError if it cannot be written."""
    try:
        return write(graph)
    except PassError as error:
        raise ModelError(f"LiteRT cannot run a copy of this model: {error}") from error


def _unpacked(graph: Graph) -> set[Tensor]:
    """The tensors between operators that unpack constants, and their results."""
    found: set[Tensor] = set()
    for op in graph.ops:
        if op.name in UNPACKING and all(t.constant or t in found for t in op.reads):
            found.update(op.outputs)
    return found - set(graph.outputs)


# A float whose lowest bits are zeros is left alone: it was not rounded, as 1 and 0.375.
EXACT_BITS = 12


def other_last_bits(graph: Graph, arrays: Mapping[str, Array], seed: int) -> dict[str, Array]:
    """Give the numbers of a graph other last bits, and those of the arrays for its inputs, which
    are returned.

    The bits are those of float32 inputs and constants, unless they are only quantized, and of the
    scales of quantized constants that operators of floats read.
    """
    chance = np.random.default_rng(seed)
    parts = (graph, *graph.subgraphs.values())
    ops = [op for part in parts for op in part.ops if op.name != "QUANTIZE"]
    readers = {tensor: op for op in ops for tensor in op.reads}
    for tensor, op in readers.items():
        if tensor.data is not None:
            _nudge(tensor, chance, any(each.dtype == "float32" for each in op.outputs))
    named = zip(graph.input_names, graph.inputs, strict=True)
    kept = {name for name, tensor in named if tensor not in readers}
    return {
        name: array if name in kept else _neighbours(array, chance)
        for name, array in arrays.items()
    }


def _nudge(tensor: Tensor, chance: np.random.Generator, scale: bool) -> None:
    """Other last bits for a constant, and for its scale if that counts."""
    tensor.content = _neighbours(tensor.values, chance)
    if scale and tensor.quantization is not None:
        scales = _neighbours(np.asarray(tensor.quantization.scale, np.float32), chance)
        tensor.quantization = replace(tensor.quantization, scale=tuple(scales.tolist()))


def _neighbours(values: Array, chance: np.random.Generator) -> Array:
    """Floats that were rounded become the next or the one before."""
    if values.dtype != np.float32:
        return values
    bits = np.ascontiguousarray(values).view(np.int32)
    rounded = np.isfinite(values) & (bits & (1 << EXACT_BITS) - 1 != 0)
    moved = bits + np.where(rounded, chance.choice(np.array([-1, 1], np.int32), values.shape), 0)
    return moved.astype(np.int32).view(np.float32)
