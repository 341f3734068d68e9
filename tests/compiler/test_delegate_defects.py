"""What is known to be wrong in the GPU delegate of LiteRT, and right here: a test for each defect."""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from math import prod
from pathlib import Path

import numpy as np
import pytest
from agreement import problems
from cases import Case
from click.testing import CliRunner
from devices import opencl_devices, unavailable, ways
from graphs import Call, Value, call, ints, known, model, parts, typed, w, x, xi

import tflgpu
from tflgpu.compiler import OptionError, Options, UnsupportedError, api, pipeline
from tflgpu.compiler.cli import compile_main
from tflgpu.compiler.tools.explain import explain
from tflgpu.runtime import CacheWarning, PlanError

IMAGE = (2, 5, 7, 19)


WINDOW = {"padding": "VALID", "stride_h": 1, "stride_w": 1}


POOL = {**WINDOW, "filter_height": 3, "filter_width": 3}


BORDER = [[0, 0], [1, 1], [1, 1], [0, 0]]


def floors() -> Iterator[Value]:
    yield call("FLOOR", x(*IMAGE, draw="wide"))
    yield call("FLOOR_DIV", x(*IMAGE, draw="wide"), x(19, draw="away from zero"))
    yield typed("int32", "FLOOR_MOD", xi(*IMAGE), xi(19, draw="counts"))


def missing_in_opengl() -> Iterator[Value]:
    flags = typed("bool", "LESS", x(*IMAGE), x(19))
    yield call("TRANSPOSE", x(*IMAGE), ints(0, 2, 3, 1))
    yield from parts("SPLIT", 5, ints(1), x(*IMAGE), num_splits=5)
    yield call("GATHER", x(*IMAGE), ints(3, 1), axis=1)
    yield call("CAST", xi(*IMAGE), in_data_type="int32", out_data_type="float32")
    yield call("CUMSUM", x(*IMAGE), known(np.array(3, np.int32)))
    for operator in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM"):
        yield call(operator, x(2, 3, 5), ints(1), keep_dims=True)
    yield call("SELECT_V2", flags, x(*IMAGE), x(19))
    yield call("BATCH_MATMUL", x(3, 5, 7), x(3, 7, 11))
    yield call("SIGN", x(*IMAGE))
    yield typed("bool", "LOGICAL_AND", flags, typed("bool", "GREATER", x(*IMAGE), x(5, 7, 1)))


def padded_pools() -> Iterator[Value]:
    """Of negative values, whose maxima at the edges are the zeros."""
    for operator in ("MAX_POOL_2D", "AVERAGE_POOL_2D"):
        below = call("NEG", x(*IMAGE, draw="positive"))
        table = known(np.array(BORDER, np.int32))
        yield call(operator, call("PAD", below, table), **POOL)


def deep_maxima() -> Iterator[Value]:
    for padding in ("SAME", "VALID"):
        yield call("MAX_POOL_2D", x(*IMAGE, draw="deep"), **{**POOL, "padding": padding})


def hot_axes() -> Iterator[Value]:
    """Axes equal to sizes, and to none."""
    for axis in (-1, 0, 1, 2):
        ends = known(np.array(4, np.int32)), w(), w()
        yield call("ONE_HOT", xi(2, 1, draw="places"), *ends, axis=axis)


def equal_parts() -> Iterator[Value]:
    """All sizes alike, so that only the axis says where the parts go."""
    for axis in range(4):
        yield call("CONCATENATION", x(2, 2, 2, 2), x(2, 2, 2, 2), axis=axis)


def blocks_of_one() -> Iterator[Value]:
    for operator in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE"):
        yield call("NEG", call(operator, call("ABS", x(*IMAGE)), block_size=1))


def batched_blocks() -> Iterator[Value]:
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 12), block_size=2)
    yield call("DEPTH_TO_SPACE", x(3, 5, 7, 64), block_size=2)


def masked_attention() -> Iterator[Value]:
    for mask in ((1, 1, 11, 11), (2, 1, 1, 11), (11, 1), (11,)):
        scores = call("BATCH_MATMUL", x(2, 3, 11, 5), x(2, 3, 11, 5), adj_y=True)
        yield call("ADD", scores, x(*mask))
        yield call("SOFTMAX", call("ADD", scores, x(*mask)), beta=1.0)


