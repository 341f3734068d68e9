"""The recipe: read, rewrite, choose, place, render, pack. Every stage is one line here."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..runtime.plan.records import Plan
from ..runtime.store.cache import fingerprint, variant_folder
from .codegen.translate import DIALECTS, translate
from .devices import Profile
from .emit.compiled_model import Program
from .emit.folder import pack
from .emit.lower import Lowered, lower
from .emit.version import compiler_version
from .errors import Finding, ModelError, OptionError, UnsupportedError
from .events import Event
from .frontend.model_file import mapped
from .frontend.reader import read
from .ir import Graph, Op, Tensor
from .litert.partition import Cut, chosen_by_user
from .litert.reference import ReferenceMissingError
from .options import Options
from .rewrites import PIPELINE, REQUIRED
from .rewrites.rewrite import check
from .schedule.tuning_table import Sizes, Table, digest, read_table
from .select.legality import Candidates, candidates
from .select.storage import Choice, choose_storage, insert_conversions
from .target import choose_profile

Model = str | os.PathLike[str] | bytes
"""A model file, or its content."""

Progress = Callable[[str, int, int], None]
"""Told the stage, the work done in it and the work there is."""


Observer = Callable[[int, str, Graph], None]
"""Shown the graph after each rewrite, with the rewrite's number and name."""


def _unobserved(number: int, name: str, graph: Graph) -> None:
    pass


def _silent(stage: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True)
class Prepared:
    """A model whose operators have their kernels, and its tensors their storage."""

    graph: Graph
    choice: Choice
    storages: Mapping[Tensor, str]
    profile: Profile
    operators: int
    """Operators in the model file."""
    events: list[Event]
    fallback: tuple[Finding, ...]
    """Operators that run on LiteRT."""


@dataclass(frozen=True)
class Suited:
    """A model's graph as rewrites leave it, with the kernels that suit each operator."""

    graph: Graph
    candidates: Mapping[Op, Candidates]
    operators: int
    """Operators in the model file."""
    fallback: tuple[Finding, ...]
    """Operators that run on LiteRT."""


def suit(
    model: Model,
    options: Options,
    profile: Profile,
    events: list[Event],
    progress: Progress = _silent,
    observe: Observer = _unobserved,
) -> Suited:
    """Read a model, rewrite it and find kernels; what finds none is cut out where that is allowed.

    `events` gets what the rewrites did, also if they end in UnsupportedError: operators are left
    that run nowhere.
    """
    cut = Cut()
    if options.fallback_ops:
        cut.add(chosen_by_user(_read(model, options), options.fallback_ops))
    refusal = stuck = None
    while True:
        progress("read", 0, 1)
        graph = _read(model, options)
        operators = len(graph)
        events.clear()
        try:
            if cut.findings:
                cut.apply(graph, _read(model, options))
            observe(0, "read", graph)
            events += rewrite(graph, profile, options.disable_passes, progress, observe)
            progress("choose", 0, 1)
            return Suited(graph, candidates(graph, profile), operators, cut.reasons())
        except UnsupportedError as error:
            refusal = error
            if options.fallback == "none":
                raise
            if not cut.add(error.findings):
                # LiteRT refuses a part. If it does not take the whole model either, what it says of
                # the operators at fault helps most.
                stuck = stuck or error
                if not cut.add_everything(_read(model, options)):
                    raise stuck from None
        except ReferenceMissingError as error:
            told = f"{refusal}\n" if refusal else ""
            raise ReferenceMissingError(f"{told}{error}") from error


def _read(model: Model, options: Options) -> Graph:
    return read(model, dict(options.input_shapes), options.signature or None)


def options_profile(options: Options) -> Profile:
    """The profile that the options ask for, in their precision (OptionError for an unknown one)."""
    profile = choose_profile(options.device, options.target)
    return replace(profile, half=options.precision == "f16")


def prepare(model: Model, options: Options, progress: Progress = _silent) -> Prepared:
    """All of a compilation that comes before sizes are chosen and kernels are rendered."""
    profile = options_profile(options)
    events: list[Event] = []
    ready = suit(model, options, profile, events, progress)
    choice = choose_storage(ready.graph, ready.candidates, profile)
    storages = insert_conversions(ready.graph, choice, profile)
    return Prepared(ready.graph, choice, storages, profile, ready.operators, events, ready.fallback)


