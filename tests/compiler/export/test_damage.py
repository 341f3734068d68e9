"""Damaged files of an exported program: it says what is wrong, or computes what it should."""

import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exporting import CHECKED, Demo, Found, content, exported, run
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, pipeline

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(5).random((1, 8, 8, 1), np.float32)}
KERNELS = "kernels"
DAMAGES = 24  # How many files are damaged, one at a time.


def flipped(data: bytes, draw: random.Random) -> bytes:
    """With some other bits."""
    changed = bytearray(data)
    for _ in range(draw.choice((1, 2, 64))):
        changed[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data))]


def longer(data: bytes, draw: random.Random) -> bytes:
    return data + draw.randbytes(draw.choice((1, 4, 5000)))


def headless(data: bytes, draw: random.Random) -> bytes:
    """With another number in the first bytes, which say how long the rest is."""
    place = draw.randrange(32)
    number = draw.choice((b"\0" * 4, b"\xff" * 4, draw.randbytes(4)))
    return data[:place] + number + data[place + 4 :]


KINDS: tuple[Callable[[bytes, random.Random], bytes], ...] = (flipped, cut, longer, headless)


@pytest.fixture(scope="module")
def demo(found: Found, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """Digits that check every access of memory, and have kept their compiled kernels."""
    options = Options(target="opencl", device=found.profile, fallback="none")
    compiled = pipeline.build(DIGITS_MODEL, options)
    made = exported(compiled, tmp_path_factory.mktemp("digits"), CHECKED)
    (made.folder / "in.bin").write_bytes(content(IMAGE))
    assert not started(made, found).returncode
    return made


def started(demo: Demo, found: Found) -> subprocess.CompletedProcess[str]:
    (demo.folder / "out.bin").unlink(missing_ok=True)
    return run(
        *(demo.folder, "./demo", "in.bin", "out.bin", "--cache", KERNELS, "--device", found.name),
        # Drivers keep memory until the end of the process.
        sanitizer="detect_leaks=0:use_sigaltstack=0",
    )


def test_damaged_files_are_named_or_replaced(demo: Demo, found: Found) -> None:
    wanted = demo.expected(found.device, IMAGE)
    (kernels,) = (demo.folder / KERNELS).iterdir()
    files: tuple[Path, ...] = (demo.folder / "weights.bin", demo.folder / "in.bin", kernels)
    draw = random.Random(11)
    for number in range(DAMAGES):
        file, kind = files[number % len(files)], KINDS[number // len(files) % len(KINDS)]
        whole = file.read_bytes()
        file.write_bytes(changed := kind(whole, draw))
        ran = started(demo, found)
        about = f"{number}: {kind.__name__} {file.name}: {ran.stderr}"
        if ran.returncode:
            assert (ran.returncode, ran.stderr.count("\n")) == (1, 1), about
            assert file != kernels, about
        elif file.name == "in.bin":
            assert len(changed) == len(whole), about
        else:
            assert file == kernels or changed == whole, about
            assert demo.outputs == wanted, about
        file.write_bytes(whole)
