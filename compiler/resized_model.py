"""Models for inputs of other sizes than those in the file, and what the file says about sizes.

LiteRT resizes inputs, too. Only what it cannot run then is fitted: what it can run is to have the
same results.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress

from .errors import ModelError
from .frontend.model_file import Model
from .frontend.reader import read
from .frontend.writer import write
from .ir import Graph, Op, Shape, Tensor
from .ir.sizes import Resized
from .ops.elementwise.elementwise import ELEMENTWISE
from .options import Options
from .rewrites.canonicalize.fit_constants import RESIZES
from .rewrites.canonicalize.infer_and_fold import infer_and_fold
from .rewrites.canonicalize.resolve_control_flow import inline_subgraphs
from .target import Target


def read_resized(model: Model, options: Options, target: Target) -> Graph:
    """The graph of a model for a single choice of input shapes (ModelError).

    Its `sizes` are those to which its constants must be fitted; none if it can be run as it is.
    """
    graph = _read(model, options)
    if graph.resized.sizes and _fits(model, options, target):
        graph.resized = Resized()
    return graph


def _fits(model: Model, options: Options, target: Target) -> bool:
    """Whether a model fits other sizes as it is.

    One that takes a batch of one apart or reduces it does not, though LiteRT then leaves out or
    mixes the entries of others. Whether a size to resize to is meant to follow is not known.
    """
    as_it_is, fitted = _read(model, options), _read(model, options)
    as_it_is.resized = Resized()
    try:
        _infer(as_it_is, target)
    except ModelError:
        return False
    with suppress(ModelError):
        _infer(fitted, target)
    return all(op.name in RESIZES for op, _ in fitted.resized.fits)


def _infer(graph: Graph, target: Target) -> None:
    inline_subgraphs(graph, target)
    infer_and_fold(graph, target)


def fitted_model(model: Model, options: Options, target: Target) -> tuple[Model, str]:
    """A model that LiteRT can run for a single choice of input shapes, and its signature or "".

    The same model, unless its constants must be fitted. ModelError if they cannot be.
    """
    graph = read_resized(model, options, target)
    if not graph.resized.sizes:
        return model, options.signature_key
    copy = _read(model, options)
    inline_subgraphs(graph, target)
    inline_subgraphs(copy, target)
    pairs = list(zip(graph.ops, copy.ops, strict=True))
    infer_and_fold(graph, target)
    copies = dict(pairs)
    for op, fit in graph.resized.fits:
        fit(copy, copies[op])
    for op, copied in pairs:
        for tensor, resized in zip(copied.outputs, op.outputs, strict=True):
            tensor.shape = resized.shape
    return write(copy), ""


def _read(model: Model, options: Options) -> Graph:
    graph = read(model, dict(options.input_shapes), options.signature_key or None)
    graph.resized.cut_tables = options.cut_tables
    return graph


SHOWN = 3  # Most operators that an error lists.


def with_sizes(
    error: ModelError, model: Model, shapes: Mapping[str, Shape], signature: str | None
) -> ModelError:
    """An error that also says which sizes are to be given, or which cannot be; the same if none."""
    graph = read(model, {}, signature)
    inputs = dict(zip(graph.input_names, graph.inputs, strict=True))
    missing = [
        f"--input-shape {name}={','.join(str(size) if size >= 0 else 'N' for size in sizes)}"
        for name, sizes in ((name, tensor.signature or ()) for name, tensor in inputs.items())
        if name not in shapes and min(sizes, default=0) < 0
    ]
    if missing:
        advice = f"which may be the cause; {' '.join(missing)} chooses them"
        return ModelError(f"{error}. The model leaves sizes open, {advice}")
    return _with_fixed_sizes(error, graph, shapes) if shapes else error


def _with_fixed_sizes(error: ModelError, graph: Graph, shapes: Mapping[str, Shape]) -> ModelError:
    """An error that also says which operators hold tables of the sizes in the file."""
    changed: dict[int, str] = {}
    for name, tensor in zip(graph.input_names, graph.inputs, strict=True):
        for size, wanted in zip(tensor.shape, shapes.get(name, tensor.shape), strict=False):
            if size not in (1, wanted):
                changed.setdefault(size, name)
    found = [
        f"operator {op!r} has a table of {list(tensor.shape)}"
        for op in graph.ops
        if op.name in ELEMENTWISE
        for tensor in op.reads
        if tensor.constant and _is_table(op, tensor, changed)
    ]
    advice = "convert the model with the sizes you need, or with dynamic ones"
    if not found:
        return ModelError(f"{error}. Its inputs have other sizes in the file; {advice}")
    listed = ", ".join(found[:SHOWN])
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    sizes = " and ".join(f"{size} of input {name}" for size, name in changed.items())
    return ModelError(f"{error}. Tables fix the size {sizes}: {listed}{more}; {advice}")


def _is_table(op: Op, tensor: Tensor, sizes: Collection[int]) -> bool:
    """Whether a constant has one of these sizes along an axis of another operand that has it."""
    others = (other for other in op.reads if other is not tensor)
    pairs = (
        pair
        for other in others
        for pair in zip(tensor.shape[::-1], other.shape[::-1], strict=False)
    )
    return any(size == other and size in sizes for size, other in pairs)
