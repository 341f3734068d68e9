"""The command line: `tflgpu` with its subcommands, and `tflgpu-compile`.

Exit code 1: the model, the cache or the device is at fault, and one message on stderr says what to
do. 2: the command was used wrongly. A traceback is a bug in tflgpu.
"""

from __future__ import annotations

import click

from .benchmarking import benchmark_command
from .caching import cache
from .compiling import compile_command, explain
from .inspecting import inspect
from .listing import devices, ops
from .running import run
from .shell import Program
from .verifying import verify


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tflgpu")
def main() -> None:
    """Compile TensorFlow Lite models to GPU kernels ahead of time, and run the result."""


for _command in (
    compile_command,
    run,
    verify,
    benchmark_command,
    inspect,
    explain,
    cache,
    devices,
    ops,
):
    main.add_command(_command)

compile_main = compile_command
"""The program `tflgpu-compile`, the same as `tflgpu compile`."""

__all__ = ["compile_main", "main"]
