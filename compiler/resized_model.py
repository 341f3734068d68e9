"""Models for inputs of other sizes than those in the file.

LiteRT resizes inputs, too. Only what it cannot run then is fitted: what it can run is to have the
same results.
"""

from contextlib import suppress

from .errors import ModelError
from .frontend.model_file import Model
from .frontend.reader import read
from .frontend.writer import write
from .ir import Graph
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
    if graph.sizes and _fits(model, options, target):
        graph.sizes = {}
    return graph


def _fits(model: Model, options: Options, target: Target) -> bool:
    """Whether a model fits other sizes as it is.

    One that takes a batch of one apart or reduces it does not, though LiteRT then leaves out or
    mixes the entries of others. Whether a size to resize to is meant to follow is not known.
    """
    as_it_is, fitted = _read(model, options), _read(model, options)
    as_it_is.sizes = {}
    try:
        _infer(as_it_is, target)
    except ModelError:
        return False
    with suppress(ModelError):
        _infer(fitted, target)
    return all(op.name in RESIZES for op, _ in fitted.fits)


def _infer(graph: Graph, target: Target) -> None:
    inline_subgraphs(graph, target)
    infer_and_fold(graph, target)


def fitted_model(model: Model, options: Options, target: Target) -> tuple[Model, str]:
    """A model that LiteRT can run for a single choice of input shapes, and its signature or "".

    The same model, unless its constants must be fitted. ModelError if they cannot be.
    """
    graph = read_resized(model, options, target)
    if not graph.sizes:
        return model, options.signature_key
    copy = _read(model, options)
    inline_subgraphs(graph, target)
    inline_subgraphs(copy, target)
    pairs = list(zip(graph.ops, copy.ops, strict=True))
    infer_and_fold(graph, target)
    copies = dict(pairs)
    for op, fit in graph.fits:
        fit(copy, copies[op])
    for op, copied in pairs:
        for tensor, resized in zip(copied.outputs, op.outputs, strict=True):
            tensor.shape = resized.shape
    return write(copy), ""


def _read(model: Model, options: Options) -> Graph:
    graph = read(model, dict(options.input_shapes), options.signature_key or None)
    graph.cut_tables = options.cut_tables
    return graph