def reduced_and_broadcast() -> Iterator[Value]:
    for axes in ((1,), (2,), (1, 2), (3,)):
        mean = call("MEAN", x(*IMAGE), ints(*axes), keep_dims=True)
        yield call("SUB", x(*IMAGE), mean)
        yield call("MUL", call("ADD", mean, x(2, 1, 1, 1)), x(*IMAGE))


GRAPHS = (
    floors,
    missing_in_opengl,
    padded_pools,
    deep_maxima,
    hot_axes,
    equal_parts,
    blocks_of_one,
    batched_blocks,
    masked_attention,
    reduced_and_broadcast,
)


@pytest.fixture(scope="module", params=[ways()[0], ways()[-1]], ids=lambda way: way.target)
def wrong(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    """What is wrong in one language, by graph and number."""
    way = request.param
    if way.target == "glsl":
        request.getfixturevalue("opengl_device")
    elif not opencl_devices():
        unavailable("no OpenCL device is present")
    cases = [
        Case(build.__name__, str(number), value)
        for build in GRAPHS
        for number, value in enumerate(build())
    ]
    return problems(cases, way, tmp_path_factory.mktemp("defects"))


def assert_right(wrong: Mapping[str, str], build: object) -> None:
    name = getattr(build, "__name__", "")
    assert not {key: text for key, text in wrong.items() if key.startswith(f"{name} ")}


def test_floors_have_kernels(wrong: Mapping[str, str]) -> None:
    """FLOOR, FLOOR_DIV and FLOOR_MOD were accepted, and then had no kernel in OpenCL."""
    assert_right(wrong, floors)


def test_both_languages_have_the_same_operators(wrong: Mapping[str, str]) -> None:
    """Many operators had no shader in OpenGL, which only showed when one was looked for."""
    assert_right(wrong, missing_in_opengl)


def test_zeros_in_front_of_a_pool_count(wrong: Mapping[str, str]) -> None:
    """PAD was taken for the pool's own padding, which neither maxima nor averages see."""
    assert_right(wrong, padded_pools)


def test_maxima_start_below_every_value(wrong: Mapping[str, str]) -> None:
    """The maximum pool began with -10000."""
    assert_right(wrong, deep_maxima)


def test_the_axis_of_one_hot_is_an_axis(wrong: Mapping[str, str]) -> None:
    """The axis was compared with a size."""
    assert_right(wrong, hot_axes)


def test_the_axis_of_a_concatenation_is_the_one_given(wrong: Mapping[str, str]) -> None:
    """The axis was guessed from the shapes, which may fit several."""
    assert_right(wrong, equal_parts)


def test_blocks_of_one_do_nothing(wrong: Mapping[str, str]) -> None:
    """SPACE_TO_DEPTH and DEPTH_TO_SPACE by 1 were refused."""
    assert_right(wrong, blocks_of_one)
    for value in blocks_of_one():
        plan = pipeline.build(model({"y": value}).content, Options(device="cpu")).plan
        assert len(plan.dispatches) == 1


def test_blocks_of_several_batches(wrong: Mapping[str, str]) -> None:
    """DEPTH_TO_SPACE of a batch gave OpenCL that did not compile."""
    assert_right(wrong, batched_blocks)


def test_a_mask_added_to_a_product_of_matrices(wrong: Mapping[str, str]) -> None:
    """An ADD that broadcasts was fused into BATCH_MATMUL and read the wrong elements."""
    assert_right(wrong, masked_attention)


def test_a_mean_that_is_broadcast(wrong: Mapping[str, str]) -> None:
    """What followed a reduction was fused into it, over the reduction's grid."""
    assert_right(wrong, reduced_and_broadcast)


CHANGED = {"target": "glsl", "precision": "f16", "device": "cpu", "fallback": "none"}
"""Values of options that are not their defaults."""


def test_each_option_sets_what_it_names() -> None:
    """Options of the external delegate were compared the wrong way round, so each set another."""
    for name, value in CHANGED.items():
        made = api.make_options({name: value})
        changed = {f.name for f in fields(made) if getattr(made, f.name) != f.default}
        assert changed == {name} and getattr(made, name) == value
    with pytest.raises(OptionError, match="no option fallbck"):
        api.make_options({"fallbck": "none"})


def test_python_and_the_shell_have_the_same_defaults(tmp_path: Path) -> None:
    """Two interfaces had different defaults for the precision, and so different results."""
    file = tmp_path / "model.tflite"
    file.write_bytes(model({"y": call("ABS", x(3, 5))}).content)
    made = tflgpu.compile(file, tmp_path / "python", device="cpu")
    arguments = [str(file), "-o", str(tmp_path / "shell"), "--device", "cpu"]
    assert CliRunner().invoke(compile_main, arguments).exit_code == 0
    (other,) = (tmp_path / "shell").glob("*/*/plan.tflgpu")
    assert other.read_bytes() == (made / "plan.tflgpu").read_bytes()


def test_work_groups_follow_the_profile() -> None:
    """The table of work-group sizes for a device was never read."""
    attrs = {**WINDOW, "dilation_h_factor": 1, "dilation_w_factor": 1}
    value = call("CONV_2D", x(1, 37, 41, 16), w(16, 5, 5, 16), w(16), **attrs)
    content = model({"y": value}).content
    groups = {}
    for name in ("cpu", "gpu"):
        plan = pipeline.build(content, Options(target="opencl", device=name)).plan
        (groups[name],) = {kernel.group for kernel in plan.kernels if "conv" in kernel.name}
    assert prod(groups["cpu"]) < prod(groups["gpu"])


def mixed() -> bytes:
    """Operators that run around two that do not."""
    value: Value = call("ABS", x(3, 5))
    for name in ("Mystery", "Riddle"):
        unknown = Call(name, (value,), {"custom_options": b""}, ((3, 5),))
        value = call("NEG", unknown)
    return model({"y": value}).content


def silent(stage: str, done: int, total: int) -> None:
    pass


def test_one_check_decides_what_runs() -> None:
    """The checker of a model and the delegate itself disagreed on what could run."""
    options = Options(device="cpu", fallback="none")
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(mixed(), options)
    assert caught.value.findings == explain(mixed(), options, silent).findings


def test_every_operator_that_does_not_run_is_named() -> None:
    """One operator in the middle took half of the model off the GPU, without a word why."""
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(mixed(), Options(device="cpu", fallback="none"))
    findings = caught.value.findings
    assert [(f.index, f.operator) for f in findings] == [(1, "Mystery"), (3, "Riddle")]
    assert all(finding.reason and finding.advice for finding in findings)


def test_what_cannot_run_is_known_before_any_kernel_is_built(tmp_path: Path) -> None:
    """A kernel that failed when the model was loaded took the whole delegate down."""
    with pytest.raises(UnsupportedError):
        tflgpu.compile(mixed(), tmp_path / "cache", device="cpu", fallback="none")
    assert not (tmp_path / "cache").exists()


def scaled(factor: float) -> bytes:
    """Models that differ in nothing but their weights."""
    return model({"y": call("MUL", x(3, 5), known(np.full(5, factor, np.float32)))}).content


def test_models_that_differ_in_weights_differ(opencl_device: str, tmp_path: Path) -> None:
    """The key of the cache did not cover the weights."""
    values = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    for factor in (2.0, 3.0, 2.0):
        path = tflgpu.compile(scaled(factor), tmp_path, device=opencl_device)
        with tflgpu.load(path, device=opencl_device) as session:
            np.testing.assert_array_equal(session.run([values])["y"], factor * values)


def test_a_cache_that_cannot_be_written_is_no_failure(
    opencl_device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that could not be written made the start of the delegate fail."""
    path = tflgpu.compile(scaled(2.0), tmp_path, device=opencl_device)

    def fail(*arguments: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", fail)
    values = np.arange(1, 16, dtype=np.float32).reshape(3, 5)
    with pytest.warns(CacheWarning), tflgpu.load(path, device=opencl_device) as session:
        np.testing.assert_array_equal(session.run([values])["y"], 2 * values)


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_write_that_ends_early_leaves_nothing(tmp_path: Path) -> None:
    """After a write that took only a part, the whole was written once more behind it."""
    weights = known(np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32))
    content = model({"y": call("FULLY_CONNECTED", x(3, 64), weights, w(64))}).content
    with files_of_at_most(10_000), pytest.raises(PlanError, match="File too large"):
        tflgpu.compile(content, tmp_path, device="cpu")
    assert not list(tmp_path.rglob("plan.tflgpu"))
    path = tflgpu.compile(content, tmp_path, device="cpu")
    assert (path / "weights.bin").stat().st_size >= weights.values.nbytes  # type: ignore[union-attr]
