"""The tables of a model in C99, as `tflgpu.h` declares them."""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ...runtime.cache.variant import Variant
from ...runtime.plan.records import TensorInfo
from ...runtime.plan.running import TensorBuffer
from ..language.wrapping import in_comment
from ..options import TargetName
from .literals import array, braced, floating, string
from .variants import span_table, variant_tables
from .weights import JoinedWeights

# What projects run on, and the target of its kernels; the first of a target is the default.
BACKENDS: Mapping[str, TargetName] = {
    "opencl": "opencl",
    "gles": "glsl",
    "web": "wgsl",
    "webgpu": "wgsl",
}

# Bytes of embedded weights that are written at a time, and those on a line.
BLOCK, LINE = 1 << 16, 64


def header(name: str) -> str:
    """NAME.h, which declares the model."""
    guard = f"{name.upper()}_H"
    return (
        f'#ifndef {guard}\n#define {guard}\n\n#include "tflgpu.h"\n\n'
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n'
        f"extern const tflgpu_model {name};\n\n"
        f"#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    )


def tables(
    signatures: Sequence[Sequence[Variant]],
    weights: JoinedWeights,
    name: str,
    backend: str,
    embed: bool,
) -> Iterator[str]:
    """NAME.c in pieces: a model with these signatures, all for the same devices; its weights if
    `embed`, whose text is too long to hold in memory."""
    first = signatures[0]
    plan = first[0].plan
    profiles = ", ".join(in_comment(variant.plan.profile) for variant in first)
    content = weights.content
    spans = [span_table(number, each) for number, each in enumerate(weights.spans) if each]
    embedded = embed and len(content) > 0
    top = (
        f"/* {in_comment(plan.model)}, compiled by tflgpu {plan.compiler} for {plan.target}, "
        f"profile {profiles}. */",
        f'#include "{name}.h"',
        "#include <stddef.h>\n\n",
    )
    yield "\n\n".join(top)
    if embedded:
        yield from _embedded(content)
    parts = [*spans]
    constants = f"{len(content)}, 0x{zlib.crc32(content):08x}u"
    constants += f", {'embedded_weights' if embedded else 'NULL'}"
    counts = [len(each) for each in weights.spans]
    following = "NULL"
    for number in reversed(range(len(signatures))):
        prefix = f"s{number}_" if number else ""
        parts += _signature_tables(signatures[number], prefix, counts)
        called, kind = (f"{prefix}signature", "static const") if prefix else (name, "const")
        body = _model(signatures[number], prefix, backend, following, constants)
        parts.append(f"{kind} tflgpu_model {called} = {body};")
        following = f"&{called}"
    yield "\n\n".join(parts) + "\n"


def _signature_tables(
    variants: Sequence[Variant], prefix: str, spans: Sequence[int]
) -> Iterator[str]:
    """All that the model of a signature points to; `spans` are how many each variant has."""
    plan = variants[0].plan
    inputs = _reaches([variant.plan.input_buffers for variant in variants])
    outputs = _reaches([variant.plan.output_buffers for variant in variants])
    yield from _tensors(f"{prefix}inputs", plan.inputs, inputs)
    yield from _tensors(f"{prefix}outputs", plan.outputs, outputs)
    yield from _variables(variants, f"{prefix}variables")
    described = [
        variant_tables(variant, number, spans[number], prefix)
        for number, variant in enumerate(variants)
    ]
    yield from (text for text, _ in described)
    yield array("tflgpu_variant", f"{prefix}variants", [row for _, row in described])


# -- inputs, outputs, variables ---------------------------------------------------------------


def _tensors(table: str, infos: Sequence[TensorInfo], reaches: Sequence[int]) -> list[str]:
    if not infos:
        return []
    shapes, rows = [], []
    for index, (info, reach) in enumerate(zip(infos, reaches, strict=True)):
        shape = "NULL"
        if info.shape:
            shape = f"{table}_{index}_shape"
            shapes.append(f"static const uint32_t {shape}[] = {braced(info.shape)};")
        kind, sizes = f"TFLGPU_{info.dtype.upper()}", (len(info.shape), shape, prod(info.shape))
        quantized = (floating(info.scale), info.zero_point)
        rows.append(braced((string(info.name), kind, *sizes, *quantized, reach)))
    return [*(["\n".join(shapes)] if shapes else []), array("tflgpu_tensor", table, rows)]


def _reaches(buffers: Sequence[Sequence[TensorBuffer]]) -> list[int]:
    """What every variant's kernels may access of each of some buffers."""
    return [max(buffer.reach for buffer in each) for each in zip(*buffers, strict=True)]


def _variables(variants: Sequence[Variant], table: str) -> list[str]:
    """The weights of the first variant, with the variables' contents, begin the file."""
    rows = []
    for index, variable in enumerate(variants[0].plan.variables):
        reach = max(variant.plan.variables[index].reach for variant in variants)
        content, size = (0, 0) if variable.content is None else (variable.content, variable.size)
        rows.append(braced((string(variable.name), reach, content, size)))
    return [array("tflgpu_variable", table, rows)] if rows else []


def _embedded(content: memoryview) -> Iterator[str]:
    """The content of weights.bin as numbers of 64 bits, little-endian, line by line."""
    yield "static const uint64_t embedded_weights[] = {\n"
    for start in range(0, len(content), BLOCK):
        block = bytes(content[start : start + BLOCK])
        words = np.frombuffer(block + bytes(-len(block) % 8), np.uint64).byteswap().tobytes()
        for place in range(0, len(words), LINE):
            line = words[place : place + LINE].hex(",", 8)
            yield f"    0x{line.replace(',', 'u, 0x')}u,\n"
    yield "};\n\n"


# -- the model --------------------------------------------------------------------------------


def _model(
    variants: Sequence[Variant], prefix: str, backend: str, following: str, constants: str
) -> str:
    """A signature, which another one follows; `constants` describe the file of weights."""
    plan = variants[0].plan

    def table(key: str, rows: Sequence[object]) -> str:
        return f"{prefix + key if rows else 'NULL'}, {len(rows)}"

    lines = [
        f"&tflgpu_{backend}, {string(plan.model)}, {string(plan.signature)}, {following},",
        f"{table('inputs', plan.inputs)}, {table('outputs', plan.outputs)}, "
        f"{table('variables', plan.variables)},",
        f"/* weights */ {constants},",
        f"{table('variants', variants)},",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"{{\n{body}\n}}"
