"""The pipeline as a whole: the report, the folder a variant gets, and options that change it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from agreement import difference
from cases.convolutions import conv, window
from graphs import Call, Model, call, ints, known, model, w, x
from graphs.operators import file_of

import tflgpu
from tflgpu.compiler import ModelError, Options, UnsupportedError, pipeline
from tflgpu.compiler.emit import plan as emit_plan
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.litert.variations import every_tensor
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.select import legality

POOL = {"filter_height": 2, "filter_width": 2, "stride_h": 2, "stride_w": 2, "padding": "VALID"}


def network() -> Call:
    """A small image classifier."""
    image = x(1, 13, 17, 3)
    first = call("RELU", conv(image, (19, 3), **window("SAME", (2, 2))))
    pooled = call("MAX_POOL_2D", first, **POOL)
    second = conv(pooled, (7, 19), (1, 1))
    mean = call("MEAN", second, ints(1, 2), keep_dims=False)
    return call("SOFTMAX", call("FULLY_CONNECTED", mean, w(5, 7), w(5)), beta=1.0)


@pytest.fixture(scope="module")
def small() -> Model:
    return model({"scores": network()})


def test_every_unsupported_operator_is_found() -> None:
    source, middle, last = (Tensor(name, (5,)) for name in ("x", "m", "y"))
    content = file_of(
        Op("OneOfMine", (source,), (middle,), {"custom_options": b""}),
        Op("AnotherOne", (middle,), (last,), {"custom_options": b""}),
    )
    with pytest.raises(UnsupportedError) as caught:
        pipeline.build(content, Options(device="cpu", fallback="none"))
    found = [(finding.index, finding.operator) for finding in caught.value.findings]
    assert found == [(0, "OneOfMine"), (1, "AnotherOne")]


@pytest.mark.parametrize(("target", "device"), [("opencl", "cpu_avx512"), ("glsl", "gpu")])
def test_the_same_input_gives_the_same_model(target: TargetName, device: str, small: Model) -> None:
    options = Options(target=target, device=device)
    first, second = (pipeline.build(small.content, options) for _ in range(2))
    assert first == second


def test_a_compiled_model_reports_its_compilation(small: Model) -> None:
    compiled = pipeline.build(small.content, Options(device="cpu"))
    plan, report = compiled.plan, compiled.report
    assert (plan.model, plan.profile, plan.target) == ("model", "cpu", "opencl")
    assert [(info.name, info.shape) for info in plan.outputs] == [("scores", (1, 5))]
    assert json.loads(plan.options)["device"] == "cpu"
    assert report["operators"] == compiled.operators == 7
    assert report["kernels"] == len(plan.dispatches) < 10
    memory = report["memory"]
    assert 0 < memory["lower_bound"] <= memory["planned"] <= memory["naive"]
    fused = [e for e in report["passes"] if e["pass"] == "fuse_elementwise" and e["applied"]]
    assert fused and fused[0]["operators"] == ["0 CONV_2D", "1 RELU"]


def test_stages_are_announced_in_order(small: Model) -> None:
    seen: list[str] = []

    def progress(stage: str, done: int, total: int) -> None:
        assert 0 <= done <= total
        if stage not in seen:
            seen.append(stage)

    pipeline.build(small.content, Options(device="cpu"), progress)
    assert seen == ["read", "rewrite", "choose", "arrange", "render"]


def put_another(path: Path) -> None:
    other = path.with_name("other.tflite")
    other.write_bytes(b"other")
    other.replace(path)


@pytest.mark.parametrize(
    ("replace", "message"),
    [
        (Path.unlink, r"cannot read the model .*small\.tflite"),
        (put_another, r"small\.tflite changed while it was being compiled"),
    ],
)
def test_a_file_that_is_replaced_while_it_is_compiled(
    replace: Callable[[Path], None], message: str, small: Model, tmp_path: Path
) -> None:
    """Its plan must not be stored as the plan of the new file."""
    path = tmp_path / "small.tflite"
    path.write_bytes(small.content)

    def progress(stage: str, done: int, total: int) -> None:
        if stage == "render" and done == total:
            replace(path)

    with pytest.raises(ModelError, match=message):
        pipeline.build(path, Options(device="cpu"), progress)


def test_other_options_give_another_folder(small: Model, tmp_path: Path) -> None:
    folders = {
        tflgpu.compile(small.content, tmp_path, device=device, keep_intermediates=keep)
        for device in ("cpu", "cpu_avx512")
        for keep in (False, True)
    }
    assert len(folders) == 4
    assert tflgpu.compile(small.content, tmp_path, device="cpu") in folders


def test_other_weights_give_another_folder_with_the_same_kernels(tmp_path: Path) -> None:
    def scaled(factor: float) -> Path:
        values = np.full(7, factor, np.float32)
        network = model({"y": call("MUL", x(1, 3, 5, 7), known(values))})
        return tflgpu.compile(network.content, tmp_path, device="cpu")

    one, other = scaled(2), scaled(3)
    assert one.parent != other.parent and one.name == other.name
    kernels = [
        [path.read_bytes() for path in sorted((folder / "kernels").iterdir())]
        for folder in (one, other)
    ]
    assert kernels[0] == kernels[1]


def test_another_compiler_gives_another_folder(
    small: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tflgpu.compile(small.content, tmp_path, device="cpu")
    monkeypatch.setattr(emit_plan, "compiler_version", lambda: "9.9")
    after = tflgpu.compile(small.content, tmp_path, device="cpu")
    assert before.parent == after.parent and before.name != after.name


def test_without_a_pass_operators_stay_apart(small: Model) -> None:
    together = pipeline.build(small.content, Options(device="cpu"))
    options = Options(device="cpu", disable_passes=("fuse_elementwise",))
    apart = pipeline.build(small.content, options)
    assert len(apart.plan.dispatches) > len(together.plan.dispatches)
    assert not any(event.rewrite == "fuse_elementwise" for event in apart.events)


def test_kept_intermediates_can_be_read(small: Model, opencl_device: str, tmp_path: Path) -> None:
    path = tflgpu.compile(small.content, tmp_path, device="cpu", keep_intermediates=True)
    every = every_tensor(small.content, "", small.inputs)
    with tflgpu.load(path, device=opencl_device) as session:
        session.poison()
        session.run(small.inputs)
        compared = 0
        for tensor in session.plan.tensors:
            if tensor.name in every:
                _, expected = every[tensor.name]
                assert difference(session.read(tensor.name), expected) is None, tensor.name
                compared += 1
    assert compared >= 5


def test_another_input_shape_changes_the_whole_graph(
    small: Model, opencl_device: str, tmp_path: Path
) -> None:
    (name,) = small.inputs
    shape = (3, 11, 19, 3)
    path = tflgpu.compile(small.content, tmp_path, device="cpu", input_shapes={name: shape})
    pixels = np.random.default_rng(13).standard_normal(shape).astype(np.float32)
    with tflgpu.load(path, device=opencl_device) as session:
        assert [info.shape for info in session.inputs] == [shape]
        assert [info.shape for info in session.outputs] == [(3, 5)]
        session.poison()
        (scores,) = session.run(pixels).values()
    (expected,) = Reference(small.content, input_shapes=[shape]).run([pixels])
    assert difference(scores, expected) is None


def test_an_invalid_shape_names_the_operator(small: Model) -> None:
    (name,) = small.inputs
    options = Options(device="cpu", input_shapes=((name, (1, 13, 17, 5)),))
    with pytest.raises(ModelError, match="operator 0 CONV_2D: "):
        pipeline.build(small.content, options)


def test_what_rewrites_left_without_a_kernel_is_named(
    small: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is known that leads there: it would be a defect of a rewrite."""
    suits = legality._unsupported_reason

    def begin_to_refuse(*_: object) -> None:
        monkeypatch.setattr(
            legality,
            "_unsupported_reason",
            lambda op, *rest: "it is odd" if op.name == "CONV_2D" else suits(op, *rest),
        )

    monkeypatch.setattr(pipeline, "keep_state", begin_to_refuse)
    with pytest.raises(UnsupportedError, match=r"operators 0 and 3 CONV_2D: conv\w*: it is odd"):
        pipeline.build(small.content, Options(device="gpu", fallback="none"))
