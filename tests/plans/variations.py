"""The chain with other parts: records of every kind, and faults of every kind."""

from dataclasses import replace

from tflgpu.compiler.emit.facts import stated
from tflgpu.runtime.plan.kernels import Body, Companion
from tflgpu.runtime.plan.records import (
    Argument,
    HostPart,
    HostTensor,
    IndexCheck,
    Persistent,
    Plan,
    Region,
    TensorInfo,
    Variable,
)
from tflgpu.runtime.plan.seal import sealed

from .chain import LENGTH, OFFSET, SIZE, Parts, chain, kernel


def complete() -> Plan:
    """The chain's plan with a record of every kind in it, each field unlike its default."""
    plan = chain().plan
    place = Argument(Region.ARENA, 0, 64, SIZE, True)
    tensor = HostTensor("host", (LENGTH,), "float32", place=place)
    last = HostTensor("y", (LENGTH,), "float32", output=0)
    image = Argument(Region.WEIGHTS, 0, 0, 48, False, 16)
    first, *others = plan.dispatches
    whole = replace(
        plan,
        inputs=(TensorInfo("a", (LENGTH,), "int8", 0.125, -7), *plan.inputs[1:]),
        kernels=(
            replace(
                plan.kernels[0], parameters=4, extensions=("cl_khr_fp16",), bodies=(Body(0, 9, 7),)
            ),
            *plan.kernels[1:],
        ),
        dispatches=(replace(first, arguments=(*first.arguments, image), why="many"), *others),
        tensors=(*plan.tensors, replace(plan.tensors[1], name="half", lanes=4, stored="float16")),
        companions=(Companion("kernels/000_add.spv", bytes(range(32))),),
        variables=(Variable("zeros", 12), Variable("given", 8, 0)),
        host_tensors=(tensor, last),
        parts=(
            HostPart("fallback/0.tflite", bytes(range(32)), 1, (), (0,), "ABS", (4,)),
            HostPart("fallback/1.tflite", bytes(range(32)), 3, (0,), (1,), "NEG", (5, 6)),
        ),
        persistent=(Persistent(0, 1, 2, 448, (place, image)),),
        index_checks=(IndexCheck(1, "4 GATHER", "ids", (2, 1), place, 4, 8, (5,)),),
        metadata="{}",
        edits=(0, 2),
    )
    return sealed(stated(whole))


def misaligned(target: str = "opencl") -> Parts:
    """The chain with the sum at a byte that no device takes."""
    parts = chain(target=target)
    first, second, third = parts.plan.dispatches
    moved = replace(first.arguments[2], offset=OFFSET + 4)
    return parts.replacing(
        arena_size=parts.plan.arena_size + 4,
        dispatches=(
            replace(first, arguments=(*first.arguments[:2], moved)),
            replace(second, arguments=(moved, *second.arguments[1:])),
            third,
        ),
    )


def broken(target: str = "opencl") -> Parts:
    """The chain with an unknown name, `nothing`, in its second kernel."""
    parts = chain(target=target)
    file, whole = list(parts.sources.items())[1]
    source = whole.replace("y[i] =", "y[i] = nothing;\n    y[i] =", 1)
    first, _, third = parts.plan.kernels
    changed = parts.replacing(kernels=(first, kernel("scale", file, source), third))
    return replace(changed, sources={**parts.sources, file: source})
