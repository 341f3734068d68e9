"""A model's file that is run: its inputs, and compiling it into the user's own cache."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from ..arguments import signatures
from ..emit.tensors import inputs
from ..emit.variant_name import compiled_folder
from ..frontend.reader import read
from ..ir import Graph, Shape, Tensor
from ..options import Options
from ..pictures.picture_file import MODES, read_picture
from ..tools.trace.events import Trace
from ..user_cache import for_attached_device, load_or_compile, user_cache
from .input_arrays import assign, is_picture, stored_shapes
from .shell import note
from .stages import progress

Loaded = TypeVar("Loaded")


def load_compiled(
    model: Path,
    device: str,
    shapes: Mapping[str, tuple[int, ...]],
    load: Callable[[Path], Loaded],
    trace: Trace | None = None,
    signature: str | None = None,
) -> Loaded:
    """What `load` makes of the folder of a model, compiled for an attached device.

    The model is compiled unless it was before and can be loaded. `shapes` are input shapes that
    replace the model's, by name, and `signature` is the signature to compile. `trace` records the
    stages. Raises what `pipeline.build` and `load` raise.
    """
    options = for_attached_device(
        Options(
            device=device, signature=signatures(signature or ()), input_shapes=tuple(shapes.items())
        )
    )
    cache = user_cache()

    def compile() -> Path:
        from .. import pipeline

        with progress() as show:
            show = trace.stages(show) if trace else show
            built = pipeline.build(str(model), options, show)
            show("write", 0, 1)
            folder = pipeline.write(built, cache)
            if trace:
                trace.end_stage()
        note(f"compiled into {cache}, so that the next run starts at once")
        return folder

    folder = compiled_folder(str(model), options, cache)
    return load_or_compile(folder, load, compile)


OPEN = -1  # A size that the file leaves open.


def model_for(
    model: Path, shapes: Mapping[str, Shape], values: Sequence[str], signature: str | None = None
) -> tuple[Graph, Mapping[str, Shape]]:
    """A model as it is for inputs, and the shapes that were chosen for them, by name.

    Where no shapes are given, sizes that the file leaves open are those of the arrays and pictures
    that `values` name. InputError if values do not fit the inputs' names, ModelError if the model
    is damaged or a shape does not fit it.
    """
    graph = read(os.fspath(model), dict(shapes), signature)
    fitting = shapes or _fitting_shapes(graph, values)
    # Sizes of all tensors follow from those of the inputs.
    return (graph if fitting == shapes else read(os.fspath(model), fitting, signature)), fitting


def _fitting_shapes(graph: Graph, values: Sequence[str]) -> dict[str, Shape]:
    """The shapes of arrays and, with a note, of pictures for inputs whose sizes are left open."""
    found: dict[str, Shape] = {}
    open_sizes = {
        name: tensor
        for name, tensor in zip(graph.input_names, graph.inputs, strict=True)
        if tensor.signature and OPEN in tensor.signature
    }
    if open_sizes:
        sources = assign(values, inputs(graph))
        stored = stored_shapes({name: sources[name] for name in open_sizes})
        for name, tensor in open_sizes.items():
            if name in stored:
                found[name] = stored[name]
            elif is_picture(sources[name]) and _takes_any_picture(tensor):
                picture = read_picture(sources[name])
                found[name] = (1, picture.height, picture.width, tensor.shape[3])
                note(
                    f"{name} takes pictures of any size: compiled for "
                    f"{picture.width}x{picture.height}, that of {sources[name]}; "
                    f"--input-shape {name}=1,HEIGHT,WIDTH,{tensor.shape[3]} changes it"
                )
    return found


def _takes_any_picture(tensor: Tensor) -> bool:
    signature = tensor.signature or ()
    return len(signature) == 4 and signature[1:3] == (OPEN, OPEN) and signature[3] in MODES
