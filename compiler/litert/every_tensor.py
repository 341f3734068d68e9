"""Every tensor of a model as LiteRT computes it, by a run of a copy in which all are outputs.

XNNPACK, which computes most of a model, shows only the outputs of what it was given. What it
computes for the copy it computes for the model, too; LiteRT's own kernels round otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...runtime.litert.module import KernelSet
from ...runtime.plan.records import TensorInfo
from ..errors import ModelError, PassError
from ..frontend.model_file import Model
from ..frontend.reader import read
from ..frontend.writer import write
from ..ir import Array
from .child import try_run
from .reference import Reference
from .state import with_state

HIDDEN = ("resource", "variant", "string")
"""Types of tensors that are left out: handles, which LiteRT does not hand out, and texts."""


def every_tensor(
    model: Model,
    signature: str,
    arrays: Mapping[str, Array],
    kernels: KernelSet = "XNNPACK",
) -> Mapping[str, tuple[TensorInfo, Array]]:
    """The operators' results on these inputs, by tensor name; of a signature, or "" for the model.

    Names that several tensors have are left out. ModelError if LiteRT cannot run the copy.
    """
    graph = read(model, {name: array.shape for name, array in arrays.items()}, signature or None)
    ordered = list(with_state(model, signature, arrays).values())
    results = dict.fromkeys(tensor for op in graph.ops for tensor in op.outputs)
    graph.outputs = [tensor for tensor in results if tensor.dtype not in HIDDEN]
    graph.output_names = [tensor.name for tensor in graph.outputs]
    try:
        copy = write(graph)
    except PassError as error:
        raise ModelError(f"the tensors of this model cannot be compared: {error}") from error
    try_run(copy, ordered, "", kernels)
    reference = Reference(copy, input_shapes=[each.shape for each in ordered], kernels=kernels)
    values = reference.run(ordered)
    found = {
        name: (info, value)
        for name, info, value in zip(graph.output_names, reference.outputs, values, strict=True)
    }
    times = Counter(graph.output_names)
    return {name: pair for name, pair in found.items() if times[name] == 1}
