"""The command that runs a script, and the names under which the script finds LiteRT."""

import subprocess
import sys
from pathlib import Path

import pytest
from devices import opencl_devices, unavailable
from graphs import call, model, x


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tflgpu.litert", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def script(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


NAMES = """
import importlib.util
import sys

import ai_edge_litert.interpreter as first
import tensorflow as tf
import tensorflow.lite as lite
import tflite_runtime.interpreter as second
from ai_edge_litert import compiled_model, interpreter
from ai_edge_litert.compiled_model import CompiledModel, HardwareAccelerator, TensorBuffer
from ai_edge_litert.environment import Environment
from ai_edge_litert.options import CpuOptions, Options
from tensorflow.lite.python.interpreter import Interpreter, load_delegate
from tflite_runtime.interpreter import OpResolverType
from tflgpu import litert as ours

assert {first.Interpreter, second.Interpreter, tf.lite.Interpreter, lite.Interpreter, Interpreter,
        interpreter.Interpreter} == {ours.Interpreter}
assert tf.lite.experimental.load_delegate is load_delegate is ours.load_delegate
assert tf.lite.experimental.OpResolverType is OpResolverType is ours.OpResolverType
assert (CompiledModel, TensorBuffer) == (ours.CompiledModel, ours.TensorBuffer)
assert (Options, CpuOptions, Environment) == (ours.Options, ours.CpuOptions, ours.Environment)
assert importlib.util.find_spec("tflite_runtime")
print(__name__, sys.argv[1:])
"""


def test_every_name_is_the_same_class(tmp_path: Path) -> None:
    done = run(script(tmp_path, NAMES), "--flag", "5", "-x")
    assert (done.returncode, done.stdout) == (0, "__main__ ['--flag', '5', '-x']\n"), done.stderr


def test_an_installed_tensorflow_keeps_its_other_names(tmp_path: Path) -> None:
    """Only its names for LiteRT are replaced, when the script imports it."""
    package = tmp_path / "site" / "tensorflow"
    (package / "lite").mkdir(parents=True)
    (package / "__init__.py").write_text("from . import lite\n__version__ = '2.19.0'\n")
    (package / "lite" / "__init__.py").write_text(
        "class Interpreter: ...\nclass TFLiteConverter: ...\nclass experimental: ...\n"
    )
    code = f"""
import sys
sys.path.insert(0, {str(package.parent)!r})
from tflgpu.litert.aliases import install
install()
import tensorflow as tf
print(tf.__version__, tf.lite.TFLiteConverter.__module__, tf.lite.Interpreter.__module__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "2.19.0 tensorflow.lite tflgpu.litert.interpreter\n", done.stderr


def test_what_tensorflow_lacks_if_it_is_not_installed(tmp_path: Path) -> None:
    done = run(script(tmp_path, "import tensorflow as tf\ntf.constant(1)\n"))
    assert "has no attribute 'constant'" in done.stderr and done.returncode == 1


def test_the_cache_and_the_device_can_be_chosen(tmp_path: Path) -> None:
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    content = model({"y": call("ABS", x(2, 3))}).content
    (tmp_path / "model.tflite").write_bytes(content)
    text = """
from tflite_runtime.interpreter import Interpreter
Interpreter("model.tflite").allocate_tensors()
"""
    path = script(tmp_path, f"import os; os.chdir({str(tmp_path)!r})\n{text}")
    done = run("--cache", tmp_path / "here", "--device", "no such device", path)
    assert "no such device" in done.stderr and done.returncode == 1
    done = run("--cache", tmp_path / "here", path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("here/*/*/plan.tflgpu"))


@pytest.mark.parametrize("arguments", [(), ("nowhere.py",)])
def test_a_script_that_is_not_there(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2 and "python -m tflgpu.litert" in done.stderr
