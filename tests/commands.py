"""Commands of `tflgpu`, run in the process of the tests or in one of their own."""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from platformdirs import user_cache_path

from tflgpu.compiler.cli import main

TFLGPU = (sys.executable, "-m", "tflgpu")


def invoke(*arguments: object, code: int = 0) -> Result:
    """Run `tflgpu`; it must end with this exit code, and not by an exception."""
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def as_json(*arguments: object, code: int = 0) -> Any:
    """What a command prints with --json, which must be all that is on stdout."""
    return json.loads(invoke(*arguments, "--json", code=code).stdout)


def program(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `tflgpu` in a process of its own."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(_command(arguments), text=True, check=False, **pipes)


def started(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """`tflgpu` in a process of its own that is under way, and says nothing unless options do."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **options}
    return subprocess.Popen(_command(arguments), text=True, **quiet)


def cache_of_drivers(folder: Path) -> str:
    """A folder as XDG_CACHE_HOME of a process, which need not try the drivers once more."""
    tried = user_cache_path("tflgpu") / "drivers"
    if tried.is_dir():
        shutil.copytree(tried, folder / "tflgpu" / "drivers", dirs_exist_ok=True)
    return str(folder)


def _command(arguments: Sequence[object]) -> list[str]:
    return [*TFLGPU, *map(str, arguments)]
