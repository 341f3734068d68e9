"""Runs the shell and Python blocks of every page, in order.

The blocks of a page share a namespace and a folder that looks like the root of the repository.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from commands import cache_of_drivers

import tflgpu
from docs.pages import PAGES, ROOT, Block, blocks
from tflgpu.compiler.cli import main
from tflgpu.compiler.cli.commands.compiling import compile_command
from tflgpu.compiler.tools import tune
from tflgpu.compiler.tools.benchmark import roofline as rooflines
from tflgpu.compiler.tools.benchmark.roofline import Roofline

pytestmark = pytest.mark.slow

PROGRAMS: dict[str, click.Command] = {"tflgpu": main, "tflgpu-compile": compile_command}

# Commands that the tests skip, and why.
SKIPPED = {
    "apt": "test_generated.py compares the packages with .ci/run",
    "pip": "test_generated.py compares the extras with .ci/run",
    "pytest": "it would run this test again",
    "bash": ".ci/run installs packages and runs these tests",
    "ruff": ".ci/run runs it",
    "mypy": ".ci/run runs it",
}

RUN = ("sh", "python")  # Languages of blocks that are run.

# Notes of blocks that are not run here; test_extending.py and test_programs.py run all but the
# first kind.
NOT_RUN = ("not run:", "file", "change", "cases")

# Languages of blocks that are not run; test_extending.py, test_generated.py and test_programs.py
# check most.
SHOWN = ("text", "c", "cmake", "xml", "kotlin", "js", "jinja", "diff")

FOLDERS = ("compiler", "docs", "samples", "templates")


def test_every_block_is_of_a_known_language() -> None:
    languages = {str(block): block.language for page in PAGES for block in blocks(page)}
    assert {at: name for at, name in languages.items() if name not in (*RUN, *SHOWN)} == {}


def test_blocks_that_are_not_run_say_why() -> None:
    notes = [block.says("not run:") for page in PAGES for block in blocks(page)]
    assert all(reason is None or len(reason) > 10 for reason in notes)


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the root of the repository, with slow measurements replaced."""
    for folder in FOLDERS:
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", cache_of_drivers(tmp_path / ".cache"))
    # Measuring the roofline takes half a minute.
    roof = Roofline(1e12, ((1 << 27, 1e11),), 1e-7)
    monkeypatch.setattr(rooflines, "measure", lambda *_: roof)
    # Try a single alternative for each kernel.
    monkeypatch.setattr(tune, "BATCH", 2)
    monkeypatch.setattr(tune, "GAIN", 0.0)
    monkeypatch.setattr(tune, "REPEATS", 1)
    return tmp_path


@pytest.fixture
def servers() -> Iterator[ExitStack]:
    """Schedulers and workers, which run until the end of their page."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_the_blocks_of_a_page_run(page: str, workplace: Path, servers: ExitStack) -> None:
    namespace: dict[str, Any] = {}
    for block in blocks(page):
        if block.language not in RUN or block.note.startswith(NOT_RUN):
            continue
        _require(block)
        if block.language == "python":
            code = compile(block.text, str(block), "exec")
            exec(code, namespace)
        else:
            for line in _lines(block):
                for command in line.split(" && "):
                    _run(command, block, servers)


def _lines(block: Block) -> list[str]:
    """The commands of a block, with continuation lines joined."""
    return [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def _require(block: Block) -> None:
    """Skip the test if a requirement is missing, or fail if devices are mandatory."""
    program = block.says("needs")
    missing = program if program and shutil.which(program) is None else ""
    if not _has_opencl():
        missing = "an OpenCL device"
    if missing and os.environ.get("TFLGPU_REQUIRE_DEVICES") == "1":
        pytest.fail(f"{block} needs {missing}, and TFLGPU_REQUIRE_DEVICES=1 forbids skipping")
    if missing:
        pytest.skip(f"{block} needs {missing}")


def _has_opencl() -> bool:
    try:
        return any(info.target == "opencl" for info in tflgpu.devices())
    except tflgpu.DeviceError:
        return False


def _run(command: str, block: Block, servers: ExitStack) -> None:
    """Run one command, which must exit with code 0; what `dask` starts is left running."""
    name, *arguments = shlex.split(command, comments=True)
    if name == "dask":
        _serve(arguments, servers)
        return
    if name in PROGRAMS:
        result = CliRunner().invoke(PROGRAMS[name], arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        status, output = result.exit_code, result.output
    elif name in ("python", "cc", "ssh-keygen"):
        # The shell expands the names of files.
        line = command.replace("python", sys.executable, 1) if name == "python" else command
        done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
        status, output = done.returncode, done.stdout + done.stderr
    else:
        assert name in SKIPPED, f"{block}: the tests cannot run {command!r}"
        return
    assert status == 0, f"{block}: {command}\n{output}"


def _serve(arguments: list[str], servers: ExitStack) -> None:
    """Start a scheduler with two workers in this process, where measurements are replaced.

    The options must be those that the program takes.
    """
    import distributed
    from distributed.cli import dask_scheduler, dask_worker

    program, *options = arguments
    commands = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    commands[program].make_context(program, list(options))
    if program == "scheduler":
        port = int(options[options.index("--port") + 1])
        threads = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "protocol": "tcp"}
        servers.enter_context(
            distributed.LocalCluster(scheduler_port=port, dashboard_address=":0", **threads)
        )
