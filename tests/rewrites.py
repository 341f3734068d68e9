"""How rewrites are tested: the text of the graph before and after, and the numbers on a device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from conftest import opencl_devices, unavailable
from expressions import Value, model
from tolerances import difference

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.devices import profile
from tflgpu.compiler.emit.compiled_model import Program
from tflgpu.compiler.events import Event
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Graph
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.rewrites import PIPELINE

PROFILES = ("cpu_avx512", "gpu")
"""The widest slices and the narrowest."""


def rewritten(value: Value | Sequence[Value], *rules: str) -> tuple[Graph, list[Event]]:
    """A model after shapes are known and the named rewrites ran, in the pipeline's order."""
    graph = read(model({"y": value}).content)
    known = [rule.__name__ for rule in PIPELINE]
    assert set(rules) <= set(known), f"no rewrite {set(rules) - set(known)}"
    wanted = {"propagate", "drop_dead", "split_activation", *rules}
    events: list[Event] = []
    for step in PIPELINE:
        if step.__name__ in wanted:
            found = step(graph, profile("cpu_avx512"))
            events += [event for event in found if event.rule in rules]
    return graph, events


def operators(value: Value | Sequence[Value], *rules: str) -> str:
    """The graph's operators after the named rewrites, each with what it fused: CONV_2D | RELU."""
    graph, _ = rewritten(value, *rules)
    return "  ".join(" | ".join((op.name, *(post.name for post in op.post))) for op in graph.ops)


def text(value: Value | Sequence[Value], *rules: str) -> str:
    """The graph after the named rewrites; tensors are called by their number."""
    graph, _ = rewritten(value, *rules)
    names: dict[str, str] = {}
    for tensor in graph.inputs:
        names[tensor.name] = f"x{len(names)}"
    for op in graph.ops:
        for tensor in (*op.reads, *op.outputs):
            kind = "w" if tensor.constant else "t"
            names.setdefault(tensor.name, f"{kind}{len(names)}")
    lines = str(graph)
    for name in sorted(names, key=len, reverse=True):
        lines = re.sub(rf"(?<![\w/]){re.escape(name)}(?![\w/.])", names[name], lines)
    return lines


def reasons(value: Value | Sequence[Value], *rules: str) -> list[str]:
    """Why the named rewrites declined, in order."""
    return [event.reason for event in rewritten(value, *rules)[1] if event.reason]


def compiled(value: Value | Sequence[Value], name: str = "cpu_avx512", *off: str) -> Program:
    """A model compiled for a profile, without the rewrites in `off`."""
    options = Options(device=name, fallback="none", disable_passes=off)
    return pipeline.build(model({"y": value}).content, options)


def kernels(value: Value | Sequence[Value], *off: str) -> int:
    """How many kernels a model launches."""
    return len(compiled(value, "cpu_avx512", *off).plan.dispatches)


def assert_agrees(value: Value | Sequence[Value], folder: Path, *off: str) -> None:
    """On a device the model computes what LiteRT does, with all rewrites and without some."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    whole = model({"y": value})
    expected = Reference(whole.content).run(whole.inputs)
    ways = [*((name, ()) for name in PROFILES), *([(PROFILES[0], off)] if off else [])]
    for number, (name, disabled) in enumerate(ways):
        program = compiled(value, name, *disabled)
        path = pipeline.store(program, folder / str(number))
        with tflgpu.load(path, device=opencl_devices()[0]) as session:
            session.poison()
            results = session.run(whole.inputs).values()
        for actual, wanted in zip(results, expected, strict=True):
            problem = difference(actual, wanted)
            assert problem is None, f"{name} without {disabled}: {problem}"
