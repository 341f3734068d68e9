"""LiteRT in a process of its own, which models may crash or hang."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from graphs import call, model, x
from graphs.operators import file_of, number

from tflgpu.compiler import ModelError, Options, UnsupportedError, build
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.litert import child
from tflgpu.compiler.litert.child import Child, run_apart
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.litert import probe
from tflgpu.runtime.litert.module import KernelSet

SOUND = model({"y": call("NEG", x(2, 3))}).content


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Another process in place of LiteRT's."""
    (folder / "stand_in.py").write_text(f"import os, signal, sys, time\n{body}\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(child, "MODULE", "stand_in")


def test_one_process_answers_several_questions() -> None:
    with Child() as asked:
        assert asked.ask("interface", SOUND) == [[[[2, 3], "float32"]], [[[2, 3], "float32"]]]
        assert asked.ask("tensor_shapes", SOUND, {"y/in0": (5, 3)})["y"] == [5, 3]


def test_functions_answer_as_the_process_does() -> None:
    assert probe.interface(SOUND) == ([((2, 3), "float32")], [((2, 3), "float32")])
    assert probe.tensor_shapes(SOUND, {}) == {"y/in0": (2, 3), "y": (2, 3)}


def test_it_runs_a_model() -> None:
    """Of other shapes than the file's, of several results, and of an empty one."""
    source = np.arange(15, dtype=np.float32).reshape(5, 3)
    several = model({"y": call("NEG", x(2, 3)), "z": call("NEG", x(7))})
    with Child() as asked:
        for kernels in get_args(KernelSet):
            ((info, result),) = asked.run(SOUND, [source], kernels=kernels)
            assert (info.name, info.shape, info.dtype) == ("y", (5, 3), "float32")
            assert np.array_equal(result, -source)
        with pytest.raises(ModelError, match="LiteRT cannot run this model"):
            asked.run(SOUND, [source.astype(np.int8)])
        empty = np.ones((0, 3), np.float32)
        ((_, nothing),) = asked.run(SOUND, [empty])
        assert nothing.shape == (0, 3)
        found = asked.run(several.content, list(several.inputs.values()))
        for (_, result), array in zip(found, several.inputs.values(), strict=True):
            assert np.array_equal(result, -array)


def test_a_run_that_ends_before_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps(["", [["y", [2, 3], "<f4", 0.0, 0]]])
    stand_in(tmp_path, monkeypatch, f"print({answer!r} + chr(10) + 'short')")
    with pytest.raises(ModelError, match=r"LiteRT crashes .* \(exit status 0\)"):
        run_apart(SOUND, [np.ones((2, 3), np.float32)])


def test_bytes_that_are_no_model_are_an_error() -> None:
    with Child() as asked:
        with pytest.raises(ModelError, match="LiteRT cannot run this model: The model is not"):
            asked.ask("interface", b"no model")
        assert asked.ask("interface", SOUND)


def test_a_crash_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "os.kill(os.getpid(), signal.SIGSEGV)")
    with Child() as asked:
        for _ in range(2):
            with pytest.raises(ModelError, match=r"LiteRT crashes .* \(SIGSEGV\)"):
                asked.ask("interface", SOUND)


def test_a_run_that_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = np.ones((2, 3), np.float32)
    stand_in(tmp_path, monkeypatch, "os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(ModelError, match=r"LiteRT crashes .* \(SIGSEGV\)"):
        run_apart(SOUND, [array])


def test_a_hang_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "time.sleep(100)")
    with Child(limit=0.5) as asked, pytest.raises(ModelError, match="LiteRT takes longer than"):
        asked.ask("interface", SOUND)


def test_noise_in_place_of_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, monkeypatch, "print('INFO: hello')")
    with Child() as asked, pytest.raises(ModelError, match=r"LiteRT crashes .* \(exit status 0\)"):
        asked.ask("interface", SOUND)


def test_a_model_on_the_device_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    build(SOUND, Options(device="cpu"))


def test_the_process_ends_with_its_input() -> None:
    command = [sys.executable, "-m", child.MODULE]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=60, check=True)
    assert done.stdout == b""


def test_a_part_of_other_types_than_litert_has() -> None:
    """The device and LiteRT would disagree about the part's output when the model is loaded."""
    operands, options = (Tensor("x", (2, 3)), number("axis", 1)), {"output_type": "int32"}
    content = file_of(Op("ARG_MAX", operands, (Tensor("y", (2,), "uint16"),), options))
    with pytest.raises(UnsupportedError, match="LiteRT has y as int32, not as uint16"):
        build(content, Options(device="cpu", fallback_ops=("ARG_MAX",)))


def test_a_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    path, source = tmp_path / "a\udcff.tflite", np.ones((2, 3), np.float32)
    try:
        path.write_bytes(SOUND)
    except OSError:
        pytest.skip("the file system takes only Unicode")
    with Child() as asked:
        ((_, result),) = asked.run(path, [source])
    assert np.array_equal(result, -source)
    assert np.array_equal(Reference(path).run([source])[0], -source)


def test_names_that_are_not_unicode_are_answered() -> None:
    content = SOUND.replace(b"y/in0", b"y/\xff\xfe0")
    with Child() as asked, pytest.raises(ModelError):
        asked.ask("tensor_shapes", content, {})