def build(model: Model, options: Options, progress: Progress = _silent) -> Program:
    """Compile a model in memory. Raises as `compile` does, apart from the cache."""
    # Before anything that takes long.
    key = _fingerprint(model)
    table = read_table(Path(options.tuning)) if options.tuning else Table("")
    ready = prepare(model, options, progress)
    graph, profile = ready.graph, ready.profile
    dialect = DIALECTS.get(options.target, options.target)
    tuned: dict[str, Sizes] = {}
    done = iter(range(1, len(graph) + 1))
    progress("arrange", 0, 1)
    lowered = lower(
        graph,
        ready.choice,
        ready.storages,
        profile,
        dialect,
        table.sizing(profile, dialect, tuned),
        share_memory=not options.keep_intermediates,
        progress=lambda: progress("render", next(done), len(graph)),
    )
    name = "model" if isinstance(model, bytes) else Path(model).name
    # The name of a file need not be text, that of a model in a plan must be.
    name = os.fsencode(name).decode("utf-8", "replace")
    # The table by what it says of this model, not by where it lies.
    options = replace(options, tuning=digest(tuned))
    events = [*ready.events, *lowered.events]
    if _fingerprint(model) != key:
        raise ModelError(f"{name} was changed while it was compiled; compile it again")
    program = assemble(name, key, lowered, profile, options, ready.operators, events)
    return replace(program, fallback=ready.fallback, tuned=len(tuned))


def _fingerprint(model: Model) -> str:
    """The digest of a model's content (ModelError if it cannot be read)."""
    if isinstance(model, bytes):
        return fingerprint(model)
    with mapped(os.fspath(model)) as content:
        return hashlib.sha256(content).hexdigest()


def assemble(
    name: str,
    content: str,
    lowered: Lowered,
    profile: Profile,
    options: Options,
    operators: int,
    events: Sequence[Event] = (),
) -> Program:
    """A program from what a graph was lowered to; `content` is the fingerprint of the model."""
    shipped = translate(lowered.kernels, lowered.sources, options.target)
    plan = Plan(
        compiler=compiler_version(),
        target=options.target,
        precision=options.precision,
        profile=profile.name,
        model=name,
        fingerprint=content,
        options=replace(options, device=profile.name).as_json(),
        passes=json.dumps([event.as_dict() for event in events]),
        inputs=lowered.inputs,
        outputs=lowered.outputs,
        arena_size=lowered.arena_size,
        weights_size=len(lowered.weights),
        weights_sha256=hashlib.sha256(lowered.weights).digest(),
        kernels=shipped.kernels,
        dispatches=lowered.dispatches,
        tensors=lowered.tensors,
        memory=lowered.memory,
        variables=lowered.variables,
        companions=shipped.records,
        host_tensors=lowered.host.tensors,
        parts=lowered.host.records,
        persistent=lowered.persistent,
    )
    files = {**shipped.companions, **lowered.host.contents}
    return Program(plan, shipped.sources, lowered.weights, operators, tuple(events), files)


def rewrite(
    graph: Graph,
    profile: Profile,
    disabled: tuple[str, ...] = (),
    progress: Progress = _silent,
    observe: Observer = _unobserved,
) -> list[Event]:
    """Run the pipeline on a graph (OptionError for a pass that does not exist or is needed)."""
    names = [step.__name__ for step in PIPELINE]
    for name in disabled:
        if name not in names:
            raise OptionError(f"no pass {name!r}; there are {', '.join(names)}")
        if name in REQUIRED:
            raise OptionError(f"the pass {name} cannot be left out: kernels rely on it")
    events = []
    for number, step in enumerate(PIPELINE):
        progress("rewrite", number, len(PIPELINE))
        if step.__name__ not in disabled:
            events += step(graph, profile)
            check(graph, step.__name__, everything=True)
        observe(number + 1, step.__name__, graph)
    return events


def store(program: Program, cache: Path) -> Path:
    """Write a program into a cache directory; an equal one that is there already is kept."""
    plan = program.plan
    digest = hashlib.sha256(f"{plan.options}\0{plan.compiler}".encode()).hexdigest()[:12]
    variant = f"{plan.target}-{plan.precision}-{plan.profile}-{digest}"
    folder = variant_folder(cache, plan.fingerprint, variant)
    return pack(plan, program.sources, program.weights, folder, program.companions)
