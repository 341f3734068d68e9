"""A hand-written plan of three tiny kernels in a row, in three languages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tflgpu.compiler.emit.facts import stated
from tflgpu.compiler.emit.folder import pack
from tflgpu.compiler.ir import Array
from tflgpu.runtime import load
from tflgpu.runtime.cache.folder import variant_folder
from tflgpu.runtime.plan.kernels import Kernel
from tflgpu.runtime.plan.records import (
    Argument,
    Dispatch,
    Memory,
    PlacedTensor,
    Plan,
    Region,
    TensorInfo,
)
from tflgpu.runtime.plan.seal import sealed

LENGTH = 13

SIZE = 4 * LENGTH

# Of the second tensor in the arena, and of the second constant; devices want multiples of 128.
OFFSET = 512

ADD = """// y = a + b
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void add(__global const float* restrict a, __global const float* restrict b,
         __global float* restrict y) {
    int i = get_global_id(0);
    y[i] = a[i] + b[i];
}
"""

SCALE = """// y = FACTOR * x * weights
#define FACTOR 2.0f
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void scale(__global const float* restrict x, __global const float* restrict weights,
           __global float* restrict y) {
    int i = get_global_id(0);
    y[i] = FACTOR * x[i] * weights[i];
}
#undef FACTOR
"""

# FACTOR means something else here than in SCALE, as it may: each file undefines what it defines.
SUBTRACT = """// y = FACTOR * a - b
#define FACTOR 3.0f
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void subtract(__global const float* restrict a, __global const float* restrict b,
              __global float* restrict y) {
    int i = get_global_id(0);
    y[i] = FACTOR * a[i] - b[i];
}
#undef FACTOR
"""


def shader(arrays: str, body: str, head: str = "", group: str = "1, 1, 1") -> str:
    """A kernel in GLSL: storage buffers of floats, the last one written, and statements."""
    *reads, written = arrays.split()
    x, y, z = group.split(", ")
    lines = ["#version 310 es", "precision highp float;", *([head] if head else [])]
    lines += [f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;"]
    for binding, array in enumerate([*reads, written]):
        access = "" if array == written else "readonly "
        lines.append(
            f"layout(std430, binding = {binding}) {access}buffer {array}_buffer {{ "
            f"float {array}[]; }};"
        )
    lines += ["void main() {", "    uint i = gl_GlobalInvocationID.x;", f"    {body}", "}", ""]
    return "\n".join(lines)


def module(arrays: str, body: str, beside: str = "") -> str:
    """A kernel in WGSL: storage buffers of floats, the last one written, and a statement.

    `beside` is a buffer of which the kernel writes another part.
    """
    *reads, written = arrays.split()
    lines = []
    for binding, array in enumerate([*reads, written]):
        access = "read_write" if array in (written, beside) else "read"
        lines.append(f"@group(0) @binding({binding}) var<storage, {access}> {array}: array<f32>;")
    lines += ["@compute @workgroup_size(1)", "fn main(@builtin(global_invocation_id) id: vec3u) {"]
    lines += ["  let i = id.x;", f"  {body}", "}", ""]
    return "\n".join(lines)


# The kernel files of `chain` for each target.
CHAIN = {
    "opencl": {
        "kernels/000_add.cl": ADD,
        "kernels/001_scale.cl": SCALE,
        "kernels/002_subtract.cl": SUBTRACT,
    },
    "glsl": {
        "kernels/000_add.comp": shader("a b y", "y[i] = a[i] + b[i];"),
        "kernels/001_scale.comp": shader("x weights y", "y[i] = 2.0 * x[i] * weights[i];"),
        "kernels/002_subtract.comp": shader("a b y", "y[i] = 3.0 * a[i] - b[i];"),
    },
    "wgsl": {
        "kernels/000_add.wgsl": module("a b y", "y[i] = a[i] + b[i];"),
        "kernels/001_scale.wgsl": module("x weights y", "y[i] = 2.0 * x[i] * weights[i];", "x"),
        "kernels/002_subtract.wgsl": module("a b y", "y[i] = 3.0 * a[i] - b[i];"),
    },
}


@dataclass(frozen=True)
class Parts:
    """What `pack` takes."""

    plan: Plan
    sources: dict[str, str]
    weights: bytes

    def write(self, cache: Path, variant: str = "variant") -> Path:
        folder = variant_folder(cache, self.plan.fingerprint, variant)
        return pack(sealed(stated(self.plan)), self.sources, self.weights, folder)

    def replacing(self, **fields: Any) -> Parts:
        return replace(self, plan=replace(self.plan, **fields))


def kernel(name: str, file: str, source: str) -> Kernel:
    """The record of a kernel in groups of one, which takes as many buffers as its text declares."""
    digest = hashlib.sha256(source.encode()).digest()
    buffers = len(re.findall(r"__global|buffer \w+_buffer|var<storage", source))
    return Kernel(name, file, digest, (1, 1, 1), parameters=buffers)


def argument(region: Region, index: int = 0, offset: int = 0, writes: bool = False) -> Argument:
    return Argument(region, index, offset, SIZE, writes)


def dispatch(index: int, label: str, arguments: Sequence[Argument]) -> Dispatch:
    return Dispatch(index, (LENGTH, 1, 1), tuple(arguments), label, (index,), LENGTH)


def constants() -> tuple[Array, Array]:
    """The two constants in the weights of `chain`."""
    random = np.random.default_rng(5)
    first, second = random.uniform(1, 2, (2, LENGTH)).astype(np.float32)
    return first, second


def chain(
    fingerprint: str = "ab" * 32, model: str = "chain.tflite", target: str = "opencl"
) -> Parts:
    """Two inputs, a and b; sum = a + b, scaled = 2 * sum * second, y = 3 * scaled - first."""
    first, second = constants()
    weights = first.tobytes().ljust(OFFSET, b"\xee") + second.tobytes()
    sources = dict(CHAIN[target])
    names = ("add", "scale", "subtract")
    sum_, scaled = OFFSET, 0
    dispatches = (
        dispatch(
            0,
            "ADD -> sum",
            [
                argument(Region.INPUT, 0),
                argument(Region.INPUT, 1),
                argument(Region.ARENA, 0, sum_, True),
            ],
        ),
        dispatch(
            1,
            "MUL -> scaled",
            [
                argument(Region.ARENA, 0, sum_),
                argument(Region.WEIGHTS, 0, OFFSET),
                argument(Region.ARENA, 0, scaled, True),
            ],
        ),
        dispatch(
            2,
            "SUB -> y",
            [
                argument(Region.ARENA, 0, scaled),
                argument(Region.WEIGHTS),
                argument(Region.OUTPUT, 0, 0, True),
            ],
        ),
    )
    tensors = (
        PlacedTensor("a", (LENGTH,), "float32", 0, Region.INPUT, 0, 0, SIZE, -1, 0),
        PlacedTensor("sum", (LENGTH,), "float32", 0, Region.ARENA, 0, sum_, SIZE, 0, 1),
        PlacedTensor("scaled", (LENGTH,), "float32", 0, Region.ARENA, 0, scaled, SIZE, 1, 2),
        PlacedTensor("y", (LENGTH,), "float32", 0, Region.OUTPUT, 0, 0, SIZE, 2, 3),
    )
    plan = Plan(
        compiler="0.1.0",
        target=target,
        precision="f32",
        profile="cpu",
        model=model,
        fingerprint=fingerprint,
        options="{}",
        passes="[]",
        inputs=(TensorInfo("a", (LENGTH,), "float32"), TensorInfo("b", (LENGTH,), "float32")),
        outputs=(TensorInfo("y", (LENGTH,), "float32", 0.5, -3),),
        arena_size=OFFSET + SIZE,
        weights_size=len(weights),
        weights_sha256=hashlib.sha256(weights).digest(),
        kernels=tuple(
            kernel(name, file, source)
            for name, (file, source) in zip(names, sources.items(), strict=True)
        ),
        dispatches=dispatches,
        tensors=tensors,
        memory=Memory(2 * SIZE, OFFSET + SIZE, 2 * SIZE),
    )
    return Parts(sealed(stated(plan)), sources, weights)


def pair(seed: int = 3) -> tuple[Array, Array]:
    """Inputs of `chain`."""
    first, second = np.random.default_rng(seed).uniform(-1, 1, (2, LENGTH)).astype(np.float32)
    return first, second


def chain_result(a: Array, b: Array) -> Array:
    """What `chain` computes."""
    first, second = constants()
    result: Array = 3 * (2 * (a + b) * second) - first
    return result


def check(folder: Path, device: str) -> None:
    """Load a `chain` and run it; the result must be right."""
    a, b = pair()
    with load(folder, device=device) as session:
        session.poison()
        np.testing.assert_allclose(session.run([a, b])["y"], chain_result(a, b), 1e-5, 1e-5)
