"""Scripts for LiteRT print the same on tflgpu: unchanged, and with one import changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from commands import cache_of_drivers
from devices import opencl_devices, unavailable
from graphs.interfaces import write_models
from paths import DIGITS

HERE = Path(__file__).parent
SCRIPTS = sorted((HERE / "scripts").glob("*.py"))
NAMES = [script.stem for script in SCRIPTS]
# Scripts with more than one import to change.
WITH_TENSORFLOW = {
    script.stem for script in SCRIPTS if "import tensorflow" in script.read_text(encoding="utf-8")
}

NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]\d+)?")
TOLERANCE = 2e-3

Printed = Mapping[str, str]  # What each script prints, by its name.


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models and images that the scripts open."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    for image in (DIGITS / "images").glob("*.png"):
        shutil.copy(image, folder)
    return folder


def run(folder: Path, way: str, *command: str) -> Printed:
    """What the scripts print, run by a command; compiled models are in the folder's `cache`."""
    scripts = map(str, SCRIPTS)
    program = [sys.executable, *command, str(HERE / "run_scripts.py"), way, str(folder), *scripts]
    paths = {"XDG_CACHE_HOME": cache_of_drivers(folder / "cache")}
    result = subprocess.run(
        program, capture_output=True, text=True, env={**os.environ, **paths}, check=False
    )
    assert result.returncode == 0, result.stderr
    printed: Printed = json.loads(result.stdout.splitlines()[-1])
    return printed


@pytest.fixture(scope="module")
def on_litert(folder: Path) -> Printed:
    return run(folder, "litert")


@pytest.fixture(scope="module")
def unchanged(folder: Path) -> Printed:
    return run(folder, "unchanged", "-m", "tflgpu.litert")


@pytest.fixture(scope="module")
def imported(folder: Path) -> Printed:
    return run(folder, "import")


def compare(got: str, expected: str) -> None:
    """The same text, with numbers that differ by at most `TOLERANCE`, relative to them or to 1."""
    assert "Traceback" not in expected, expected
    assert "Traceback" not in got, got
    assert words(got) == words(expected)
    numbers = [list(map(float, NUMBER.findall(text))) for text in (got, expected)]
    assert numbers[0] == pytest.approx(numbers[1], rel=TOLERANCE, abs=TOLERANCE)


def words(text: str) -> list[str]:
    """The text between its numbers, however they are padded."""
    return NUMBER.sub(" # ", text).split()


@pytest.mark.parametrize("name", NAMES)
def test_unchanged(name: str, unchanged: Printed, on_litert: Printed) -> None:
    compare(unchanged[name], on_litert[name])


@pytest.mark.parametrize("name", [name for name in NAMES if name not in WITH_TENSORFLOW])
def test_with_another_import(name: str, imported: Printed, on_litert: Printed) -> None:
    compare(imported[name], on_litert[name])


def test_differences_are_found() -> None:
    compare("class 3: 0.5001  [1 2]\n", "class 3: 0.5 [1  2]\n")
    for other in ("class 3: 0.51 [1 2]", "class 4: 0.5 [1 2]", "label 3: 0.5 [1 2]"):
        with pytest.raises(AssertionError):
            compare(other, "class 3: 0.5 [1 2]")
