"""What a model file says about the sizes of its inputs, for errors where sizes do not fit."""

from collections.abc import Collection, Mapping

from .errors import ModelError
from .frontend.model_file import Model
from .frontend.reader import read
from .ir import Graph, Op, Shape, Tensor
from .ops.elementwise import ELEMENTWISE

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
