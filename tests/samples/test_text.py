"""The sample that continues a text writes on every device what it writes with LiteRT."""

import re
import runpy
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from devices import Attached
from paths import SAMPLES

import tflgpu

SCRIPT = SAMPLES / "text" / "generate_text.py"
PROMPT = "## Getting started\n"
LENGTH = 140  # Characters after half a cache of prompt, more than it has room for.


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def written(sample: dict[str, Any], run: Any) -> str:
    return "".join(islice(sample["continued"](7 * PROMPT, run, 0.5, 0), LENGTH))


@pytest.fixture(scope="module")
def expected(sample: dict[str, Any]) -> str:
    return written(sample, sample["on_litert"]())


def test_each_device_continues_a_text(
    attached: Attached, sample: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    device = "gpu" if attached.target == "glsl" else "cpu"
    model, keep = sample["MODEL"], sample["KEEP"]
    path = tflgpu.compile(
        model, tmp_path, target=attached.target, device=device, signature="all", keep=keep
    )
    with tflgpu.load(path, device=attached.device) as session:
        text = written(sample, lambda name, inputs: session.run(inputs, signature=name))
    assert text == expected


def test_the_weights_of_both_signatures_are_there_once(sample: dict[str, Any]) -> None:
    assert sample["MODEL"].stat().st_size < 2 << 20


def test_the_command_continues_a_prompt(opencl_device: str, tmp_path: Path) -> None:
    options = "--length", "40", "--device", opencl_device, "--cache", str(tmp_path)
    done = command(PROMPT, *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(PROMPT) and len(done.stdout) == len(PROMPT) + 42
    assert re.search(r"^[1-9]\d* characters a second\n$", done.stderr, re.M)


@pytest.mark.parametrize("arguments", [("",), ("naïve",), ("a", "--temperature", "0")])
def test_what_it_does_not_take(arguments: tuple[str, ...]) -> None:
    done = command(*arguments)
    assert done.returncode == 2 and "error: the " in done.stderr


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )
