"""The command line in an unkind shell: names that are no text, paths left empty, stdout full."""

import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import pytest
from commands import TFLGPU, as_json, invoke, program
from paths import DIGITS_MODEL

from tflgpu.compiler import pipeline
from tflgpu.compiler.cli.options import FilePath

PROFILE = "cpu_avx2"  # For compilations whose result is not run.


@pytest.mark.skipif(sys.platform != "linux", reason="such names are none elsewhere")
def test_a_file_name_that_is_no_text(tmp_path: Path) -> None:
    model = tmp_path / os.fsdecode(b"digits\xff.tflite")
    model.write_bytes(DIGITS_MODEL.read_bytes())
    path = as_json("compile", model, "-o", tmp_path / "cache", "--device", PROFILE)["path"]
    assert as_json("inspect", path)["model"] == "digits\ufffd.tflite"


@pytest.mark.parametrize(
    "arguments",
    [("compile", "", "-o", "cache"), ("compile", DIGITS_MODEL, "-o", ""), ("cache", "clear", "")],
)
def test_an_empty_path_is_not_the_current_folder(arguments: tuple[object, ...]) -> None:
    assert "the path is empty" in invoke(*arguments, code=2).stderr


def test_commands_run_in_any_thread_and_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with ThreadPoolExecutor(1) as threads:
        assert "CONV_2D" in threads.submit(invoke, "ops").result().stdout
    assert "CONV_2D" in invoke("ops").stdout
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signals to processes")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Processes in the background ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(*arguments: object, **options: object) -> None:
        os.kill(os.getpid(), number)
        time.sleep(10)

    monkeypatch.setattr(pipeline, "build", interrupted)
    arguments = ("compile", DIGITS_MODEL, "-o", tmp_path / "cache", "--device", PROFILE)
    assert invoke(*arguments, code=130).stderr == "interrupted\n"


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "there is no cache at" in invoke("inspect", tmp_path / "loop", code=1).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_streams_that_are_full_or_closed(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        result = program("ops", stdout=full)
    assert result.returncode == 1
    assert result.stderr == "error: cannot write the output: No space left on device\n"
    line = f"{' '.join(TFLGPU)} compile '{DIGITS_MODEL}' -o '{tmp_path}' --device {PROFILE}"
    closed = subprocess.run(["sh", "-c", f"{line} <&- >&-"], capture_output=True, text=True)
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the folders that are in use")
def test_a_current_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gone").mkdir()
    os.chdir("gone")
    (tmp_path / "gone").rmdir()
    command = ("compile", DIGITS_MODEL, "--device", PROFILE, "-o")
    said = "error: the current folder no longer exists; change to another, or give whole paths\n"
    assert invoke(*command, "cache", code=1).stderr.endswith(said)
    invoke(*command, tmp_path / "cache")


def test_names_that_stdout_cannot_spell(tmp_path: Path) -> None:
    model = tmp_path / "数字.tflite"
    model.write_bytes(DIGITS_MODEL.read_bytes())
    arguments = ("compile", model, "-o", tmp_path / "cache", "--device", PROFILE)
    result = program(*arguments, env={**os.environ, "PYTHONIOENCODING": "latin-1"})
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("\\u6570\\u5b57.tflite")


def test_quiet_and_verbose(tmp_path: Path) -> None:
    command = ("compile", DIGITS_MODEL, "-o", tmp_path, "--device", "apple", "--target", "opencl")
    told = invoke(*command, "--verbose").stderr
    stages = [line.partition(":")[0] for line in told.splitlines()]
    assert stages[:4] == ["warning", "read", "rewrite", "choose"]
    note = ("inspect", tmp_path)
    invoke("compile", DIGITS_MODEL, "-o", tmp_path, "--device", PROFILE)
    assert invoke(*note).stderr.startswith("note: this is the variant compiled last")
    assert invoke(*note, "--quiet").stderr == ""
    # Warnings remain.
    assert invoke(*command, "--quiet").stderr.startswith("warning: the profile apple")


def test_warnings_of_libraries_are_in_the_commands_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = pipeline.build

    def build(*arguments: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            for _ in range(2):
                warnings.warn("something is old", UserWarning, stacklevel=1)
        return original(*arguments)

    monkeypatch.setattr(pipeline, "build", build)
    command = ("compile", DIGITS_MODEL, "-o", tmp_path, "--device", PROFILE)
    assert invoke(*command).stderr == "warning: something is old\n"


def test_tables_in_a_pipe_are_narrow_and_end_where_their_text_ends() -> None:
    lines = program("ops").stdout.splitlines()
    assert len(lines) > 100 and max(map(len, lines)) <= 120
    assert not [line for line in lines if line.endswith(" ")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signals to processes")
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.2, 0.4])
def test_ctrl_c_at_any_moment(seconds: float, tmp_path: Path) -> None:
    """Also while modules are imported; the program says when it has begun to look for signals."""
    code = (
        "import signal, sys; print('up', flush=True)\n"
        "set_signal = signal.signal\n"
        "def say(*args):\n"
        "    signal.signal = set_signal\n"
        "    set_signal(*args)\n"
        "    print('under way', flush=True)\n"
        "signal.signal = say\n"
        f"sys.argv = ['tflgpu', 'compile', {str(DIGITS_MODEL)!r}, '-o', {str(tmp_path)!r}]\n"
        "import tflgpu.__main__ as program\n"
        "program.main()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    assert process.stdout.readline() == "under way\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    # It may have ended before.
    assert (process.returncode, said) in ((130, "interrupted\n"), (0, ""))
    assert printed or process.returncode


def test_ctrl_c_comes_too_late_once_a_command_has_ended() -> None:
    code = (
        "import atexit, os, signal, sys\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['tflgpu', '--version']\n"
        "import tflgpu.__main__ as program\n"
        "program.main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")


APART = 29  # Events of Python between two moments at which a command is interrupted.

# Runs a command over and over, each time with Ctrl-C a bit later, until it has ended before.
AT_EACH_EVENT = """
import itertools, os, signal, sys
import tflgpu.__main__ as program
import tflgpu.compiler.cli as cli
import tflgpu.compiler.cli.commands.caching

set_signal, events = signal.signal, 0
FILES = ("click/core.py", "cli/shell.py", "contextlib.py", "__main__.py")

def interrupted(number):
    def count(frame, event, argument):
        global events
        if frame.f_code.co_filename.endswith(FILES):
            events += 1
            if events == number:
                sys.setprofile(None)
                os.kill(os.getpid(), signal.SIGINT)

    def begin(*arguments):
        signal.signal = set_signal
        set_signal(*arguments)
        sys.setprofile(count)

    signal.signal = begin
    try:
        program.main()
    finally:
        sys.setprofile(None)

for number in itertools.count(1, int(sys.argv.pop())):
    child = os.fork()
    if not child:
        interrupted(number)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code != 130:
        print(number, code)
        break
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize("there", [True, False])
def test_ctrl_c_at_any_event_of_a_command(there: bool, tmp_path: Path) -> None:
    """Its first and last ones, too, where click would say that it is aborted and exit with 1."""
    cache = tmp_path if there else tmp_path / "missing"
    command = [sys.executable, "-c", AT_EACH_EVENT, "cache", "list", str(cache), str(APART)]
    run = subprocess.run(command, capture_output=True, text=True)
    number, code = map(int, run.stdout.splitlines()[-1].split())
    assert number > 300 and code == (0 if there else 1), run.stderr
    # An error may have been told just before.
    said = [line for line in run.stderr.splitlines() if not line.startswith("error: there is no")]
    assert said == ["interrupted"] * (number // APART)


def test_files_whose_names_end_in_what_is_written() -> None:
    one, several = FilePath((".json",)), FilePath((".npz", ".png"))
    assert one.convert("trace.JSON", None, None) == Path("trace.JSON")
    assert several.convert("a.b/out.png", None, None) == Path("a.b/out.png")
    with pytest.raises(click.BadParameter, match=r"^out\.txt must end in \.json$"):
        one.convert("out.txt", None, None)
    with pytest.raises(click.BadParameter, match=r"^png must end in one of \.npz, \.png$"):
        several.convert("png", None, None)
