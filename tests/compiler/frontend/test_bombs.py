"""Small files that unfold to something large: no hang, and not much memory."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite
from flatbuffers import flexbuffers
from graphs.altered import altered
from graphs.operators import file_of, graph_of

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend import flatbuffer
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Op, Tensor, constant

pytestmark = pytest.mark.slow

GIBIBYTE = 1 << 30


def finish(builder: flatbuffers.Builder, tensors: list[int], operators: list[int]) -> bytes:
    """A model of one subgraph, one kind of operator, and one empty buffer."""

    def vector(offsets: list[int]) -> int:
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return int(builder.EndVector())

    tensor_vector, operator_vector = vector(tensors), vector(operators)
    tflite.SubGraphStart(builder)
    tflite.SubGraphAddTensors(builder, tensor_vector)
    tflite.SubGraphAddOperators(builder, operator_vector)
    subgraphs = vector([tflite.SubGraphEnd(builder)])
    tflite.OperatorCodeStart(builder)
    codes = vector([tflite.OperatorCodeEnd(builder)])
    tflite.ModelStart(builder)
    tflite.ModelAddVersion(builder, 3)
    tflite.ModelAddSubgraphs(builder, subgraphs)
    tflite.ModelAddOperatorCodes(builder, codes)
    builder.Finish(tflite.ModelEnd(builder), b"TFL3")
    return bytes(builder.Output())


def tensor(builder: flatbuffers.Builder, shape: list[int], quantization: int = 0) -> int:
    sizes = builder.CreateNumpyVector(np.array(shape, np.int32))
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, sizes)
    if quantization:
        tflite.TensorAddQuantization(builder, quantization)
    return int(tflite.TensorEnd(builder))


def one_operator_many_times() -> bytes:
    """An operator of 100,000 inputs, listed 100,000 times."""
    builder = flatbuffers.Builder(1024)
    value = tensor(builder, [1])
    inputs = builder.CreateNumpyVector(np.zeros(100_000, np.int32))
    tflite.OperatorStart(builder)
    tflite.OperatorAddInputs(builder, inputs)
    operator = int(tflite.OperatorEnd(builder))
    return finish(builder, [value], [operator] * 100_000)


def one_quantization_many_times() -> bytes:
    """100,000 tensors that share a million scales."""
    builder = flatbuffers.Builder(1024)
    scale = builder.CreateNumpyVector(np.ones(1_000_000, np.float32))
    tflite.QuantizationParametersStart(builder)
    tflite.QuantizationParametersAddScale(builder, scale)
    quantization = int(tflite.QuantizationParametersEnd(builder))
    return finish(builder, [tensor(builder, [1_000_000], quantization)] * 100_000, [])


def a_million_tensors() -> bytes:
    builder = flatbuffers.Builder(1024)
    return finish(builder, [tensor(builder, [1])] * 1_000_000, [])


def shapes_that_overflow() -> bytes:
    """2**16 * 2**16 * 2**32 elements, which is none if counted in 64 bits."""
    builder = flatbuffers.Builder(1024)
    return finish(builder, [tensor(builder, [1 << 16, 1 << 16, 1 << 16, 1 << 16])], [])


def a_flexbuffer_that_unfolds() -> bytes:
    """Vectors of two references to the same vector, sixty deep: 2**60 leaves in 400 bytes."""
    raw = bytearray(b"\x01\x01\x04")  # one element: its length, the integer 1, its type
    for _ in range(60):
        # Length 2, two references to the data of the vector before, both of type untyped vector.
        start = len(raw) + 1
        before = 1 if start == 4 else start - 5
        raw += bytes([2, start - before, start + 1 - before, 40, 40])
    entries = len(raw) - 4
    key = len(raw)
    raw += b"k\0"
    keys = len(raw) + 1
    raw += bytes([1, keys - key])
    prefix = len(raw)
    raw += bytes([prefix - keys, 1, 1])
    data = len(raw)
    raw += bytes([data - entries, 40])
    raw += bytes([len(raw) - data, 36, 1])
    source = constant("c", np.ones(3, np.float32))
    return file_of(Op("Bomb", (source,), (Tensor("y", (3,)),), {"custom_options": bytes(raw)}))


BOMBS: tuple[Callable[[], bytes], ...] = (
    one_operator_many_times,
    one_quantization_many_times,
    a_million_tensors,
    shapes_that_overflow,
    a_flexbuffer_that_unfolds,
)

# A child process tells its own peak of memory; LiteRT and pytest are not in it, as they would be in
# what getrusage() says, which a program takes over from the one that started it.
CHILD = """
import sys
from tflgpu.compiler import Options, build
from tflgpu.runtime.errors import TflgpuError
try:
    build(sys.argv[1], Options(device="cpu", fallback="none"))
except TflgpuError as error:
    print(error)
(peak,) = (line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(int(peak.split()[1]) * 1024)
"""


@pytest.fixture(params=BOMBS, ids=lambda bomb: str(bomb.__name__))
def bomb(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "bomb.tflite"
    path.write_bytes(request.param())
    yield path


def test_no_file_takes_much_memory_or_time(bomb: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))

    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(bomb)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limit,
    )
    assert child.returncode == 0, child.stderr
    assert int(child.stdout.split()[-1]) < GIBIBYTE


@pytest.mark.parametrize(
    "bomb, message",
    [
        (one_operator_many_times, "larger than the file|operands"),
        (one_quantization_many_times, "larger than the file"),
        (a_million_tensors, "1000000 Tensors"),
        (shapes_that_overflow, "18446744073709551616 elements"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_bombs_are_named(bomb: Callable[[], bytes], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        read(bomb())


def test_packed_weights_may_take_more_memory_than_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of language models do; but not if they are decoded again and again."""
    monkeypatch.setattr(flatbuffer, "COPIED", 0)
    values = np.resize(np.arange(-2, 2, dtype=np.int8), 1 << 20)

    def uses(count: int) -> bytes:
        tensors = [Tensor(f"{n}", values.shape, "int2", values) for n in range(count)]

        def share(model: Any) -> None:
            first, *others = model.subgraphs[0].tensors[:count]
            for each in others:
                model.buffers[each.buffer].data = None
                each.buffer = first.buffer

        return altered(share, graph_of(Op("Mine", tuple(tensors), (Tensor("y", ()),))))

    (op,) = read(uses(4)).ops
    assert all(np.array_equal(op.constant(n), values) for n in range(4))
    with pytest.raises(ModelError, match="its constants take more than 4 MiB once decoded"):
        read(uses(5))


def test_a_flexbuffer_bomb_keeps_its_bytes_only() -> None:
    (op,) = read(a_flexbuffer_that_unfolds()).ops
    assert list(op.attrs) == ["custom_options"]
    assert flexbuffers.GetRoot(bytearray(op.attrs["custom_options"])).IsMap
