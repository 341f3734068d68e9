"""The tables of a model in C99, as `tflgpu.h` declares them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from ...runtime.launch.schedule import Submission, schedule, used_kernels
from ...runtime.opencl.sources import (
    BUILD_OPTIONS,
    PERSISTENT_OPTIONS,
    SUB_GROUPS,
    join_sources,
)
from ...runtime.plan.records import Argument, Dispatch, Persistent, Plan, Region, TensorInfo
from ...runtime.plan.storage import region_size, takes_whole_region
from ...runtime.store.variant import Variant
from ..language.comment import in_comment
from .literals import floating, pieces, string

TYPES = {
    "float32": "TFLGPU_FLOAT32",
    "bool": "TFLGPU_BOOL",
    "int8": "TFLGPU_INT8",
    "uint8": "TFLGPU_UINT8",
    "int16": "TFLGPU_INT16",
    "uint16": "TFLGPU_UINT16",
    "int32": "TFLGPU_INT32",
    "uint32": "TFLGPU_UINT32",
    "int64": "TFLGPU_INT64",
}
"""By dtype, the types of inputs and outputs that the runtime converts."""

WORDS = 8
"""Words of embedded weights on a line."""


def header(name: str) -> str:
    """NAME.h, which declares the model."""
    guard = f"{name.upper()}_H"
    return (
        f'#ifndef {guard}\n#define {guard}\n\n#include "tflgpu.h"\n\n'
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"extern const tflgpu_model {name};\n\n"
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )


def tables(variant: Variant, name: str, embed: bool) -> str:
    """NAME.c, which defines the model; with `embed`, including its weights."""
    plan = variant.plan
    schedules = [_schedule(variant, "dispatches", 0, BUILD_OPTIONS)]
    if plan.persistent:
        schedules.append(_schedule(variant, "persistent", 1, PERSISTENT_OPTIONS))
    parts = [
        f"/* {in_comment(plan.model)}, compiled by tflgpu {plan.compiler} for OpenCL, "
        f"profile {in_comment(plan.profile)}. */",
        f'#include "{name}.h"',
        "#include <stddef.h>",
        *_tensors("inputs", plan.inputs, plan, Region.INPUT),
        *_tensors("outputs", plan.outputs, plan, Region.OUTPUT),
        *_variables(plan),
        *(_weights(variant.weights.content) if embed and plan.weights_size else ()),
        *schedules,
    ]
    text = "\n\n".join(parts)
    digest = hashlib.sha256(text.encode() + plan.weights_sha256).hexdigest()[:32]
    return f"{text}\n\n{_model(variant, name, digest, embed)}"


# -- inputs, outputs, variables ---------------------------------------------------------------


def _tensors(table: str, infos: Sequence[TensorInfo], plan: Plan, region: Region) -> list[str]:
    if not infos:
        return []
    shapes, rows = [], []
    for index, info in enumerate(infos):
        shape = "NULL"
        if info.shape:
            shape = f"{table}_{index}_shape"
            sizes = ", ".join(map(str, info.shape))
            shapes.append(f"static const uint32_t {shape}[] = {{{sizes}}};")
        rows.append(
            f"    {{{string(info.name)}, {TYPES[info.dtype]}, {len(info.shape)}, {shape}, "
            f"{prod(info.shape)}, {floating(info.scale)}, {info.zero_point}, "
            f"{region_size(plan, region, index)}}},"
        )
    listed = ["\n".join(shapes)] if shapes else []
    return [*listed, _array("tflgpu_tensor", table, rows)]


def _variables(plan: Plan) -> list[str]:
    rows = []
    for index, variable in enumerate(plan.variables):
        content, size = (0, 0) if variable.content is None else (variable.content, variable.size)
        whole = region_size(plan, Region.STATE, index)
        rows.append(f"    {{{whole}, {content}, {size}}}, /* {in_comment(variable.name)} */")
    return [_array("tflgpu_variable", "variables", rows)] if rows else []


def _weights(content: memoryview) -> list[str]:
    """The content of weights.bin as numbers of 64 bits, little-endian."""
    padded = bytes(content) + b"\0" * (-len(content) % 8)
    words = memoryview(padded).cast("Q")
    rows = [
        "    " + ", ".join(f"0x{word:x}u" for word in words[start : start + WORDS]) + ","
        for start in range(0, len(words), WORDS)
    ]
    return [_array("uint64_t", "embedded_weights", rows)]


def _array(kind: str, name: str, rows: Iterable[str]) -> str:
    return "\n".join([f"static const {kind} {name}[] = {{", *rows, "};"])


# -- schedules --------------------------------------------------------------------------------


def _schedule(variant: Variant, name: str, resident_groups: int, options: str) -> str:
    plan = variant.plan
    submissions = schedule(plan, resident_groups)
    used = used_kernels(submissions)
    kernels = [plan.kernels[index] for index in used]
    source = join_sources({kernel.file: variant.sources[kernel.file] for kernel in kernels})
    arguments = [argument for each in submissions for argument in each.arguments]
    texts = [f"{text}," for text in pieces(source)]
    rows = [f"    {string(kernel.name)}," for kernel in kernels]
    return "\n\n".join(
        [
            f"/* -- {name} {'-' * (89 - len(name))} */",
            _array("char *const", f"{name}_source", texts or ['    "",']),
            _array("char *const", f"{name}_kernels", rows or ["    NULL,"]),
            _array(
                "tflgpu_argument",
                f"{name}_arguments",
                [_argument(plan, argument) for argument in arguments]
                or ["    {0, 1, 0, 0, 0, 0},"],
            ),
            _array(
                "tflgpu_step",
                f"{name}_steps",
                [*_steps(plan, submissions, used)] or ["    {0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},"],
            ),
            f"static const tflgpu_schedule {name} = {{\n"
            f"    {name}_source, {max(1, len(texts))},\n"
            f"    {string(options)},\n"
            f"    {name}_kernels, {len(kernels)}, {name}_steps, {len(submissions)}, "
            f"{name}_arguments,\n}};",
        ]
    )


def _steps(plan: Plan, submissions: Sequence[Submission], used: Sequence[int]) -> list[str]:
    rows, first = [], 0
    for submission in submissions:
        grid = ", ".join(map(str, submission.grid))
        group = ", ".join(map(str, plan.kernels[submission.kernel].group))
        count = len(submission.arguments)
        rows.append(
            f"    {{{used.index(submission.kernel)}, {{{grid}}}, {{{group}}}, "
            f"{submission.counters}, {first}, {count}}},"
        )
        first += count
    return rows


def _argument(plan: Plan, argument: Argument) -> str:
    whole = int(takes_whole_region(plan, argument) and not argument.texel)
    return (
        f"    {{TFLGPU_{argument.region.name}, {whole}, {argument.texel}, {argument.index}, "
        f"{argument.offset}, {argument.size}}},"
    )


# -- the model --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Requirements:
    """What a device must have."""

    alignment: int
    group: tuple[int, int, int]
    group_size: int
    local_memory: int
    image_texels: int
    sub_groups: bool

    @staticmethod
    def of(plan: Plan) -> Requirements:
        launched: tuple[Dispatch | Persistent, ...] = (*plan.dispatches, *plan.persistent)
        arguments = [argument for each in launched for argument in each.arguments]
        groups = [kernel.group for kernel in plan.kernels] or [(1, 1, 1)]
        offsets = {argument.offset for argument in arguments if argument.offset}
        return Requirements(
            # The greatest power of two that divides all offsets.
            min((offset & -offset for offset in offsets), default=4096),
            (max(g[0] for g in groups), max(g[1] for g in groups), max(g[2] for g in groups)),
            max(map(prod, groups)),
            max((kernel.shared_memory for kernel in plan.kernels), default=0),
            max((a.size // a.texel for a in arguments if a.texel), default=0),
            any(kernel.sub_group for kernel in plan.kernels),
        )


def _model(variant: Variant, name: str, digest: str, embed: bool) -> str:
    plan, needs = variant.plan, Requirements.of(variant.plan)
    weights = "embedded_weights" if embed and plan.weights_size else "NULL"

    def table(key: str, rows: Sequence[object]) -> str:
        return f"{key if rows else 'NULL'}, {len(rows)}"

    lines = [
        f"{string(plan.model)}, {string(digest)},",
        f"{table('inputs', plan.inputs)}, {table('outputs', plan.outputs)}, "
        f"{table('variables', plan.variables)},",
        f"/* arena */ {plan.arena_size}, /* weights */ {plan.weights_size}, "
        f"0x{zlib.crc32(variant.weights.content):08x}u, {weights},",
        f"/* alignment */ {needs.alignment}, /* groups */ {{{', '.join(map(str, needs.group))}}}, "
        f"{needs.group_size}, /* local memory */ {needs.local_memory}, "
        f"/* texels */ {needs.image_texels},",
        f"{string(SUB_GROUPS) if needs.sub_groups else 'NULL'}, &dispatches, "
        f"{'&persistent' if plan.persistent else 'NULL'},",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"const tflgpu_model {name} = {{\n{body}\n}};\n"
