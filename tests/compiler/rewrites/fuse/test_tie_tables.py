"""A table that is the weights of a layer, too, is stored once, also for several signatures."""

from dataclasses import replace
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
from agreement import assert_litert, run
from ai_edge_litert import schema_py_generated as schema
from cases.norms import root_mean_square
from cases.quantized_layers import weights
from cases.quantized_weights import TABLES_OF_WEIGHTS
from devices import own_profile
from graphs import Value, affine, call, known, model, quantized, typed, w, x, xi
from graphs.signatures import Entry, signed

from tflgpu.compiler import Options, build
from tflgpu.compiler.devices import profile
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Array, Graph, Shape
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.ops.indexing.lookup import NAME as LOOKUP
from tflgpu.compiler.options import Precision, TargetName
from tflgpu.compiler.rewrites import PIPELINE
from tflgpu.compiler.rewrites.fuse.tie_tables import tie_tables
from tflgpu.compiler.target import Target

WORDS, COLUMNS = 4096, 64
BITS = {"int8": 8, "int4": 4, "blocks of int4": 4, "floats": 32}
DEVICES: list[tuple[TargetName, str, Precision]] = [
    ("opencl", "cpu_avx512_bytes", "f32"),
    ("opencl", "cpu_avx512", "f32"),
    ("opencl", "cpu_avx2_bytes", "f32"),
    ("opencl", "nvidia", "f32"),
    ("opencl", "adreno", "f32"),
    ("opencl", "mali", "f16"),
    ("glsl", "mali", "f32"),
    ("wgsl", "webgpu", "f32"),
]


def rows_and_layer(kind: str, rows: int = 1, words: int = WORDS) -> tuple[Value, Value]:
    """The rows of a table that indices name, and a layer of them whose weights are the table."""
    table = TABLES_OF_WEIGHTS[kind](words)
    found = call("EMBEDDING_LOOKUP", xi(rows, draw="counts"), table)
    return found, call("FULLY_CONNECTED", found, table, None)


@pytest.mark.parametrize(("target", "device", "precision"), DEVICES)
@pytest.mark.parametrize("kind", BITS)
def test_it_is_stored_once(
    kind: str, target: TargetName, device: str, precision: Precision
) -> None:
    options = Options(target=target, device=device, precision=precision)
    content = model({"y": rows_and_layer(kind)[1]}).content
    if kind == "floats" and precision == "f16":
        assert len(build(content, options).weights) > 1.9 * WORDS * COLUMNS * 16 // 8
        return
    assert len(build(content, options).weights) in stored_once(kind)
    apart = replace(options, disable_passes=("tie_tables",))
    assert len(build(content, apart).weights) >= 2 * stored_once(kind).start


@pytest.mark.parametrize("device", ["nvidia", "intel_xe"])
@pytest.mark.parametrize("kind", ["int8", "blocks of int4"])
def test_layers_of_several_rows_have_the_order_of_one_row(kind: str, device: str) -> None:
    """Work-items of few rows share sums, too, and some devices would multiply bytes."""
    content = model({"y": rows_and_layer(kind, 5)[1]}).content
    assert len(build(content, Options(device=device)).weights) in stored_once(kind)


@pytest.mark.parametrize("device", ["cpu_avx512", "mali"])
@pytest.mark.parametrize("beside", ["factors before", "factors after", "norm"])
def test_what_is_beside_a_layer_stays_out_of_its_weights(beside: str, device: str) -> None:
    """Lookups would read products of them."""
    table = TABLES_OF_WEIGHTS["floats"](WORDS)
    rows: Value = call("EMBEDDING_LOOKUP", xi(5, draw="counts"), table)
    if beside == "factors before":
        rows = call("MUL", rows, w(COLUMNS))
    elif beside == "norm":
        rows = root_mean_square(rows, (1,), w(COLUMNS), w(COLUMNS))
    layer = call("FULLY_CONNECTED", rows, table, None)
    value = call("MUL", layer, w(WORDS)) if beside == "factors after" else layer
    content = model({"y": value}).content
    assert len(build(content, Options(device=device)).weights) in stored_once("floats")


