"""How rewrites are tested: the text of a graph before and after, and the numbers on a device."""

import re
from collections.abc import Sequence
from pathlib import Path

from agreement import any_order, difference, run
from devices import opencl_devices, unavailable
from graphs import Model, Value, lines, model, parsed

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.events import Event
from tflgpu.compiler.ir import Graph
from tflgpu.compiler.language.language import OPENCL, Language
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.rewrites import PIPELINE, Pass
from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import eliminate_dead_code, infer_and_fold
from tflgpu.compiler.rewrites.decompose.split_activation import split_activation
from tflgpu.compiler.target import Target

Source = str | Value | Sequence[Value]  # A graph as text, or as what it computes.
PROFILES = ("cpu_avx512", "gpu")  # The widest slices and the narrowest.
BEFORE = (infer_and_fold, eliminate_dead_code, split_activation)  # What every rewrite relies on.


def made(source: Source) -> Model:
    """The model of a source."""
    return parsed(source) if isinstance(source, str) else model({"y": source})


def rewritten(
    source: Source, *passes: Pass, device: str = PROFILES[0], language: Language = OPENCL
) -> tuple[Graph, list[Event]]:
    """A graph after shapes are known and these rewrites ran, in the pipeline's order."""
    graph, events = made(source).graph, []
    for each in sorted({*BEFORE, *passes}, key=PIPELINE.index):
        found = each(graph, Target(profile(device), language))
        events += found if each in passes else []
    return graph, events


def assert_becomes(
    source: Source, expected: str, *passes: Pass, device: str = PROFILES[0]
) -> Graph:
    """The rewrites make this text of a graph; returns the graph."""
    graph, events = rewritten(source, *passes, device=device)
    assert str(graph).splitlines() == list(lines(expected)), f"it became\n{graph}"
    assert {event.rewrite for event in events if event.reason is None} == {p.name for p in passes}
    return graph


def assert_declines(source: Source, reason: str, *passes: Pass, device: str = PROFILES[0]) -> None:
    """The last of these rewrites leaves the graph alone; each reason it gives matches a regex."""
    before, _ = rewritten(source, *passes[:-1], device=device)
    after, events = rewritten(source, *passes, device=device)
    assert str(after) == str(before)
    said = [event.reason or "applied" for event in events if event.rewrite == passes[-1].name]
    assert said and all(re.search(reason, one) for one in said), said


def operators(source: Source, *passes: Pass) -> str:
    """The operators after these rewrites, each with its epilogue: CONV_2D | RELU."""
    graph, _ = rewritten(source, *passes)
    return "  ".join(" | ".join((op.name, *(e.name for e in op.epilogue))) for op in graph.ops)


def reasons(source: Source, *passes: Pass) -> list[str]:
    """Why these rewrites declined, in order."""
    return [event.reason for event in rewritten(source, *passes)[1] if event.reason]


def compiled(source: Source, device: str = PROFILES[0], *off: Pass) -> CompiledModel:
    """A model compiled for a device profile, without the rewrites in `off`."""
    disabled = tuple(each.name for each in off)
    options = Options(device=device, fallback="none", disable_passes=disabled)
    return pipeline.build(made(source).content, options)


def kernels(source: Source, *off: Pass) -> int:
    """How many kernels a model launches."""
    return len(compiled(source, PROFILES[0], *off).plan.dispatches)


def assert_agrees(folder: Path, *sources: Source, off: Sequence[Pass] = ()) -> None:
    """On a device models compute what LiteRT does, with all rewrites and without those in `off`."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    texts = [source for source in sources if isinstance(source, str)]
    values = [source for source in sources if not isinstance(source, str)]
    models = [parsed(*texts)] if texts else []
    models += [model({str(i): value for i, value in enumerate(values)})] if values else []
    ways = [*((name, ()) for name in PROFILES), *([(PROFILES[0], tuple(off))] if off else [])]
    for whole in models:
        expected = Reference(whole.content).run(whole.inputs)
        for name, disabled in ways:
            names = tuple(each.name for each in disabled)
            options = Options(device=name, fallback="none", disable_passes=names)
            with any_order():
                built = pipeline.build(whole.content, options)
            results = run(built, opencl_devices()[0], folder, whole.inputs)
            for (output, actual), wanted in zip(results.items(), expected, strict=True):
                problem = difference(actual, wanted)
                assert problem is None, f"{output}, {name} without {names}: {problem}"
