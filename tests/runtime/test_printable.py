"""Text from models never changes what a terminal does."""

from pathlib import Path

import pytest
from commands import invoke
from graphs.operators import file_of

import tflgpu
from tflgpu.compiler import ModelError
from tflgpu.compiler.errors import FallbackWarning
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.runtime import CacheWarning
from tflgpu.runtime.errors import TflgpuError
from tflgpu.runtime.printable import LONGEST_NAME, LONGEST_WORD, printable, printable_lines

HOSTILE = "a\x1b[2J\x00\x07\x9b31m\u202edeb\u2066\r\nok\x7f"
ESCAPED = r"a\x1b[2J\x00\x07\x9b31m\u202edeb\u2066\r\nok\x7f"


def test_what_is_not_printable_is_escaped() -> None:
    assert printable(HOSTILE) == ESCAPED
    assert printable("größe/重み:0 [1, 2]") == "größe/重み:0 [1, 2]"
    assert printable("\udcff") == r"\udcff"


def test_names_are_shortened_in_the_middle() -> None:
    assert printable("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    short = printable("b" + "x" * 100_000 + "e")
    assert len(short) <= LONGEST_NAME and short.startswith("bx") and short.endswith("xe")
    assert "x...x" in short


def test_messages_keep_their_lines() -> None:
    assert printable_lines("one\ntwo\x1b[0m") == "one\ntwo\\x1b[0m"
    line = printable_lines(f"tensor {'n' * 100_000} is odd")
    assert line.startswith("tensor nnn") and line.endswith("nnn is odd")
    assert len(line) < LONGEST_WORD + 20


@pytest.mark.parametrize("kind", [TflgpuError, ModelError, CacheWarning, FallbackWarning])
def test_errors_and_warnings_are_safe(kind: type[Exception]) -> None:
    assert str(kind(f"tensor {HOSTILE}".replace("\n", ""))) == f"tensor {ESCAPED}".replace(
        r"\n", ""
    )


def hostile_model() -> bytes:
    """A model whose every name is hostile; `Odd` runs nowhere."""
    source, middle, result = (Tensor(f"{name}{HOSTILE}", (2, 3)) for name in "xyz")
    graph = Graph(HOSTILE)
    graph.add(Op("NEG", (source,), (middle,)))
    graph.add(Op("ABS", (middle,), (result,), {}, 1))
    graph.inputs, graph.input_names = [source], [source.name]
    graph.outputs, graph.output_names = [result], [result.name]
    return write(graph)


def assert_safe(text: str) -> None:
    wrong = [c for c in text if not c.isprintable() and c != "\n"]
    assert not wrong, wrong


def test_commands_are_safe(tmp_path: Path) -> None:
    model = tmp_path / f"model{HOSTILE.replace(chr(0), '')}.tflite"
    model.write_bytes(hostile_model())
    cache = tmp_path / "cache"
    tflgpu.compile(model, cache, device="cpu")
    for arguments in (
        ("compile", model, "-o", cache, "--device", "cpu"),
        ("explain", model, "--device", "cpu"),
        ("inspect", cache),
        ("cache", "list", cache),
        ("cache", "verify", cache),
    ):
        result = invoke(*arguments)
        assert_safe(result.stdout + result.stderr)
    assert r"z" + ESCAPED in invoke("inspect", cache).stdout.replace("\n", "")


def test_errors_of_commands_are_safe(tmp_path: Path) -> None:
    odd = Op(f"Odd{HOSTILE}".replace("\x00", ""), (Tensor("x", (2,)),), (Tensor(HOSTILE, (2,)),))
    model = tmp_path / "odd.tflite"
    model.write_bytes(file_of(odd))
    result = invoke("compile", model, "-o", tmp_path / "cache", "--device", "cpu", code=1)
    assert_safe(result.stdout + result.stderr)
    assert r"Odda\x1b[2J" in result.stderr


def test_a_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    model = tmp_path / "a\udcff.tflite"
    try:
        model.write_bytes(hostile_model())
    except OSError:
        pytest.skip("the file system takes only Unicode")
    result = invoke("compile", model, "-o", tmp_path / "cache", "--device", "cpu")
    assert_safe(result.stdout + result.stderr)
    missing = invoke("explain", tmp_path / "b\udcff.tflite", code=1)
    assert_safe(missing.stdout + missing.stderr)
