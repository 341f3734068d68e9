"""Exported models compute what they compute in Python, bit for bit, with each driver."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cases import Case, families
from compiled_cases import compile_cases
from exporting import Demo, Found, content, exported, portable
from graphs.variables import running_total
from paths import DIGITS_MODEL

from tflgpu.compiler import CompiledModel, Options, pipeline
from tflgpu.compiler.options import TargetName

pytestmark = pytest.mark.slow

IMAGE = {"image": np.random.default_rng(6).random((1, 8, 8, 1), np.float32)}


@dataclass(frozen=True)
class Driver:
    backend: str
    api: str  # As errors call it.
    target: TargetName
    profile: str  # For the model; "" for that of the device.
    share: int  # Of so many operators one is tried: processors compile GLSL and WGSL slowly.


DRIVERS = (
    Driver("opencl", "OpenCL", "opencl", "", 4),
    Driver("gles", "OpenGL ES 3.1", "glsl", "gpu", 6),
    Driver("webgpu", "WebGPU", "wgsl", "webgpu", 12),
)


@dataclass(frozen=True)
class Ready:
    """A driver that is there."""

    driver: Driver
    found: Found

    @property
    def options(self) -> Options:
        profile = self.driver.profile or self.found.profile
        return Options(target=self.driver.target, device=profile, fallback="none")

    def exported(self, compiled: CompiledModel, folder: Path) -> Demo:
        return exported(compiled, folder, backend=self.driver.backend)


@pytest.fixture(scope="module", params=DRIVERS, ids=lambda driver: driver.backend)
def ready(request: pytest.FixtureRequest) -> Ready:
    fixture = "found" if request.param.backend == "opencl" else request.param.backend
    return Ready(request.param, request.getfixturevalue(fixture))


@pytest.fixture(scope="module")
def digits(ready: Ready, tmp_path_factory: pytest.TempPathFactory) -> Demo:
    compiled = pipeline.build(DIGITS_MODEL, ready.options)
    return ready.exported(compiled, tmp_path_factory.mktemp("digits"))


def test_operators_agree_in_one_program(ready: Ready, tmp_path: Path) -> None:
    """The first case of every so many operators, in one program."""
    firsts: list[Case] = [cases[0] for cases in families().values()]
    chosen = tuple(filter(portable, firsts[:: ready.driver.share]))
    item = compile_cases(chosen, ready.driver.target, ready.options.device)
    ready.exported(item.model, tmp_path).assert_agrees(ready.found, item.inputs)


def test_a_network_agrees(models: Path, ready: Ready, tmp_path: Path) -> None:
    network = models / "networks" / "mediapipe_face" / "face_detection_short_range.tflite"
    image = {"input": np.random.default_rng(8).random((1, 128, 128, 3), np.float32)}
    demo = ready.exported(pipeline.build(network, ready.options), tmp_path)
    demo.assert_agrees(ready.found, image)


def test_variables_keep_their_content(ready: Ready, tmp_path: Path) -> None:
    step = {"x": np.full((2, 3), 2.5, np.float32)}
    demo = ready.exported(pipeline.build(running_total(), ready.options), tmp_path)
    demo.assert_agrees(ready.found, step, runs=3)


def test_compiled_kernels_are_kept(ready: Ready, digits: Demo, tmp_path: Path) -> None:
    """Each kind of damage is noticed, the kernels are compiled again, and the file is whole."""
    cache = tmp_path / "binaries"
    cache.mkdir(mode=0o700)
    options = ("--device", ready.found.name, "--cache", str(cache), "--runs", "2")
    wanted = digits.expected(ready.found.device, IMAGE)
    damages = (
        lambda data: data,
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data[:16] + b"\xff" * 8 + data[24:],
        lambda data: b"",
        lambda data: data,
    )
    whole = b""
    for damage in damages:
        ran = digits.run(*options, content=content(IMAGE))
        assert (ran.returncode, digits.outputs == wanted) == (0, True), ran.stderr
        if ready.driver.backend == "webgpu":  # whose drivers keep them by themselves
            assert not any(cache.iterdir())
            break
        (file,) = cache.iterdir()
        whole = whole or file.read_bytes()
        assert len(file.read_bytes()) == len(whole)
        file.write_bytes(damage(whole))
        if damage(whole) != whole:
            # What a program leaves that is killed while it stores is replaced after a minute.
            unfinished = file.with_suffix(".new")
            unfinished.write_bytes(b"half")
            os.utime(unfinished, (0, 0))
    else:
        # That of a program that is storing it is not.
        file.write_bytes(b"")
        unfinished.write_bytes(b"half")
        ran = digits.run(*options, content=content(IMAGE))
        assert (ran.returncode, digits.outputs == wanted) == (0, True), ran.stderr
        assert sorted(each.read_bytes() for each in cache.iterdir()) == [b"", b"half"]


def test_a_device_that_is_not_there_is_named(ready: Ready, digits: Demo) -> None:
    ran = digits.run("--device", "none of these", content=content(IMAGE))
    assert ran.stderr == f'no {ready.driver.api} device has "none of these" in its name\n'
