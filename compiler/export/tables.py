"""The tables of a model in C99, as `tflgpu.h` declares them."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from ...runtime.opencl.sources import join_sources
from ...runtime.plan.records import Argument, Persistent, Plan, TensorInfo
from ...runtime.plan.running import Schedule, TensorBuffer
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

RUNTIMES = {"opencl": "opencl", "glsl": "gles"}
"""The runtime that runs the kernels of each target."""

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
    named = zip(("dispatches", "persistent"), plan.schedules, strict=False)
    parts = [
        f"/* {in_comment(plan.model)}, compiled by tflgpu {plan.compiler} for {plan.target}, "
        f"profile {in_comment(plan.profile)}. */",
        f'#include "{name}.h"',
        "#include <stddef.h>",
        *_tensors("inputs", plan.inputs, plan.input_buffers),
        *_tensors("outputs", plan.outputs, plan.output_buffers),
        *_variables(plan),
        *(_weights(variant.weights.content) if embed and plan.weights_size else ()),
        *(_schedule(variant, schedule, table) for table, schedule in named),
    ]
    text = "\n\n".join(parts)
    digest = hashlib.sha256(text.encode() + plan.weights_sha256).hexdigest()[:32]
    return f"{text}\n\n{_model(variant, name, digest, embed)}"


# -- inputs, outputs, variables ---------------------------------------------------------------


def _tensors(table: str, infos: Sequence[TensorInfo], buffers: Sequence[TensorBuffer]) -> list[str]:
    if not infos:
        return []
    shapes, rows = [], []
    for index, (info, buffer) in enumerate(zip(infos, buffers, strict=True)):
        shape = "NULL"
        if info.shape:
            shape = f"{table}_{index}_shape"
            sizes = ", ".join(map(str, info.shape))
            shapes.append(f"static const uint32_t {shape}[] = {{{sizes}}};")
        rows.append(
            f"    {{{string(info.name)}, {TYPES[info.dtype]}, {len(info.shape)}, {shape}, "
            f"{prod(info.shape)}, {floating(info.scale)}, {info.zero_point}, "
            f"{buffer.reach}}},"
        )
    listed = ["\n".join(shapes)] if shapes else []
    return [*listed, _array("tflgpu_tensor", table, rows)]


def _variables(plan: Plan) -> list[str]:
    rows = []
    for variable in plan.variables:
        content, size = (0, 0) if variable.content is None else (variable.content, variable.size)
        rows.append(
            f"    {{{variable.reach}, {content}, {size}}}, /* {in_comment(variable.name)} */"
        )
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


def _schedule(variant: Variant, schedule: Schedule, name: str) -> str:
    plan = variant.plan
    launched = [plan.launched(submission) for submission in schedule.submissions]
    arguments = [argument for each in launched for argument in each.arguments]
    texts, kernels = _kernels(variant, schedule)
    return "\n\n".join(
        [
            f"/* -- {name} {'-' * (89 - len(name))} */",
            _array("char *const", f"{name}_source", texts or ['    "",']),
            _array("tflgpu_kernel", f"{name}_kernels", kernels or ["    {NULL, 0, 0},"]),
            _array(
                "tflgpu_argument",
                f"{name}_arguments",
                [_argument(argument) for argument in arguments] or ["    {0, 1, 0, 0, 0, 0},"],
            ),
            _array(
                "tflgpu_step",
                f"{name}_steps",
                [*_steps(plan, schedule)] or ["    {0, 0, {0, 0, 0}, {0, 0, 0}, 0, 0, 0},"],
            ),
            f"static const tflgpu_schedule {name} = {{\n"
            f"    {name}_source, {max(1, len(texts))},\n"
            f"    {string(schedule.options)},\n"
            f"    {name}_kernels, {len(kernels)}, {name}_steps, {len(launched)}, "
            f"{name}_arguments,\n}};",
        ]
    )


def _kernels(variant: Variant, schedule: Schedule) -> tuple[list[str], list[str]]:
    """The pieces of source, and the kernels: in OpenCL C one program, in GLSL one for each."""
    kernels = [variant.plan.kernels[index] for index in schedule.kernels]
    sources = {kernel.file: variant.sources[kernel.file] for kernel in kernels}
    if variant.plan.target == "opencl":
        texts = [f"{text}," for text in pieces(join_sources(sources))]
        return texts, [f"    {{{string(kernel.name)}, 0, {len(texts)}}}," for kernel in kernels]
    texts, rows = [], []
    for kernel in kernels:
        first = len(texts)
        texts += [f"{text}," for text in pieces(sources[kernel.file])]
        rows.append(f"    {{{string(kernel.name)}, {first}, {len(texts) - first}}},")
    return texts, rows


def _steps(plan: Plan, schedule: Schedule) -> Iterator[str]:
    first = 0
    for submission in schedule.submissions:
        launched = plan.launched(submission)
        if isinstance(launched, Persistent):
            grid, counters = (1, 1, 1), launched.counters
        else:
            grid, counters = launched.grid, 0
        group = plan.kernels[launched.kernel].group
        count = len(launched.arguments)
        yield (
            f"    {{{schedule.kernels.index(launched.kernel)}, {int(submission.barrier)}, "
            f"{_listed(grid)}, {_listed(group)}, {counters}, {first}, {count}}},"
        )
        first += count


def _argument(argument: Argument) -> str:
    whole = int(argument.whole and not argument.texel)
    return (
        f"    {{TFLGPU_{argument.region.name}, {whole}, {argument.texel}, {argument.index}, "
        f"{argument.offset}, {argument.size}}},"
    )


def _listed(extent: Sequence[int]) -> str:
    return f"{{{', '.join(map(str, extent))}}}"


# -- the model --------------------------------------------------------------------------------


def _model(variant: Variant, name: str, digest: str, embed: bool) -> str:
    plan, needs = variant.plan, variant.plan.needs
    weights = "embedded_weights" if embed and plan.weights_size else "NULL"

    def table(key: str, rows: Sequence[object]) -> str:
        return f"{key if rows else 'NULL'}, {len(rows)}"

    lines = [
        f"&tflgpu_{RUNTIMES[plan.target]}, {string(plan.model)}, {string(digest)},",
        f"{table('inputs', plan.inputs)}, {table('outputs', plan.outputs)}, "
        f"{table('variables', plan.variables)},",
        f"/* arena */ {plan.arena_size}, /* weights */ {plan.weights_size}, "
        f"0x{zlib.crc32(variant.weights.content):08x}u, {weights},",
        f"/* alignment */ {needs.alignment}, /* groups */ {_listed(needs.group_sizes)}, "
        f"{needs.group}, {_listed(needs.group_counts)}, /* local memory */ {needs.local_memory},",
        f"/* buffers */ {needs.arguments}, {needs.argument_size}, {needs.buffer_size}, "
        f"/* texels */ {needs.image_texels},",
        f"{string(' '.join(needs.extensions)) if needs.extensions else 'NULL'}, &dispatches, "
        f"{'&persistent' if plan.persistent else 'NULL'},",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"const tflgpu_model {name} = {{\n{body}\n}};\n"
