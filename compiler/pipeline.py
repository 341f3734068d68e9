"""The pipeline: from a model file to a compiled model, stage by stage."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from ..runtime.cache.folder import variant_folder
from ..runtime.errors import TflgpuWarning
from .choices import each_choice
from .codegen.generate import generate
from .devices.attached import choose_profile
from .emit.compiled_model import CompiledModel
from .emit.complete import complete
from .emit.folder import pack
from .emit.plan import emit
from .emit.variant_name import name_of
from .emit.weights import Weights
from .errors import (
    Finding,
    ModelError,
    ModelFileError,
    OptionError,
    UnfitKernelError,
    UnsupportedError,
)
from .frontend.metadata import read_metadata
from .frontend.model_file import Identity, Model, fingerprint
from .ir import Graph, Op
from .litert.fallback import LitertShapes, chosen_by_user, hand_over, in_order
from .litert.parts import host, named_operators
from .memory.allocation import allocate
from .memory.arrange import arrange
from .options import Options
from .resized_model import read_resized, with_sizes
from .rewrites import CANONICALIZE, LOWER
from .rewrites.decompose.resolve_variables import VARIABLES
from .rewrites.formats import apply_formats
from .rewrites.keep_state import keep_state
from .rewrites.pass_manager import PassManager
from .rewrites.quantized.lower_quantized import is_quantized
from .select.conversions import Selected, insert_conversions
from .select.halved import UnlikeCaches, check_alike, halve_caches
from .select.kept import keep, kept_operators
from .select.legality import Candidates, candidates, finding
from .select.storage import choose_storage
from .select.supported import unsupported
from .sizing.sizes import Sized, Sizes, Sizing, size_operators
from .sizing.tuning_table import TableSizing, digest, read_table
from .target import SOURCE_LANGUAGES, Target
from .telling import Progress, silent, tell

# Operators that LiteRT runs because their kernels do not fit the device, by index.
Unfit = Mapping[int, Finding]

T = TypeVar("T")


def build(model: Model, options: Options, progress: Progress = silent) -> CompiledModel:
    """Compile a model in memory. Raises what `tflgpu.compile` raises, except for the cache."""
    identity = Identity.of(model)
    table = read_table(Path(options.tuning)) if options.tuning else None
    choices = each_choice(model, options)
    target = target_of(choices[0])
    sizing = TableSizing(table, target) if table else Sizing()

    single: set[str] = set()  # Caches that not all choices can store in half precision.

    def sized(choice: Options, unfit: Unfit) -> Sized:
        passes = PassManager(target, choice.disable_passes, progress)
        return size_operators(select(model, choice, target, passes, unfit, single), sizing)

    def attempt(unfit: Unfit) -> CompiledModel:
        each = (sized(choice, unfit) for choice in choices)
        try:
            return generate_plan(each, options, identity, progress, choices)
        except UnlikeCaches as error:
            single.update(error.names)
            return attempt(unfit)

    compiled = fitting(options, attempt)
    metadata, fault = _metadata(model)
    if fingerprint(model) != identity.fingerprint:
        raise ModelFileError(
            f"{identity.name} changed while it was being compiled; compile it again"
        )
    if fault:
        tell(TflgpuWarning(f"the model's metadata is ignored: {fault}"))
    return replace(compiled, plan=replace(compiled.plan, metadata=metadata))


def fitting(options: Options, attempt: Callable[[Unfit], T]) -> T:
    """What an attempt, repeated for unfit kernels, returns (UnfitKernelError without LiteRT)."""
    unfit: dict[int, Finding] = {}
    while True:
        try:
            return attempt(unfit)
        except UnfitKernelError as error:
            found = {finding.index: finding for finding in error.findings}
            if options.fallback == "none" or found.keys() <= unfit.keys():
                raise
            unfit |= found


def select(
    model: Model,
    options: Options,
    target: Target,
    passes: PassManager | None = None,
    unfit: Unfit = MappingProxyType({}),
    single: Collection[str] = (),
) -> Selected:
    """Run the stages from reading to the choice of implementations.

    The options are those of a single choice. `passes`, which runs the rewrites, has their events
    even if an UnsupportedError is raised. Caches named in `single` stay in single precision.
    """
    passes = passes or PassManager(target, options.disable_passes)
    passes.progress("read", 0, 1)
    shapes = dict(options.input_shapes)
    graph = read_resized(model, options, target)
    operators = len(graph)
    passes.observe("read", graph)
    chosen = {**unfit, **chosen_by_user(graph, options.fallback_ops)}
    custom = named_operators(graph, options.custom_ops)
    # Half precision holds whole numbers up to 2048 only.
    quantized = {op.index for op in graph.ops if is_quantized(op)}
    kept = quantized | kept_operators(graph, options.keep_f32)
    apply_formats(graph, options.inputs, options.outputs)
    litert = options.fallback == "litert"
    if litert:
        graph.litert_shape = LitertShapes(model, shapes)

    try:
        passes.run(graph, CANONICALIZE)
    except ModelError as error:
        raise with_sizes(error, model, shapes, options.signature_key or None) from None

    fallback = _partition(graph, target, custom, chosen, litert)
    keep_state(graph, options.keep)
    passes.run(graph, LOWER)
    if target.half:
        keep(graph, kept)
    halve_caches(graph, target, single)

    passes.progress("choose", 0, 1)
    legal = _legal(graph, target)
    choice = choose_storage(graph, legal, target)
    storages = insert_conversions(graph, choice, target)
    # A conversion may have become part of the operator before it.
    legal = {op: found for op, found in legal.items() if op in choice}
    return Selected(graph, target, choice, storages, operators, legal, passes.events, fallback)


def _partition(
    graph: Graph,
    target: Target,
    custom: Collection[Op],
    chosen: Mapping[int, Finding],
    litert: bool,
) -> tuple[Finding, ...]:
    """Move to the host the operators that functions of the application compute, and those for
    LiteRT, whose findings are returned: what is `chosen` by index and what the device cannot run.
    """
    hosted = unsupported(graph, target)
    left = [op for op in graph.ops if op in custom]
    for op in left:
        hosted.pop(op, None)
    host(graph, left)
    return hand_over(graph, hosted, chosen, litert)


def _legal(graph: Graph, target: Target) -> dict[Op, Candidates]:
    """What can compute each operator (UnsupportedError if rewrites made some that nothing can)."""
    legal = {op: candidates(op, target, lowered=True) for op in graph.ops}
    without = [op for op, found in legal.items() if not found.implementations]
    if without:
        reasons = (finding(op, target, lowered=True) for op in without)
        raise UnsupportedError(in_order(filter(None, reasons)))
    return legal


def generate_plan(
    sized: Iterable[Sized],
    options: Options,
    identity: Identity,
    progress: Progress = silent,
    choices: Sequence[Options] = (),
) -> CompiledModel:
    """Run the stages after sizing for each choice, whose options are `choices` if there are
    several. `identity` is that of the model file. UnlikeCaches if they would share caches that they
    store in different ways.
    """
    weights = Weights()
    several = len(choices) > 1
    emitted = []
    used: dict[str, Sizes] = {}
    halved = []
    for each in sized:
        emitted.append(_emit(each, weights, options, progress))
        used |= each.used
        halved.append({state.name: state.halved for state in each.selected.graph.state})
        if several and _keeps_state(each.selected.graph):
            raise OptionError(
                f"{identity.name} keeps variables from run to run, which would be those of one "
                f"signature or choice of input_shapes alone; compile each by itself"
            )
        del each  # Lest its arrays stay in memory while the next one is sized.
    check_alike(halved)
    # Two tables with the same entries for this model must give the same plan, so the plan records
    # the entries and not the path.
    tuning = digest(used)
    recorded = [replace(choice, tuning=tuning) for choice in choices or [options]]
    return complete(emitted, weights, identity, recorded, replace(options, tuning=tuning))


def _keeps_state(graph: Graph) -> bool:
    """Whether there are variables that choices cannot share, on the device or on LiteRT."""
    on_litert = {inner.name for op in graph.ops for inner in op.ops}
    kept = {*graph.kept.values(), *(tensor for tensor in graph.tensors if tensor.variable)}
    return not kept.issubset(graph.state) or not on_litert.isdisjoint(VARIABLES)


def _emit(sized: Sized, weights: Weights, options: Options, progress: Progress) -> CompiledModel:
    progress("arrange", 0, 1)
    share = not options.keep_intermediates
    allocation = allocate(arrange(sized, gaps=share), share)
    total = len(sized.operators)
    done = iter(range(1, total + 1))
    kernels = generate(allocation, lambda: progress("render", next(done), total))
    return emit(allocation, kernels, weights, options)


def target_of(options: Options) -> Target:
    """The target that options describe (OptionError, DeviceError if there is no such device)."""
    profile = choose_profile(options.device, options.target)
    language = SOURCE_LANGUAGES[options.target]
    return Target(profile, language, options.precision, options.nan, options.shares_weights)


def _metadata(model: Model) -> tuple[str, ModelError | None]:
    """What a model says of its inputs and outputs; "" and why, if that is damaged."""
    try:
        return read_metadata(model).as_json(), None
    except ModelError as error:
        return "", error


def write(compiled: CompiledModel, cache: Path) -> Path:
    """Write a compiled model into a cache folder, unless it is there already (PlanError)."""
    plan = compiled.plan
    folder = variant_folder(cache, plan.fingerprint, name_of(plan))
    content = (compiled.sources, compiled.weights, folder, compiled.companions)
    return pack(plan, *content, compiled.specializations)
