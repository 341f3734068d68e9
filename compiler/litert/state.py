"""What a compiled model keeps on the device, as LiteRT takes it and gives it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..frontend.model_file import Model
from ..frontend.reader import read
from ..ir import Array
from ..options import Options
from ..state_names import state_names


def with_state(model: Model, signature: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays for all inputs of a model file, in its order: zeros for those that are kept.

    `arrays` has those that are given. ModelError if the model cannot be read.
    """
    shapes = {name: array.shape for name, array in arrays.items()}
    graph = read(model, shapes, signature or None)
    return {
        name: arrays[name] if name in arrays else np.zeros(tensor.shape, tensor.dtype)
        for name, tensor in zip(graph.input_names, graph.inputs, strict=True)
    }


def kept_outputs(model: Model, options: Options) -> dict[str, str]:
    """The inputs that outputs of one choice of a model update, by the names of the outputs."""
    graph = read(model, signature=options.signature_key or None)
    (pairs,) = state_names(options.keep, [(graph.input_names, graph.output_names)])
    return {output: name for output, name in pairs if output}
