"""The command line: what it prints, where, and with which exit code."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from commands import as_json, invoke, program

import tflgpu
from tflgpu.compiler import Options, build
from tflgpu.compiler.cli import compile_main
from tflgpu.compiler.cli.listing import operators_markdown
from tflgpu.compiler.devices import profiles
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.rewrites import PIPELINE

DIGITS = Path(__file__).parents[1] / "samples" / "digits"
MODEL = DIGITS / "digits.tflite"
SEVEN = DIGITS / "images" / "7.png"
PROFILE = "cpu_avx2"
"""For compilations whose result is not run."""


def elementwise(path: Path, *steps: str, inputs: int = 1) -> Path:
    """A model that applies operators one after the other; all inputs feed the first."""
    graph = Graph("steps")
    graph.inputs = [Tensor(f"x{number}", (1, 3, 5, 7)) for number in range(inputs)]
    graph.input_names = [tensor.name for tensor in graph.inputs]
    operands = tuple(graph.inputs)
    for index, name in enumerate(steps):
        output = Tensor(f"y{index}", (1, 3, 5, 7))
        attrs = {"fused_activation_function": "NONE"} if name == "ADD" else {}
        graph.add(Op(name, operands, (output,), attrs, index=index))
        operands = (output,)
    graph.outputs, graph.output_names = list(operands), [operands[0].name]
    path.write_bytes(write(graph))
    return path


@pytest.fixture
def cache(opencl_device: str, tmp_path: Path) -> Path:
    """A cache that holds the digits network for a device."""
    invoke("compile", MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    return tmp_path / "cache"


# -- compile ----------------------------------------------------------------------------------


def test_compile_prints_a_summary(tmp_path: Path) -> None:
    result = invoke("compile", MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    expected = build(MODEL, Options(device=PROFILE)).report
    lines = result.stdout.splitlines()
    words = {line.split("  ")[0]: line.split("  ", 1)[-1].strip() for line in lines if line}
    assert words["operators in"] == str(expected["operators"]) == "10"
    assert words["kernels out"] == f"{expected['kernels']} in 1 launch"
    assert words["arithmetic"] == f"{expected['flops'] / 1e6:,.1f} million operations"
    assert words["bytes moved"].endswith("B") and expected["bytes_moved"] > 0
    applied = [event for event in expected["passes"] if event["applied"]]
    assert words["rewrites"].startswith(f"{len(applied)} applied, ")
    assert Path(lines[-1]).parent.parent == tmp_path / "cache"
    assert (Path(lines[-1]) / "plan.tflgpu").is_file()
    assert result.stderr == ""


def test_compile_json(tmp_path: Path) -> None:
    value = as_json("compile", MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    report = build(MODEL, Options(device=PROFILE)).report
    assert {key: value[key] for key in report} == report
    memory = value["memory"]
    assert 0 < memory["lower_bound"] <= memory["planned"] <= memory["naive"]
    assert value["fallback"] == []
    assert {"pass", "applied", "operators", "reason"} <= value["passes"][0].keys()
    assert (Path(value["path"]) / "weights.bin").is_file()


def test_compile_with_prebuild(opencl_device: str, tmp_path: Path) -> None:
    options = ("compile", MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    path = as_json(*options, "--prebuild", opencl_device)["path"]
    assert len(list((Path(path) / "binaries").glob("*.bin"))) == 1
    message = invoke(*options, "--prebuild", "abacus", code=1).stderr
    assert "no OpenCL device has 'abacus' in its name" in message


def test_compile_main_is_the_same(tmp_path: Path) -> None:
    arguments = [str(MODEL), "-o", str(tmp_path / "cache"), "--device", PROFILE, "--json"]
    result = CliRunner().invoke(compile_main, arguments)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == as_json("compile", *arguments[:-1])


def test_compile_hands_its_options_over(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ABS", "EXP")
    common = ("compile", model, "-o", tmp_path / "cache")
    value = as_json(
        *common,
        *("--target", "glsl", "--device", "gpu", "--fallback", "none"),
        *("--input-shape", "x0=1,11,13,2", "--disable-pass", "fuse_elementwise"),
    )
    path = Path(value["path"])
    assert path.name.startswith("glsl-f32-gpu-")
    assert value["kernels"] == 2
    assert as_json(*common, "--device", PROFILE)["kernels"] == 1
    plan = as_json("inspect", path)
    assert plan["inputs"][0]["shape"] == [1, 11, 13, 2]


def test_a_model_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "Mystery", "ABS", "Riddle")
    command = ("compile", model, "-o", tmp_path / "cache", "--device", PROFILE)
    result = invoke(*command, "--fallback", "none", code=1)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0] == "error: 2 operators cannot run on the device:"
    assert "operator 0 Mystery" in lines[1] and "operator 2 Riddle" in lines[2]
    assert not (tmp_path / "cache").exists()


# -- errors -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "none.tflite", "-o", "cache"), "none.tflite"),
        (("compile", "text.tflite", "-o", "cache"), "text.tflite: not a .tflite model"),
        (("compile", MODEL, "-o", "text.tflite"), "a cache is a folder"),
        (("compile", MODEL, "-o", "cache", "--device", "abacus"), "'abacus'"),
        (("compile", MODEL, "-o", "cache", "--disable-pass", "luck"), "no pass 'luck'"),
        (("compile", MODEL, "-o", "cache", "--input-shape", "z=1,2"), "no input z"),
        (("run", "cache"), "tflgpu-compile MODEL -o "),
        (("inspect", "cache"), "tflgpu-compile MODEL -o "),
        (("verify", "text.tflite"), "text.tflite: not a .tflite model"),
        (("explain", "text.tflite"), "text.tflite: not a .tflite model"),
    ],
)
def test_a_fault_of_the_input_is_one_message_and_exit_code_1(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.tflite").write_text("this is not a model")
    for extra in ((), ("--json",)):
        result = invoke(*arguments, *extra, code=1)
        assert result.stdout == ""
        assert result.stderr.startswith("error: ") and message in result.stderr
        assert result.stderr.count("error: ") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", MODEL),
        ("compile", MODEL, "-o", "cache", "--target", "morse"),
        ("compile", MODEL, "-o", "cache", "--input-shape", "image"),
        ("compile", MODEL, "-o", "cache", "--input-shape", "image=1,x"),
        ("compile", MODEL, "-o", "cache", "--input-shape", "image=1,-1"),
        ("run",),
        ("benchmark", MODEL, "--threads", 10**6),
        ("ops", "--json", "--markdown"),
        ("sing",),
    ],
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[object, ...]) -> None:
    result = invoke(*arguments, code=2)
    assert result.stdout == "" and "Usage: " in result.stderr


def test_any_other_exception_is_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug is not hidden behind a message."""
    monkeypatch.setattr("tflgpu.compiler.driver.build", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        invoke("compile", MODEL, "-o", tmp_path)


# -- processes --------------------------------------------------------------------------------


def test_in_a_pipe_only_the_result_is_printed(tmp_path: Path) -> None:
    result = program("compile", MODEL, "-o", tmp_path / "cache", "--device", PROFILE, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["operators"] == 10
    broken = program("compile", tmp_path / "none.tflite", "-o", tmp_path / "cache", "--json")
    assert (broken.returncode, broken.stdout) == (1, "")
    assert broken.stderr.startswith("error: ") and "Traceback" not in broken.stderr


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a thing of POSIX")
def test_on_a_terminal_a_bar_names_the_stage(tmp_path: Path) -> None:
    import pty

    terminal, its_end = pty.openpty()
    script = "from tflgpu.compiler.cli import main; main(prog_name='tflgpu')"
    command = [sys.executable, "-c", script, "compile", str(MODEL), "-o", str(tmp_path / "cache")]
    environment = {**os.environ, "TERM": "xterm"}
    result = subprocess.run(
        [*command, "--device", PROFILE, "--json"],
        stdout=subprocess.PIPE,
        stderr=its_end,
        env=environment,
        check=True,
    )
    os.close(its_end)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert json.loads(result.stdout)["operators"] == 10
    assert any(stage in shown for stage in ("start", "read", "rewrite", "choose", "render"))


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    invoke("compile", MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    script = "from tflgpu.compiler.cli import main; main(prog_name='tflgpu')"
    command = [sys.executable, "-c", script, "inspect", str(tmp_path / "cache"), "--json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert result.stderr == ""


# -- run --------------------------------------------------------------------------------------


def test_run_names_the_classes_of_an_image(cache: Path, opencl_device: str) -> None:
    command = ("run", cache, "--device", opencl_device, "--input", SEVEN)
    value = as_json(*command, "--labels", DIGITS / "labels.txt")
    best = value["classes"]
    assert best[0]["label"] == "7" and len(best) == 5
    scores = [item["score"] for item in best]
    assert scores == sorted(scores, reverse=True) and 0.5 < scores[0] <= 1
    (output,) = value["outputs"]
    assert output["name"] == "probabilities" and output["shape"] == [1, 10]
    assert output["max"] == pytest.approx(scores[0])
    assert output["mean"] == pytest.approx(0.1, abs=1e-5)
    shown = invoke(*command, "--labels", DIGITS / "labels.txt")
    assert "note: image: pixels 0..255 become 0..1" in shown.stderr
    assert shown.stdout.split("score", 1)[1].split()[0] == "7"


def test_run_writes_what_litert_computes(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    image = np.random.default_rng(7).random((1, 8, 8, 1), np.float32)
    np.save(tmp_path / "image.npy", image)
    output = tmp_path / "out.npz"
    source = f"image={tmp_path / 'image.npy'}"
    common = ("run", cache, "--model", MODEL, "--device", opencl_device)
    result = invoke(*common, "--input", source, "--output", output)
    assert result.stdout.splitlines()[-1] == str(output) and result.stderr == ""
    (expected,) = Reference(MODEL).run([image])
    with np.load(output) as arrays:
        assert list(arrays) == ["probabilities"]
        np.testing.assert_allclose(arrays["probabilities"], expected, atol=1e-4)


def test_run_scales_pixels_as_asked(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    common = ("run", cache, "--device", opencl_device, "--input", SEVEN)
    result = invoke(*common, "--mean", 10, "--std", 51, "--output", tmp_path / "out.npz")
    assert "pixels 0..255 become -0.196078..4.80392" in result.stderr
    fault = invoke(*common, "--std", 0, code=1)
    assert fault.stderr == "error: std is 0; pixels are divided by it, so it must not be zero\n"
    assert "both must be numbers" in invoke(*common, "--mean", "nan", code=1).stderr


def test_run_repeats_with_a_seed(cache: Path, opencl_device: str) -> None:
    command = ("run", cache, "--device", opencl_device, "--input", "random", "--seed")
    assert as_json(*command, 7) == as_json(*command, 7)
    assert as_json(*command, 7)["outputs"] != as_json(*command, 11)["outputs"]


def test_run_with_several_inputs(opencl_device: str, tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "ADD", inputs=2)
    path = tflgpu.compile(model, tmp_path / "cache", device=opencl_device)
    random = np.random.default_rng(7)
    arrays = [random.standard_normal((1, 3, 5, 7)).astype(np.float32) for _ in range(2)]
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
    common = ("run", path, "--device", opencl_device)
    both = [option for n in (1, 0) for option in ("--input", f"x{n}={tmp_path / f'{n}.npy'}")]
    invoke(*common, *both, "--output", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as results:
        np.testing.assert_allclose(results["y0"], arrays[0] + arrays[1], rtol=1e-6)
    fault = invoke(*common, "--input", f"x0={tmp_path / '0.npy'}", code=1)
    assert fault.stderr.startswith("error: input x1 has no value: pass --input x1=FILE")


def test_labels_that_do_not_fit(cache: Path, opencl_device: str, tmp_path: Path) -> None:
    few, many, none = (tmp_path / f"{name}.txt" for name in ("few", "many", "none"))
    few.write_text("a\nb\nc\n")
    many.write_text("\n".join("abcdefghijk"))
    none.touch()
    common = ("run", cache, "--device", opencl_device, "--input", SEVEN, "--labels")
    assert "has 10 classes and there are 3 labels" in invoke(*common, few, code=1).stderr
    assert "warning: 11 labels for 10 classes" in invoke(*common, many).stderr
    assert "holds no labels" in invoke(*common, none, code=1).stderr
    assert "cannot read the labels" in invoke(*common, tmp_path / "gone.txt", code=1).stderr


# -- verify -----------------------------------------------------------------------------------


def test_verify_agrees(opencl_device: str) -> None:
    value = as_json("verify", MODEL, "--device", opencl_device, "--seed", 7)
    (output,) = value["outputs"]
    assert value["ok"] is True and output["name"] == "probabilities"
    assert output["max_error"] <= output["tolerance"] == pytest.approx(1e-4)
    image = as_json("verify", MODEL, "--device", opencl_device, "--input", SEVEN, "--layers")
    assert image["ok"] is True
    names = [item["name"] for item in image["layers"]]
    assert names.index("first") < names.index("residual") < names.index("scores")


def test_verify_knows_what_half_precision_may_cost(opencl_device: str) -> None:
    value = as_json("verify", MODEL, "--device", opencl_device, "--precision", "f16")
    (output,) = value["outputs"]
    assert value["ok"] is True and output["tolerance"] == pytest.approx(1e-2)
    assert 1e-6 < output["max_error"] < output["tolerance"]


def test_verify_names_what_departs(opencl_device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def bent(self: Reference, name: str) -> Any:
        value = tensor(self, name)
        return value if value is None or name in ("first", "depthwise_1") else value * np.nan

    tensor, run = Reference.tensor, Reference.run
    monkeypatch.setattr(Reference, "tensor", bent)
    monkeypatch.setattr(Reference, "run", lambda *args: tuple(2 * y for y in run(*args)))
    command = ("verify", MODEL, "--device", opencl_device)
    result = invoke(*command, "--json", code=1)
    value = json.loads(result.stdout)
    assert value["ok"] is False and value["outputs"][0]["max_error"] > 0.01
    assert result.stderr.startswith("error: departs from LiteRT:\n  probabilities is off by")
    layers = invoke(*command, "--layers", "--disable-pass", "fuse_depthwise", "--json", code=1)
    message = "error: the first tensor to depart from LiteRT: residual is not NaN at [0, 0, 0, 0]"
    assert layers.stderr.startswith(message)
    assert layers.stderr.endswith("(CONV_2D + RELU + ADD -> residual)\n")
    entries = {item["name"]: item for item in json.loads(layers.stdout)["layers"]}
    assert entries["first"]["ok"] is True
    assert entries["residual"]["ok"] is False and entries["residual"]["max_error"] is None


# -- inspect ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits network compiled for a profile."""
    return tflgpu.compile(MODEL, tmp_path_factory.mktemp("cache"), device=PROFILE)


@pytest.mark.parametrize("with_model", [False, True])
def test_inspect_json(compiled: Path, with_model: bool) -> None:
    plan = build(MODEL, Options(device=PROFILE)).plan
    where = (compiled.parents[1], "--model", MODEL) if with_model else (compiled,)
    value = as_json("inspect", *where)
    assert (value["path"], value["profile"]) == (str(compiled), PROFILE)
    assert [item["label"] for item in value["dispatches"]] == [d.label for d in plan.dispatches]
    assert [item["grid"] for item in value["dispatches"]] == [list(d.grid) for d in plan.dispatches]
    assert sum(item["flops"] for item in value["dispatches"]) == sum(
        dispatch.flops for dispatch in plan.dispatches
    )
    tensors = {item["name"]: item for item in value["tensors"]}
    assert tensors["pool"]["shape"] == [1, 4, 4, 16] and tensors["pool"]["region"] == "arena"
    assert value["memory"]["planned"] == plan.memory.planned
    assert value["kernels"][0]["name"] == plan.kernels[0].name
    (merged,) = value["persistent"]
    assert merged == {"kernel": plan.kernels[-1].name, "first": 0, "count": len(plan.dispatches)}


def test_inspect_shows_tables(compiled: Path) -> None:
    text = invoke("inspect", compiled).stdout
    plan = build(MODEL, Options(device=PROFILE)).plan
    for dispatch in plan.dispatches:
        assert dispatch.label in text
    for tensor in plan.tensors:
        assert any(line.startswith(f"{tensor.name} ") for line in text.splitlines())
    last = len(plan.kernels) - 1
    assert f"0 to {len(plan.dispatches) - 1}      {last} {plan.kernels[last].name}" in text
    bars = [line.split()[-1] for line in text.splitlines() if "#" in line[-40:] and "." in line]
    assert bars and all(set(bar) <= set("#.") and len(bar) == 32 for bar in bars)


def test_inspect_prints_a_kernel(compiled: Path) -> None:
    value = as_json("inspect", compiled)
    kernel = next(item for item in value["kernels"] if "max_pool" in item["name"])
    source = (compiled / kernel["file"]).read_text()
    index = value["kernels"].index(kernel)
    for wanted in ("max_pool", index, kernel["name"], kernel["file"]):
        assert invoke("inspect", compiled, "--source", wanted).stdout.strip() == source.strip()
    assert as_json("inspect", compiled, "--source", index)["source"] == source
    several = invoke("inspect", compiled, "--source", "conv", code=2)
    assert "'conv' is a part of several names: " in several.stderr
    assert "is no kernel; there are" in invoke("inspect", compiled, "--source", 99, code=2).stderr


def test_inspect_tells_of_other_variants(tmp_path: Path) -> None:
    first, last = (tflgpu.compile(MODEL, tmp_path, device=name) for name in ("gpu", PROFILE))
    os.utime(first / "plan.tflgpu", (1, 1))
    result = invoke("inspect", tmp_path, "--json")
    assert json.loads(result.stdout)["path"] == str(last)
    assert result.stderr.endswith(f"there are also\n  {first}\n")


# -- explain ----------------------------------------------------------------------------------


def test_explain_gives_reasons() -> None:
    value = as_json("explain", MODEL, "--device", PROFILE)
    assert value["findings"] == [] and value["profile"] == PROFILE
    declined = [event for event in value["passes"] if not event["applied"]]
    assert declined and all(event["reason"] and event["operators"] for event in declined)
    assert {event["pass"] for event in value["passes"]} <= {step.__name__ for step in PIPELINE}
    fused = [event for event in value["passes"] if event["pass"] == "fuse_elementwise"]
    assert ["2 CONV_2D", "3 ADD"] in [event["operators"] for event in fused]
    kernels = {item["operator"]: item for item in value["kernels"]}
    fused_pair = kernels["2 tflgpu.depthwise_pointwise + 2 RELU + 3 ADD"]
    assert fused_pair["kernel"] == "depthwise_pointwise_rows"
    assert "conv_1x1: the window is not 1x1" in kernels["0 CONV_2D + 0 RELU"]["objections"]
    text = invoke("explain", MODEL, "--device", PROFILE).stdout
    assert all(event["reason"] in text for event in declined)
    assert text.splitlines()[-1] == "Every operator can run on the device."


def test_explain_lists_every_refusal(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "Mystery", "ABS", "Riddle")
    value = as_json("explain", model, "--device", PROFILE)
    found = [(item["index"], item["operator"]) for item in value["findings"]]
    assert found == [(0, "Mystery"), (2, "Riddle")]
    text = invoke("explain", model, "--device", PROFILE).stdout
    assert "0 Mystery" in text and "2 Riddle" in text and "tflgpu does not know" in text
    assert all("cut the model" in item["advice"] for item in value["findings"])


# -- devices and operators --------------------------------------------------------------------


def test_devices_shows_the_profile_of_each(opencl_device: str, tmp_path: Path) -> None:
    value = as_json("devices")
    assert [item["name"] for item in value["profiles"]] == list(profiles())
    text = invoke("devices").stdout
    (line,) = [line for line in text.splitlines() if line.startswith(opencl_device)]
    built = as_json("compile", MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    assert f"-{line.split()[-1]}-" in Path(built["path"]).name
    assert line.split()[-1] in [item["profile"] for item in value["devices"]]


def test_ops_lists_the_registry() -> None:
    value = as_json("ops")
    listed = {item["name"]: item for item in value["operators"]}
    assert list(listed) == sorted(name for name in OPS if not name.startswith("tflgpu."))
    for name, item in listed.items():
        assert item["dtypes"] == list(OPS[name].dtypes)
        assert set(item["kernels"]) == {kernel.name for kernel in OPS[name].kernels}
    rows = invoke("ops", "--markdown").stdout
    assert rows == operators_markdown()
    lines = rows.splitlines()
    assert lines[1] == "|---|---|---|---|---|---|" and len(lines) == len(listed) + 2
    assert all(line.count(" | ") == 5 for line in (lines[0], *lines[2:]))
    assert "| FULLY_CONNECTED | 1 to 14 | float32 | OpenCL C, GLSL | fully_connected" in rows
    assert "CONV_2D" in invoke("ops").stdout


def test_help_names_every_command() -> None:
    text = invoke("--help").stdout
    for name in ("compile", "run", "verify", "inspect", "explain", "devices", "ops"):
        assert f"\n  {name} " in text
        assert f"Usage: main {name} " in invoke(name, "--help").stdout
