"""Verification: compares a compiled model with LiteRT on the same inputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ... import runtime
from ...runtime.plan.records import TensorInfo
from .. import pipeline
from ..devices.attached import attached_device
from ..emit.tensors import inputs
from ..events import describe
from ..frontend.model_file import Model
from ..ir import Array, Graph
from ..litert.variations import every_tensor, kept_outputs, litert_outputs
from ..options import Options
from ..resized_model import fitted_model, read_resized
from ..rewrites.keep_state import keep_state
from ..rewrites.pass_manager import PassManager
from ..scratch import scratch_folder
from ..telling import Progress, silent
from .comparison import Comparison
from .nearest import Answers, Asked, Result, against_litert

# Returns the arrays for a model's inputs, by name.
Feed = Callable[[Sequence[TensorInfo]], Mapping[str, Array]]


@dataclass(frozen=True)
class Verification:
    outputs: tuple[Comparison, ...]  # In the model's order.
    # Constants that are folded, then intermediate tensors in the order of dispatch, if they were
    # compared.
    layers: tuple[Comparison, ...] = ()

    @property
    def ok(self) -> bool:
        return self.departure is None

    @property
    def departure(self) -> Comparison | None:
        """The first tensor that does not agree, intermediate tensors before outputs."""
        return next((item for item in (*self.layers, *self.outputs) if not item.ok), None)


class Litert:
    """What LiteRT computes of a model from the arrays of a `Feed`, to compare with several times.

    Which rewrites are applied, and what is kept in memory, is nothing to it.
    """

    def __init__(self, model: Model, options: Options, feed: Feed) -> None:
        self._whole = fitted_model(model, options, pipeline.target_of(options))
        self.arrays = feed(_inputs(model, options))
        self.outputs = self._answers(litert_outputs)
        self.tensors = self._answers(every_tensor)

    def _answers(self, compute: Callable[..., Asked]) -> Answers:
        asked = (*self._whole, self.arrays)
        return Answers(partial(compute, *asked), partial(compute, *asked, "XNNPACK"))


def verify(
    model: Model, options: Options, feed: Feed, *, layers: bool = False, progress: Progress = silent
) -> Verification:
    """Run LiteRT, compile into a temporary cache, run the model on the same arrays, and compare.

    LiteRT runs XNNPACK, as by default, and where that differs its own kernels, too, and copies of
    the model with other last bits. With `layers` every tensor gets its own memory, and it and every
    constant that is folded are compared with the tensor of that name. Raises what compiling and
    loading raise, and ModelError if LiteRT cannot run the model.
    """
    return verify_against(Litert(model, options, feed), model, options, layers, progress)


def verify_against(
    litert: Litert, model: Model, options: Options, layers: bool, progress: Progress = silent
) -> Verification:
    """The same with what LiteRT may have computed before."""
    options = replace(options, keep_intermediates=layers or options.keep_intermediates)
    device = attached_device(options.device)
    progress("LiteRT", 0, 1)
    _ = litert.outputs.usual  # before the model is compiled, which may take longer
    with scratch_folder() as folder:
        path = pipeline.write(pipeline.build(model, options, progress), folder)
        progress("load", 0, 1)
        with runtime.load(path, device=device, store_binaries=False) as session:
            progress("run", 0, 1)
            results = session.run(litert.arrays)
            kept = kept_outputs(model, options) if options.keep else {}
            results |= {output: session.read(name) for output, name in kept.items()}
            progress("LiteRT", 0, 1)
            computed = [Result(*each) for each in results.items()]
            outputs = against_litert(computed, litert.outputs, options.precision)
            verified = Verification(tuple(outputs))
            if not layers:
                return verified
            inner = [*folded_results(model, options), *_layers(session)]
            found = against_litert(inner, litert.tensors, options.precision)
            return replace(verified, layers=tuple(found))


def _inputs(model: Model, options: Options) -> tuple[TensorInfo, ...]:
    """The inputs that the compiled model will have, for one choice."""
    graph = read_resized(model, options, pipeline.target_of(options))
    keep_state(graph, options.keep)
    return inputs(graph)


def _layers(session: runtime.Session) -> Iterator[Result]:
    """Every tensor that a dispatch writes, in the order of dispatch."""
    plan = session.plan
    computed = [tensor for tensor in plan.tensors if 0 <= tensor.first < len(plan.dispatches)]
    for tensor in sorted(computed, key=lambda tensor: tensor.first):
        label = plan.dispatches[tensor.first].label
        yield Result(tensor.name, session.read(tensor.name), label)


def folded_results(model: Model, options: Options) -> list[Result]:
    """The constants that replace results, for one choice of shapes. Raises as `pipeline.select`."""
    writers: dict[str, str] = {}
    found: dict[str, Result] = {}

    def observe(stage: str, graph: Graph) -> None:
        if stage == "read":
            writers.update((t.name, describe(op)) for op in graph.ops for t in op.outputs)
        for tensor in graph.tensors:
            if tensor.folded and tensor.data is not None and tensor.name in writers:
                label = f"folded: {writers[tensor.name]}"
                found[tensor.name] = Result(tensor.name, tensor.data, label)

    target = pipeline.target_of(options)
    passes = PassManager(target, options.disable_passes, observe=observe)
    pipeline.select(model, options, target, passes)
    return list(found.values())
