"""`tflgpu compile`, and what all commands have in common: output, errors, exit codes."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import TFLGPU, as_json, invoke, program
from devices import need_programs
from graphs.steps import elementwise
from paths import DIGITS_MODEL

from tflgpu.compiler import Options, build
from tflgpu.compiler.cli.commands.compiling import compile_command
from tflgpu.runtime.plan.file import from_bytes

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


def test_compile_prints_a_summary(tmp_path: Path) -> None:
    result = invoke("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    expected = build(DIGITS_MODEL, Options(device=PROFILE)).report
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


def test_compile_prints_its_report_as_json(tmp_path: Path) -> None:
    value = as_json("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    report = build(DIGITS_MODEL, Options(device=PROFILE)).report
    assert {key: value[key] for key in report} == report
    memory = value["memory"]
    assert 0 < memory["lower_bound"] <= memory["planned"] <= memory["naive"]
    assert value["fallback"] == []
    assert {"pass", "applied", "operators", "reason"} <= value["passes"][0].keys()
    assert (Path(value["path"]) / "weights.bin").is_file()


def test_compile_with_prebuild(opencl_device: str, tmp_path: Path) -> None:
    options = ("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", opencl_device)
    path = as_json(*options, "--prebuild", opencl_device)["path"]
    assert len(list((Path(path) / "binaries").glob("*.bin"))) == 1
    message = invoke(*options, "--prebuild", "abacus", code=1).stderr
    assert "no OpenCL device has 'abacus' in its name" in message


def test_the_program_that_compiles_is_the_same(tmp_path: Path) -> None:
    assert CliRunner().invoke(compile_command, ["-h"]).exit_code == 0
    arguments = [str(DIGITS_MODEL), "-o", str(tmp_path / "cache"), "--device", PROFILE, "--json"]
    result = CliRunner().invoke(compile_command, arguments)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == as_json("compile", *arguments[:-1])


def test_formats_of_inputs_and_outputs(tmp_path: Path) -> None:
    options = ("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    picture, scores = "gray8, size=80x60, resize=nearest, std=255", "argmax"
    formats = ("--input-format", f"image={picture}", "--output-format", f"probabilities={scores}")
    value = as_json(*options, *formats)
    wanted = Options(
        device=PROFILE, inputs=(("image", picture),), outputs=(("probabilities", scores),)
    )
    assert value["kernels"] == build(DIGITS_MODEL, wanted).report["kernels"]
    plan = from_bytes((Path(value["path"]) / "plan.tflgpu").read_bytes())
    assert (plan.inputs[0].shape, plan.inputs[0].dtype) == ((1, 60, 80, 1), "uint8")
    assert (plan.outputs[0].shape, plan.outputs[0].dtype) == ((1,), "int32")
    unnamed = as_json(*options, "--input-format", picture, "--output-format", scores)
    assert unnamed["kernels"] == value["kernels"]
    message = invoke(*options, "--input-format", "cmyk8", code=2).stderr
    assert "inputs='cmyk8': unknown format 'cmyk8'; choose one of rgba8, rgb8, gray8" in message
    message = invoke(*options, "--input-format", "=rgb8", code=2).stderr
    assert "'=rgb8' is not of the form NAME=FORMAT" in message
    message = invoke(*options, "--input-format", "image=cmyk8", code=2).stderr
    assert "inputs['image']='cmyk8': unknown format 'cmyk8'" in message


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


@pytest.mark.parametrize(
    ("target", "device", "message"),
    [
        ("opencl", "apple", "warning: the profile apple (Apple GPUs) is for the targets metal"),
        ("glsl", "apple", "but these kernels are for glsl"),
        ("opencl", "gles31", "is for the targets glsl, but these kernels are for opencl"),
        ("vulkan", "apple", "note: `tflgpu run` and `tflgpu export` take kernels for opencl, glsl"),
    ],
)
def test_compile_questions_targets(tmp_path: Path, target: str, device: str, message: str) -> None:
    if target == "vulkan":
        need_programs("glslangValidator")
    arguments = ("compile", DIGITS_MODEL, "-o", tmp_path, "--device", device, "--target", target)
    result = invoke(*arguments)
    assert message in result.stderr and result.stderr.count("\n") == 1


def test_a_model_that_cannot_run_is_an_error(tmp_path: Path) -> None:
    model = elementwise(tmp_path / "m.tflite", "Mystery", "ABS", "Riddle")
    command = ("compile", model, "-o", tmp_path / "cache", "--device", PROFILE)
    result = invoke(*command, "--fallback", "none", code=1)
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert lines[0] == "error: 2 operators cannot run on the device:"
    assert "operator 0 Mystery" in lines[1] and "operator 2 Riddle" in lines[2]
    assert not list((tmp_path / "cache").glob("*/*"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compile", "none.tflite", "-o", "cache"), "none.tflite"),
        (("compile", "text.tflite", "-o", "cache"), "text.tflite: not a .tflite model"),
        (("compile", DIGITS_MODEL, "-o", "text.tflite"), "a cache is a folder"),
        (("compile", DIGITS_MODEL, "-o", "cache", "--device", "abacus"), "'abacus'"),
        (("compile", DIGITS_MODEL, "-o", "cache", "--disable-pass", "luck"), "no pass 'luck'"),
        (("compile", DIGITS_MODEL, "-o", "cache", "--input-shape", "z=1,2"), "no input z"),
        (("run", "cache"), "tflgpu-compile MODEL -o "),
        (("inspect", "cache"), "tflgpu-compile MODEL -o "),
        (("verify", "text.tflite"), "text.tflite: not a .tflite model"),
        (("explain", "text.tflite"), "text.tflite: not a .tflite model"),
    ],
)
def test_a_fault_of_the_input_is_one_message_and_exit_code_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[object, ...], message: str
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
        ("compile", DIGITS_MODEL),
        ("compile", DIGITS_MODEL, "-o", "cache", "--target", "morse"),
        ("compile", DIGITS_MODEL, "-o", "cache", "--input-shape", "image"),
        ("compile", DIGITS_MODEL, "-o", "cache", "--input-shape", "image=1,x"),
        ("compile", DIGITS_MODEL, "-o", "cache", "--input-shape", "image=1,-1"),
        ("run",),
        ("benchmark", DIGITS_MODEL, "--threads", 10**6),
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
    monkeypatch.setattr("tflgpu.compiler.pipeline.build", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        invoke("compile", DIGITS_MODEL, "-o", tmp_path)


def test_in_a_pipe_only_the_result_is_printed(tmp_path: Path) -> None:
    result = program(
        "compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE, "--json"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout)["operators"] == 10
    broken = program("compile", tmp_path / "none.tflite", "-o", tmp_path / "cache", "--json")
    assert (broken.returncode, broken.stdout) == (1, "")
    assert broken.stderr.startswith("error: ") and "Traceback" not in broken.stderr


@pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a thing of POSIX")
def test_on_a_terminal_a_bar_names_the_stage(tmp_path: Path) -> None:
    import pty

    terminal, its_end = pty.openpty()
    command = [*TFLGPU, "compile", str(DIGITS_MODEL), "-o", str(tmp_path / "cache")]
    environment = {**os.environ, "TERM": "xterm"}
    result = subprocess.run(
        [*command, "--device", PROFILE, "--json"],
        stdout=subprocess.PIPE,
        stderr=its_end,
        env=environment,
        check=True,
    )
    os.close(its_end)
    # A terminal gives so much at a time, which may end within a character of the bar.
    shown = os.read(terminal, 65536).decode(errors="replace")
    os.close(terminal)
    assert json.loads(result.stdout)["operators"] == 10
    assert any(stage in shown for stage in ("start", "read", "rewrite", "choose", "render"))


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    invoke("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    command = [*TFLGPU, "inspect", str(tmp_path / "cache"), "--json"]
    read_end, write_end = os.pipe()
    os.close(read_end)
    result = subprocess.run(command, stdout=write_end, stderr=subprocess.PIPE, text=True)
    os.close(write_end)
    assert result.stderr == ""
