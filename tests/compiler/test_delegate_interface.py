"""Options, checks and caches of LiteRT's GPU delegate that do not work: a test for each defect."""

import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from graphs import Call, Value, call, known, model, number, w, x

import tflgpu
from tflgpu.compiler import Options, UnsupportedError, api, pipeline
from tflgpu.compiler.cli.commands.compiling import compile_command
from tflgpu.compiler.telling import silent
from tflgpu.compiler.tools.explain import explain
from tflgpu.runtime import CacheWarning, PlanError

# An argument for each option, and the value it gives, which is not the default.
CHANGED: dict[str, tuple[Any, Any]] = {
    "target": ("glsl", "glsl"),
    "precision": ("f16", "f16"),
    "device": ("cpu", "cpu"),
    "fallback": ("none", "none"),
    "fallback_ops": (["ABS", 3], ("ABS", 3)),
    "signature": ("serve", ("serve",)),
    "tuning": (Path("table.json"), "table.json"),
    "input_shapes": ({"image": [1, 5, 7, 3]}, (("image", (1, 5, 7, 3)),)),
    "keep": ({"state": "past"}, (("state", "past"),)),
    "inputs": ({"image": "rgb8"}, (("image", "rgb8"),)),
    "outputs": ({"scores": "argmax"}, (("scores", "argmax"),)),
    "custom_ops": (["Swirl"], ("Swirl",)),
    "disable_passes": (["fuse_elementwise"], ("fuse_elementwise",)),
    "nan": ("any", "any"),
    "cut_tables": (True, True),
    "keep_intermediates": (True, True),
}


class Stopped(Exception):
    """Ends a compilation before its first stage."""


def test_each_option_sets_what_it_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Options of the external delegate were compared the wrong way round, so each set another."""

    def build(content: bytes, options: Options) -> None:
        built.append(options)
        raise Stopped

    built: list[Options] = []
    monkeypatch.setattr(api, "build", build)
    # keep_f32 needs a precision; its own tests set both. That choices share weights follows.
    assert {*CHANGED, "keep_f32", "shares_weights"} == {field.name for field in fields(Options)}
    for name, (argument, value) in CHANGED.items():
        with pytest.raises(Stopped):
            tflgpu.compile(b"", tmp_path, **{name: argument})
        options = built.pop()
        changed = {f.name for f in fields(options) if getattr(options, f.name) != f.default}
        assert changed == {name} and getattr(options, name) == value
    misspelled: dict[str, Any] = {"fallbck": "none"}
    with pytest.raises(TypeError, match="fallbck"):
        tflgpu.compile(b"", tmp_path, **misspelled)


def test_python_and_the_shell_have_the_same_defaults(tmp_path: Path) -> None:
    """Two interfaces had different defaults for the precision, and so different results."""
    file = tmp_path / "model.tflite"
    file.write_bytes(model({"y": call("ABS", x(3, 5))}).content)
    made = tflgpu.compile(file, tmp_path / "python", device="cpu")
    arguments = [str(file), "-o", str(tmp_path / "shell"), "--device", "cpu"]
    assert CliRunner().invoke(compile_command, arguments).exit_code == 0
    (other,) = (tmp_path / "shell").glob("*/*/plan.tflgpu")
    assert other.read_bytes() == (made / "plan.tflgpu").read_bytes()


def test_work_groups_follow_the_profile() -> None:
    """The table of work-group sizes for a device was never read."""
    strides = {"padding": "VALID", "stride_h": 1, "stride_w": 1}
    attrs = {**strides, "dilation_h_factor": 1, "dilation_w_factor": 1}
    value = call("CONV_2D", x(1, 37, 41, 16), w(16, 5, 5, 16), w(16), **attrs)
    content = model({"y": value}).content
    groups = {}
    for name in ("cpu", "gpu"):
        plan = pipeline.build(content, Options(target="opencl", device=name)).plan
        (groups[name],) = {kernel.group for kernel in plan.kernels if "conv" in kernel.name}
    assert prod(groups["cpu"]) < prod(groups["gpu"])


def mixed() -> bytes:
    """Two unknown operators among supported ones."""
    value: Value = call("ABS", x(3, 5))
    for name in ("Mystery", "Riddle"):
        unknown = Call(name, (value,), {"custom_options": b""}, ((3, 5),))
        value = call("NEG", unknown)
    return model({"y": value}).content


def test_one_check_decides_what_runs() -> None:
    """The tool that checks models and the delegate disagreed on what could run."""
    options = Options(device="cpu", fallback="none")
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(mixed(), options)
    assert caught.value.findings == explain(mixed(), options, silent).findings


def test_kernels_that_do_not_fit_are_explained() -> None:
    """What only the finished kernels show, here loops that the driver would end."""
    long = model({"y": call("CUMSUM", x(1, 70_000), number(1, "int32"))}).content
    options = Options(device="llvmpipe", target="glsl", fallback="none")
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(long, options)
    assert caught.value.findings == explain(long, options, silent).findings
    moved = explain(long, replace(options, fallback="litert"), silent)
    assert (moved.fallback, moved.findings) == (caught.value.findings, ())


def test_every_unsupported_operator_is_named() -> None:
    """One operator in the middle kept half of the model off the GPU, and no message said why."""
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(mixed(), Options(device="cpu", fallback="none"))
    findings = caught.value.findings
    assert [(f.index, f.operator) for f in findings] == [(1, "Mystery"), (3, "Riddle")]
    assert all(finding.reason and finding.advice for finding in findings)


def test_unsupported_operators_are_found_before_kernels_are_built(tmp_path: Path) -> None:
    """A kernel that failed when the model was loaded made the whole delegate fail."""
    with pytest.raises(UnsupportedError):
        tflgpu.compile(mixed(), tmp_path / "cache", device="cpu", fallback="none")
    assert not (tmp_path / "cache").exists()


def scaled(factor: float) -> bytes:
    """Models that differ only in their weights."""
    return model({"y": call("MUL", x(3, 5), known(np.full(5, factor, np.float32)))}).content


def test_models_with_other_weights_are_cached_apart(opencl_device: str, tmp_path: Path) -> None:
    """The key of the cache did not cover the weights."""
    values = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    for factor in (2.0, 3.0, 2.0):
        path = tflgpu.compile(scaled(factor), tmp_path, device=opencl_device)
        with tflgpu.load(path, device=opencl_device) as session:
            np.testing.assert_array_equal(session.run([values])["y"], factor * values)


def test_a_cache_that_cannot_be_written_gives_a_warning(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delegate failed to start if its cache could not be written."""
    path = tflgpu.compile(scaled(2.0), tmp_path, device=opencl_device)

    def fail(*arguments: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", fail)
    values = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    with pytest.warns(CacheWarning), tflgpu.load(path, device=opencl_device) as session:
        np.testing.assert_array_equal(session.run([values])["y"], 2 * values)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Writes fail that would make a file larger than `size` bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.skipif(sys.platform != "linux", reason="it sets a limit that only Linux has")
def test_an_incomplete_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """After a partial write, the whole content was appended to what had been written."""
    weights = known(np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32))
    content = model({"y": call("FULLY_CONNECTED", x(3, 64), weights, w(64))}).content
    with files_of_at_most(10_000), pytest.raises(PlanError, match="File too large"):
        tflgpu.compile(content, tmp_path, device="cpu")
    assert not list(tmp_path.rglob("plan.tflgpu"))
    path = tflgpu.compile(content, tmp_path, device="cpu")
    assert (path / "weights.bin").stat().st_size >= weights.values.nbytes  # type: ignore[union-attr]
