"""The shapes of all tensors of a model, as they follow from those of its inputs."""

from __future__ import annotations

from collections.abc import Mapping

from ..compiler.frontend.reader import read
from ..compiler.ir import Shape
from ..compiler.options import Options
from ..compiler.pipeline import target_of
from ..compiler.rewrites.canonicalize.infer_and_fold import infer_and_fold
from .file import Model


def inferred_shapes(model: Model, options: Options) -> Mapping[str, Shape]:
    """The shape of each tensor, by the compiler's name for it.

    Shapes that are known only while the model runs are those in the file. ModelError if the model
    is invalid, DeviceError if there is no such device.
    """
    graph = read(model, dict(options.input_shapes), options.signature_key or None)
    tensors = list(graph.tensors)
    infer_and_fold(graph, target_of(options))
    return {tensor.name: tensor.shape for tensor in tensors}