def test_a_table_of_lookups_alone_stays_as_it_is() -> None:
    target = Target(profile("cpu_avx512_bytes"))
    for table in (TABLES_OF_WEIGHTS["int8"](83), TABLES_OF_WEIGHTS["floats"](83)):
        graph = read(model({"y": call("EMBEDDING_LOOKUP", xi(5, draw="counts"), table)}).content)
        for each in PIPELINE[: PIPELINE.index(tie_tables)]:
            each(graph, target)
        assert any(op.name in ("GATHER", LOOKUP) for op in graph.ops)
        assert tie_tables(graph, target) == []


@pytest.mark.parametrize("device", ["cpu_avx512_bytes", "mali"])
def test_integers_of_a_table_stay_bytes_beside_those_of_a_layer(device: str) -> None:
    table = weights((WORDS, COLUMNS), channels=False)
    found = quantized("EMBEDDING_LOOKUP", xi(5, draw="counts"), table, dtype="int8")
    layer = quantized("FULLY_CONNECTED", found, table, None, scale=0.02)
    options = Options(device=device, fallback="none")
    stored = len(build(model({"y": layer}).content, options).weights)
    assert stored < 2.2 * WORDS * COLUMNS


def stored_once(kind: str) -> range:
    """Bytes of a table, and with what may be beside it: five numbers of each row, and two of each
    block of a row."""
    table = WORDS * COLUMNS * BITS[kind] // 8
    beside = 4 * WORDS * (5 + 2 * (kind == "blocks of int4") * COLUMNS // 32)
    return range(table, table + beside + 4096)


def of_numbers(low: int, high: int, dtype: str = "int8", columns: int = COLUMNS) -> Value:
    """A layer of the rows of a table of whole numbers."""
    numbers = np.random.default_rng(5).integers(low, high, (83, columns), endpoint=True)
    found = known(numbers.astype(dtype), affine(0.02))
    rows = quantized("EMBEDDING_LOOKUP", xi(83, draw="counts"), found, dtype=dtype, scale=0.02)
    return quantized("FULLY_CONNECTED", rows, found, None, dtype=dtype, scale=0.5)


@pytest.mark.parametrize("device", ["cpu_avx2_bytes", "nvidia", "mali"])
@pytest.mark.parametrize("kind", [*BITS, "few", "few of 36 columns", "bytes", "without a sign"])
def test_numpy_finds_the_same_rows_in_the_order_of_a_layer(kind: str, device: str) -> None:
    """Layers store small numbers in 4 bits whatever their type, and others less 128."""
    values = {
        "few": lambda: of_numbers(-7, 7),
        "bytes": lambda: of_numbers(-128, 127),
        "few of 36 columns": lambda: of_numbers(-7, 7, columns=36),
        "without a sign": lambda: of_numbers(0, 255, "uint8"),
    }
    value = values[kind]() if kind in values else rows_and_layer(kind, 83, 83)[1]
    graph = read(model({"y": value}).content)
    for each in PIPELINE[: PIPELINE.index(tie_tables)]:
        each(graph, Target(profile(device)))
    before = looked_up(graph)
    assert [event.reason for event in tie_tables(graph, Target(profile(device)))] == [None]
    np.testing.assert_array_equal(looked_up(graph), before)
    assert len(np.unique(before)) > 10
    (lookup,) = (op for op in graph.ops if op.name == LOOKUP)
    assert lookup.attrs["bits"] != 4 or lookup.operand(1).values.dtype == np.uint8


def looked_up(graph: Graph) -> Array:
    """All rows of the table, as numpy finds them."""
    ids = np.arange(83)
    lookup = next(op for op in graph.ops if op.name in ("GATHER", LOOKUP) and op.reads[0].shape)
    arrays = [ids if tensor.data is None else tensor.data for tensor in lookup.reads]
    return OPS[lookup.name].compute(lookup, arrays)[0]


@pytest.mark.parametrize("device", ["cpu_avx512_bytes", "mali", "webgpu"])
@pytest.mark.parametrize("kind", ["int8", "blocks of int4"])
def test_the_layer_may_be_that_of_another_signature(kind: str, device: str) -> None:
    target: TargetName = "wgsl" if device == "webgpu" else "opencl"
    prefill = model({"y": rows_and_layer(kind, 5)[0]}).graph
    decode = model({"y": rows_and_layer(kind)[1]}).graph
    entries = {"prefill": Entry(prefill, {"ids": 0}, {"y": 0})}
    entries["decode"] = Entry(decode, {"ids": 0}, {"y": 0})
    options = Options(target=target, device=device, signature=("prefill", "decode"))
    assert len(build(sharing_buffers(signed(entries)), options).weights) in stored_once(kind)


def sharing_buffers(content: bytes) -> bytes:
    """A model in which tensors with equal constants share a buffer, as converters write them."""
    found = schema.ModelT.InitFromPackedBuf(content, 0)
    first: dict[bytes, int] = {}
    for number, buffer in enumerate(found.buffers):
        if buffer.data is not None and len(buffer.data):
            first.setdefault(bytes(buffer.data), number)
    for subgraph in found.subgraphs:
        for tensor in subgraph.tensors:
            data = found.buffers[tensor.buffer].data
            if data is not None and len(data):
                tensor.buffer = first[bytes(data)]
    builder = flatbuffers.Builder(1024)
    builder.Finish(found.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def test_tables_and_layers_are_split_alike(tmp_path: Path, webgpu_device: str) -> None:
    """Of 20 MB each, where a kernel may get 16 MiB of one buffer."""
    device = own_profile(tmp_path, "webgpu", max_binding=1 << 24)
    words = 5 << 16
    made = model(dict(zip(("rows", "layer"), rows_and_layer("int8", 7, words), strict=True)))
    made = replace(made, content=sharing_buffers(made.content))
    compiled = build(made.content, Options(target="wgsl", device=device, fallback="none"))
    assert len(compiled.weights) < 1.5 * words * COLUMNS
    ids = np.array([0, 1, 246722, 246723, 250000, 300000, words - 1], np.int32)
    inputs = dict.fromkeys(made.inputs, ids)
    found = run(compiled, webgpu_device, tmp_path, inputs)
    assert_litert(found, made, inputs=inputs, kernels="XNNPACK")
    checks = (check for check in compiled.plan.index_checks if check.tensor in made.inputs)
    assert {check.limits for check in checks} == {(words,)}


@pytest.mark.parametrize(
    ("shape", "dtype", "axis"),
    [
        ((WORDS * COLUMNS,), "float32", 0),
        ((WORDS // 2, 2, COLUMNS), "float32", 0),
        ((WORDS, COLUMNS), "float32", 1),
        ((WORDS, COLUMNS), "int32", 0),
    ],
)
def test_entries_that_are_no_rows_of_the_weights_stay_as_they_are(
    shape: Shape, dtype: str, axis: int
) -> None:
    """A file may have a single content for tensors of other shapes and types."""
    numbers = np.random.default_rng(6).random((WORDS, COLUMNS), np.float32)
    table = known(numbers.reshape(shape).view(dtype))
    entries = typed(dtype, "GATHER", table, xi(5, draw="counts"), axis=axis)
    layer = call("FULLY_CONNECTED", x(2, COLUMNS), known(numbers))
    values: dict[str, Value] = {"entries": entries, "layer": layer}
    content = sharing_buffers(model(values).content)
    assert read(content).ops[0].operand(0).tied
    plan = build(content, Options(device="mali", fallback="none")).plan
    assert not any("lookup" in kernel.file for kernel in plan.kernels)
